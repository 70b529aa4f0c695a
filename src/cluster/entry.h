// SPDX-License-Identifier: Apache-2.0
// An entry of a cluster file: every key that a node may have, for the training and for the
// simulator. Each program takes what concerns it, and refuses what neither knows; so one file
// serves both. docs/using.md has the keys in words.
#ifndef CLUSTER_ENTRY_H
#define CLUSTER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

struct cluster_entry {
    const char *name; // NULL: cluster_entry_name
    int count;        // nodes alike: NAME.0, NAME.1, …
    size_t memory;    // bytes; 0: not said
    int max_batch;    // images a step at most; 0: no limit

    // Of real nodes.
    const char *host;        // NULL: this machine
    int threads;             // 0: what affinity and quota allow
    double cpus;             // 0: not confined; of a virtual node the share of its device
    const char *private_dir; // NULL: none
    const char *power;       // NULL: not said

    // Of virtual nodes.
    const char *device; // NULL: not said
    int device_line;
    double share; // of the device's speed; 0: not said
    bool has_speed, has_link;
    struct {
        double fixed_s, each_s; // of a step, of an image
    } speed;
    struct {
        double bytes_per_s, latency_s;
    } link;
    int private_samples;
    double noise; // −1: not said
    double noise_memory, spikes, spike_factor;
    int per_host, fails_at;
    const struct conf_value *loads; // a list for cluster_entry_load, or NULL
};

struct cluster_entry_load {
    int from, to, period, on; // 0: not said
    double slowdown;
    const char *shape;
};

// Reads everything but what `loads` means. Messages then have the line of the entry.
STN_MUST_CHECK enum stn_status cluster_entry_read(struct conf *conf, const struct conf_value *value,
                                                  struct cluster_entry *out);
// How many loads there are; 0 without `loads`.
STN_MUST_CHECK enum stn_status cluster_entry_loads(struct conf *conf,
                                                   const struct cluster_entry *entry, int *count);
// Messages then have the line of the load.
STN_MUST_CHECK enum stn_status cluster_entry_load(struct conf *conf,
                                                  const struct cluster_entry *entry, int index,
                                                  struct cluster_entry_load *out);
// What a node without a name is called: as its host, or as this machine.
void cluster_entry_name(const struct cluster_entry *entry, char *name, size_t size);

#endif
