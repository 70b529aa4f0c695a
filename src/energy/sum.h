// SPDX-License-Identifier: Apache-2.0
// The energy of a cluster from that of its nodes. Nodes of one machine are inside of one
// measurement, which is counted once. A sum is whole where every machine was measured with the same
// scope or modelled; else it is a least. Pure.
#ifndef ENERGY_SUM_H
#define ENERGY_SUM_H

#include <stddef.h>

#include "energy/meter.h"

enum energy_source {
    ENERGY_UNKNOWN,
    ENERGY_MEASURED,
    ENERGY_MODELLED, // from a device profile, and how long the node computed
};

struct energy_node {
    const char *name;
    uint64_t machine; // nodes of one machine have the same
    enum energy_source source;
    enum energy_scope scope;   // measured
    double idle_w;             // before the first step; NAN: not known
    struct energy_total total; // of the training
};

struct energy_sum {
    int machines, measured, modelled;
    bool is_least; // not everything is known, or not in the same way
    bool mixed_scopes;
    enum energy_scope scope;
    double joules;       // NAN: nothing is known
    double above_idle_j; // NAN: some idle watts are not known
    double known_s;      // of measurements: the shortest
    double gap_s;        // of measurements: the longest
    int64_t samples;
};

struct energy_sum energy_sum_of(const struct energy_node nodes[], int count);
// Whether another node of its machine, before it or with a better source, speaks for this one.
bool energy_sum_is_within(const struct energy_node nodes[], int count, int node);

// "412 J in 1:32, 0.031 J/image gross (cpu; server measured, with csd.0 and csd.1 that run on it;
// clinic modelled), 0.022 above idle", or "at least 0.031 J/image (…): 2 of 4 machines measured",
// or "unknown: …".
void energy_sum_text(const struct energy_sum *sum, const struct energy_node nodes[], int count,
                     double seconds, int64_t images, char *text, size_t size);

#endif
