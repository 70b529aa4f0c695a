// SPDX-License-Identifier: Apache-2.0
// Which nodes there are, from a cluster file (YAML), --emulate or --hosts; not how fast they are.
// Pure but for cluster_load.
//
//     nodes:
//       - name: host            # default: the host's name
//         host: server1         # default: this machine
//         threads: 8            # default: what affinity and quota allow
//         cpus: 1.0             # emulate: confine to that many CPUs
//         memory: 4G
//         max_batch: 256
//         private: /data/clinicA
//         power: model:newport  # or a meter: powercap, csv:/var/log/meter.csv, …
//
// Keys of virtual nodes (cluster/entry.h) may stand beside these: one file serves `stannis train`
// and `stannis sim`.
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include <stddef.h>

#include "base/arena.h"
#include "stannis/status.h"

struct cluster_node {
    const char *name;
    const char *host;        // NULL: this machine
    int threads;             // 0: what affinity and quota allow
    double cpus;             // share of this machine to be confined to; 0: not confined
    size_t memory;           // bytes; 0: the cgroup's limit or physical memory
    int max_batch;           // samples a step at most; 0: no limit
    const char *private_dir; // NULL: none
    const char *power;       // where its power is known from (energy/spec.h); NULL: not said
};

struct cluster {
    struct cluster_node *nodes; // in rank order
    int count;
    struct base_arena arena; // keeps the texts
};

void cluster_fini(struct cluster *cluster);

// "host=1.0,csd*3=0.25": nodes host, csd.0, csd.1, csd.2.
STN_MUST_CHECK enum stn_status cluster_parse_emulate(const char *text, struct cluster *out);
// "server:2,csd1,csd2": hosts with the number of nodes on each (1).
STN_MUST_CHECK enum stn_status cluster_parse_hosts(const char *text, struct cluster *out);
STN_MUST_CHECK enum stn_status cluster_load(const char *path, struct cluster *out);
// `label` stands for the file in messages: "label:LINE: …".
STN_MUST_CHECK enum stn_status cluster_parse_yaml(const char *text, size_t bytes, const char *label,
                                                  struct cluster *out);
// The text of a cluster file that is read as an equal cluster, to be freed.
STN_MUST_CHECK enum stn_status cluster_format(const struct cluster *cluster, char **out);
// "csd.1=/data/clinicA": that node's private data.
STN_MUST_CHECK enum stn_status cluster_set_private(struct cluster *cluster, const char *text);
// The number of the node of that name; −1: there is none.
int cluster_find(const struct cluster *cluster, const char *name);
// The error line for a name in an option's text that no node has; says which one may be meant.
enum stn_status cluster_fail_unknown(const struct cluster *cluster, const char *option,
                                     const char *text, const char *name);

#endif
