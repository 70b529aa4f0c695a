// SPDX-License-Identifier: Apache-2.0
// One run of a paper's experiment, and rows and curves for its report. For the files paper_*.c.
#ifndef SIM_PAPER_TRIAL_H
#define SIM_PAPER_TRIAL_H

#include "sim/paper.h"

struct sim_trial {
    const char *policy;
    int hosts, csds;
    double host_speed, csd_speed; // images a second
    int batch_host, batch_csd;    // of a step; 0: the policy decides
    int batch;                    // of all nodes; 0: the sum of the above, or the policy's choice
    int micro_batch;              // 0: single images, so that any batch can be had
    int64_t private_each;         // images of a CSD
    int64_t public_images;
    double gradient_bytes;
    struct sim_device_link link;
    double slowdown; // of the first host, from the eleventh step on; 0: undisturbed
    bool ours;       // the exchange overlaps with the backward pass; waiting nodes sleep
    double server_w, csd_w;
};

struct sim_trial_result {
    double images_per_s; // when all has settled
    struct sim_energy energy;
    int batch;              // of a step, at first
    int batch_host_last;    // of the first host, in the end
    int64_t reaction_steps; // under load until the policy has changed the split; 0: it has not
    int64_t unreached;      // images of an epoch ended early
};

STN_MUST_CHECK enum stn_status sim_trial_run(const struct sim_trial *trial,
                                             struct sim_trial_result *out);

// `what` is a printf format.
struct sim_paper_row *sim_paper_add(struct sim_paper_report *report, enum sim_paper_row_kind kind,
                                    const char *where, const char *unit, double paper,
                                    double simulated, const char *what, ...)
    __attribute__((format(printf, 7, 8)));
struct sim_paper_curve *sim_paper_add_curve(struct sim_paper_report *report, const char *label);
void sim_paper_curve_add(struct sim_paper_curve *curve, double x, double y);

#endif
