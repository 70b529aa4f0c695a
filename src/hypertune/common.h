// SPDX-License-Identifier: Apache-2.0
// What slows or speeds all nodes alike in a step: they share a machine that others use, or their
// profiles were taken at another hour. It is no reason to move work, as a split depends on
// proportions alone, and no node has changed for it. Pure; linear in the nodes.
#ifndef HYPERTUNE_COMMON_H
#define HYPERTUNE_COMMON_H

// By how much a node is off what is known of it.
struct hypertune_off {
    double off;        // log of the slowdown less its level; infinite: it tells nothing
    double noise;      // of a sample
    int micro_batches; // of the sample
};

// Returns the log of what the nodes have in common. `*usual` is its running mean; begins with 0.
double hypertune_common_shift(const struct hypertune_off nodes[], int count, double *usual);

#endif
