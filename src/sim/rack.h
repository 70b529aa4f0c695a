// SPDX-License-Identifier: Apache-2.0
// A box of equal hosts, or of one host and the equal CSDs in it, as a cluster for sim_run: from
// device profiles, with what such a box shares. Hosts come first.
#ifndef SIM_RACK_H
#define SIM_RACK_H

#include "sim/device.h"
#include "sim/energy.h"
#include "sim/sim.h"

struct sim_rack_part {
    int count;
    struct plan_line line; // seconds of a step with so many images
    int cap;               // images of a step at most; 0: no limit
    int64_t private_samples;
    struct sim_device_link link;
    struct sim_device_power power;
};

struct sim_rack_config {
    struct sim_rack_part host, csd; // csd.count may be 0
    int micro_batch;                // images
    // What slows the first host down, from a step on; 1: nothing. From the start it forwards the
    // others' messages more slowly by the same factor, so only the loaded part of such a run tells
    // anything.
    double slowdown;
    int64_t slowdown_from;
};

struct sim_rack {
    struct sim_cluster cluster;
    struct sim_node *nodes;                 // [cluster.count]
    const struct sim_device_power **powers; // [cluster.count]
    struct sim_device_power power_host, power_csd;
    struct sim_load load;
    struct base_arena arena;
};

// The rack stays where it is: it points into itself.
STN_MUST_CHECK enum stn_status sim_rack_init(struct sim_rack *rack,
                                             const struct sim_rack_config *config);
void sim_rack_fini(struct sim_rack *rack);

#endif
