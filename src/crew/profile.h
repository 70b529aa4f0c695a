// SPDX-License-Identifier: Apache-2.0
// The profile: what is known of the nodes before the first step. It has each node's line
// t(m) = fixed + each · m, its floor and cap, and what the reduction costs. Lines are guessed from
// CPUs, measured (tune/tune.h), or read from a plan file. The profile is the same on every node;
// the first split and every later one are planned from it.
#ifndef CREW_PROFILE_H
#define CREW_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "crew/nodes.h"
#include "plan/energy.h"
#include "plan/fit.h"
#include "plan/node.h"

// One node: what it says of itself, and what was measured of it.
struct crew_node_profile {
    int32_t threads;
    double cpus;                          // what it may use: a quota, else its threads
    uint64_t machine;                     // nodes with the same number are on the same machine,
    double machine_cpus;                  // which has so many
    uint64_t memory_needed, memory_limit; // bytes; limit 0: not known
    // The rest is 0 until it has been measured.
    struct plan_line line; // of a whole step, weight update included
    double update_s;       // of the weight update alone
    double fixed_error_s, each_error_s, noise;
    int32_t samples, outliers;
    char doubt[WIRE_DOUBT_BYTES]; // why the line may be wrong; "": it is sure
};

struct crew_profile {
    struct plan_cluster cluster;     // its nodes are `nodes`
    struct plan_node *nodes;         // [cluster.count]; names are borrowed from the cluster
    struct crew_node_profile *about; // [cluster.count]
    bool measured;                   // false: proportions of the lines are right, seconds are not
    bool in_turn;                    // nodes of one machine were measured one by one
    double seconds;                  // what measuring took
    struct plan_power *powers;       // [cluster.count] for `objective`
    struct plan_objective objective; // what plans are for, where `cluster` points to it
};

// Has the nodes' names, and nothing else yet.
STN_MUST_CHECK enum stn_status crew_profile_create(const struct cluster *cluster, int micro_batch,
                                                   struct crew_profile *out);
// A zeroed one may be finished too.
void crew_profile_fini(struct crew_profile *profile);

// Fills `about`: every node tells the others what is known of it.
STN_MUST_CHECK enum stn_status crew_profile_gather(struct crew *nodes,
                                                   const struct crew_node_profile *own,
                                                   struct crew_profile *profile);

// Lines from `about`'s CPUs: a node with twice as many is twice as fast.
void crew_profile_guess(struct crew_profile *profile);
// Lines from `about`'s measurements. Nodes alike in CPUs and nearly in speed are of one kind.
void crew_profile_use_measured(struct crew_profile *profile);

// Sets caps from max_batch; `most` micro-batches without. Refused where max_batch is less than a
// micro-batch.
STN_MUST_CHECK enum stn_status crew_profile_cap(struct crew_profile *profile,
                                                const struct cluster *cluster, int most);
// Sets the floors that private samples need in epochs of `steps`. `counts` is [1 + nodes]: public
// samples, then each node's private ones.
void crew_profile_floor(struct crew_profile *profile, const int64_t *counts, int64_t steps);

#endif
