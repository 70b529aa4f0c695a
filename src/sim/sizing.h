// SPDX-License-Identifier: Apache-2.0
// What a host would do with so many CSDs: speed, energy, and from which number on another one adds
// little. Undisturbed runs on virtual nodes; energy is modelled (sim/energy.h).
#ifndef SIM_SIZING_H
#define SIM_SIZING_H

#include "sim/device.h"
#include "sim/sim.h"

enum { SIM_SIZING_CSDS_MAX = 1000 };

struct sim_sizing_config {
    const struct sim_device *host, *csd;
    const char *net;
    int least, most; // CSDs
    const struct hypertune_policy *policy;
    int micro_batch; // images
    int batch;       // of all nodes; 0: the policy's choice
    double gradient_bytes, flops_per_image;
    double knee; // another CSD should add this part of the speed
    // What `balanced` and `static` plan for, without watts: those are the devices'; NULL: short
    // steps.
    const struct plan_objective *objective;
};

struct sim_sizing_row {
    int csds;
    double images_per_s;
    double ceiling; // if all computed all the time
    double added;   // by the last CSD, of the speed without it; 0: the first row
    double watts, joules_per_image, flops_per_watt; // NAN: the host's power is not known
    double saved; // of the energy an image that the host alone uses; NAN the same
    int batch;
    int working; // CSDs that have work
};

struct sim_sizing {
    struct sim_sizing_row alone; // the host
    struct sim_sizing_row *rows; // [count]
    int count;
    int knee; // CSDs, from which on more add too little each; −1: they add enough up to the last
};

STN_MUST_CHECK enum stn_status sim_sizing_run(const struct sim_sizing_config *config,
                                              struct sim_sizing *out);
void sim_sizing_fini(struct sim_sizing *sizing);

// For the files of this folder: one number of CSDs; what cannot be run at all.
STN_MUST_CHECK enum stn_status sim_sizing_row_run(const struct sim_sizing_config *config, int csds,
                                                  struct sim_sizing_row *out);
STN_MUST_CHECK enum stn_status sim_sizing_check(const struct sim_sizing_config *config);

// Of all numbers of CSDs, and of plans from the fastest to the least energy: what no other plan is
// better than in both speed and energy, by rising speed.
struct sim_front {
    struct sim_front_point {
        int csds, working; // of them with work
        double eta;        // of plan/energy.h; 0: the fastest
        double images_per_s, joules_per_image;
        bool best; // on the front
    } * points;    // [count] all that were tried, by rising speed
    int count;
};

// The configuration's own objective is not looked at. Refused where watts are not known.
STN_MUST_CHECK enum stn_status sim_front_run(const struct sim_sizing_config *config,
                                             struct sim_front *out);
void sim_front_fini(struct sim_front *front);

#endif
