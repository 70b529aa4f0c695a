// SPDX-License-Identifier: Apache-2.0
// A plan: how fast each node of a cluster was measured to be, who computes how much of a step
// because of it, and what that promises. stn_tune_run (stannis/train.h) makes one; as a file it can
// be kept, read by people, and given to a training.
#ifndef STANNIS_PLAN_H
#define STANNIS_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// How much of a step each node computes: the constant's name, the word on the command line and in
// files, and what the policy does. The numbers are kept in files: a new row comes last.
#define STN_POLICY_LIST(row)                                                                       \
    row(BALANCED, balanced, "all done at the same time, whatever happens to their speeds")         \
        row(STATIC, static, "balanced at the start, then left alone")                              \
            row(UNIFORM, uniform, "equal batches")                                                 \
                row(STANNIS, stannis, "the first paper's Algorithm 1")                             \
                    row(HYPERTUNE, hypertune,                                                      \
                        "the second paper's: equal step times, by the most influencing device")

enum stn_policy {
    STN_POLICY_DEFAULT = -1, // the plan file's, else balanced
#define STN_POLICY_CONSTANT(id, word, help) STN_POLICY_##id,
    STN_POLICY_LIST(STN_POLICY_CONSTANT)
#undef STN_POLICY_CONSTANT
};

struct stn_plan_node {
    const char *name;
    int threads;
    double cpus; // what it may use: a quota, else its threads
    // A step of m micro-batches takes it fixed + each·m seconds, weight update included.
    double fixed_seconds, each_seconds;
    double update_seconds;          // of the fixed ones: the weight update
    double fixed_error, each_error; // standard errors
    double noise;                   // relative scale of what the line leaves unexplained
    int samples, outliers;          // measured; of these left out
    const char *doubt;              // why the line may be wrong, in words; NULL: it is sure
    size_t memory_needed, memory_limit;
    int floor, cap;    // micro-batches of a step: private data; memory and max_batch
    int micro_batches; // its share of a full step
    double busy;       // part of the step that it computes
    bool too_slow;     // no share: one micro-batch would hold all others up
};

struct stn_plan_info {
    const char *net, *date, *version; // UTC, as 2026-01-31T12:00:00Z; of Stannis
    int image_size, channels, classes;
    int micro_batch, batch; // g and B
    enum stn_policy policy;
    bool in_turn;                             // nodes of one machine were measured one by one
    double tuning_seconds;                    // what measuring took
    double reduction_seconds, hidden_seconds; // adding up gradients: alone; of it, behind computing
    double uneven_seconds;                    // waiting for whoever is late in a step
    double step_seconds, images_per_second;   // predicted
    double ceiling;    // images a second if every node computed all the time: the sum of the nodes
    double efficiency; // images_per_second / ceiling
    double uniform_images_per_second; // predicted for equal batches
    int nodes;
};

struct stn_plan;

// What the plan says of the cluster; NULL of NULL. Valid until the plan is destroyed.
STN_EXPORT const struct stn_plan_info *stn_plan_info(const struct stn_plan *plan);
// What the plan says of a node, from 0; NULL where there is none. Valid until the plan is
// destroyed.
STN_EXPORT const struct stn_plan_node *stn_plan_node(const struct stn_plan *plan, int index);
// Frees the plan and all that it has told; NULL is fine.
STN_EXPORT void stn_plan_destroy(struct stn_plan *plan);
// Writes the plan as versioned JSON; the file is replaced whole or not at all.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_plan_write(const struct stn_plan *plan,
                                                         const char *path);
// Reads a plan file; what is damaged, of another version or contradicts itself is refused.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_plan_read(const char *path, struct stn_plan **out);
// Gives the text that the file would hold, to be freed with free().
STN_EXPORT STN_MUST_CHECK enum stn_status stn_plan_text(const struct stn_plan *plan, char **out);

#ifdef __cplusplus
}
#endif

#endif
