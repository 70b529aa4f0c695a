// SPDX-License-Identifier: Apache-2.0
// A training on virtual nodes in virtual time: no data, no network, no clock. The same
// plan/ and hypertune/ code as on a real cluster decides which node computes what; the same
// plan/share.h says which samples a step holds. The same cluster, config and seed give the same
// result, bit for bit, on any machine of one kind. Pure but for memory; several runs may go on at
// once.
//
//     sim_run → struct sim_result → sim_result_fini
//
// A step: node i computes m_i micro-batches in  slowdown_i · noise_i · t_i(m_i)  seconds; the ring
// all-reduce starts when all nodes are in the backward pass of their last micro-batch, and what of
// it is not over when the slowest node is done is exposed. Then nodes report as real ones do, and
// the policy decides about the next step.
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "hypertune/policy.h"
#include "stannis/status.h"

// ---- the cluster -------------------------------------------------------------------------------

// Of one step's time on one node; zero-initialised: none.
struct sim_noise {
    double relative; // standard deviation of its logarithm
    double memory;   // 0 … below 1: how much of it is still there in the next step
    double spikes;   // part of the steps that take spike_factor times as long, for no reason
    double spike_factor;
};

struct sim_link {
    double bytes_per_s; // 0: not the bottleneck, whatever is sent
    double latency_s;   // of one message
};

struct sim_node {
    const char *name; // for messages and reports
    // Which device it is: the number of the first node that is the same one (plan/node.h).
    int kind;
    struct plan_curve curve; // undisturbed; it is also what the policies believe. Points borrowed.
    int cap;                 // micro-batches of a step at most: memory, max_batch; 0: no limit
    int64_t private_samples;
    struct sim_noise noise;
    struct sim_link link;
    int64_t fails_at; // it stops in this step (from 1); 0: never
};

enum sim_load_shape {
    SIM_LOAD_STEADY,   // from the first step to the last
    SIM_LOAD_RAMP,     // grows evenly from nothing to all of it
    SIM_LOAD_ON_OFF,   // for on_steps of every period_steps
    SIM_LOAD_RECORDED, // recorded[k] is the slowdown in step from + k
};

// What slows a node down from step `from` up to and with `to` (from 1). Loads of one node add up:
// two that make it twice as slow each make it three times as slow. A recorded one multiplies.
struct sim_load {
    int node;
    enum sim_load_shape shape;
    int64_t from, to;       // to: INT64_MAX: to the end
    double slowdown;        // at full strength, ≥ 1; 2: half of its speed is left
    int64_t period_steps;   // SIM_LOAD_ON_OFF
    int64_t on_steps;       //
    const double *recorded; // [to − from + 1] > 0, borrowed; NULL but for SIM_LOAD_RECORDED
};

struct sim_cluster {
    const struct sim_node *nodes;
    int count;
    const struct sim_load *loads;
    int load_count;
};

// ---- the run -----------------------------------------------------------------------------------

// What happens when a node stops. The others notice after a timeout.
enum sim_failure {
    SIM_FAILURE_STOP,   // the run ends, as a real one does; see sim_result.lost_node
    SIM_FAILURE_RESUME, // it goes on from the last checkpoint without the node
};

struct sim_config {
    const struct hypertune_policy *policy;
    // What `balanced` and `static` plan for, with a power for every node; NULL: short steps.
    const struct plan_objective *objective;
    struct plan_policy_options plan;
    struct hypertune_decide_options decide; // of `balanced`
    struct hypertune_paper_options paper;   // of `hypertune`
    int micro_batch;                        // g, samples
    int micro_batches;                      // M of a step; 0: the policy's choice
    int64_t public_samples;                 // of an epoch, besides the nodes' private ones
    int epochs;                             // whichever of epochs and steps comes first
    int64_t steps;                          // 0: no limit
    double gradient_bytes;                  // that a step adds up over the ring
    double overlap;                         // part of a micro-batch's time during which they leave
    double step_fixed_s;                    // of every step for all: optimizer, statistics, barrier
    enum sim_failure failure;
    double timeout_s;         // until a lost node is noticed
    double restart_s;         // SIM_FAILURE_RESUME: until the others compute again
    int64_t checkpoint_steps; // saved this often, and at epoch ends; 0: only there
    uint64_t seed;
    // What phases begin at these steps (rising, > 1, borrowed); NULL: wherever a load comes or
    // goes, if that is not too often.
    const int64_t *phase_begins;
    int phase_count;
    // Any clock, to measure how long deciding takes (sim_result.decide_s); NULL: not measured.
    double (*clock_s)(void);
};

// Balanced, g = 16, one epoch, nothing to exchange, 30 s of timeout, seed 0. The rest is to be set:
// public_samples.
struct sim_config sim_defaults(void);

// ---- what is seen of it ------------------------------------------------------------------------

// One step that was done. Arrays are [nodes] and valid during the call.
struct sim_step {
    int64_t step;           // from 1, over the whole run; steps done again after a failure count
    int epoch;              // from 1
    int64_t epoch_position; // samples of the epoch done, this step's included
    int64_t epoch_samples;
    int64_t images;
    double begin_s, seconds;    // virtual
    double compute_s;           // of the slowest node
    double exposed_s;           // of the reduction, after that
    const int *micro_batches;   // done
    const double *node_s;       // computed, each
    const double *slowdown;     // true, without noise
    enum hypertune_action then; // decided after it; of `hypertune` REPLAN: the epoch ends here
    const int *split_next;      // in force from the next step on
    int changed_node;           // whose changed speed made it so; −1: none
    double gain;                // predicted by `balanced`, of a step's time
};

struct sim_observer {
    void *context;
    void (*step)(void *context, const struct sim_step *step);
    // Between steps; true: stop here, the result is that of the steps done. NULL: never.
    bool (*stop)(void *context);
};

struct sim_node_result {
    int64_t images, private_images;
    int64_t micro_batches;
    double busy_s, idle_s;       // computing; waiting for others and for the exchange
    double spare_s;              // of idle_s: in steps without work for it
    int split_first, split_last; // micro-batches of a step, by plan
};

struct sim_phase {
    int64_t first_step, last_step;
    int64_t images;
    double seconds, images_per_s;
};

enum { SIM_PHASES_MAX = 64 };

struct sim_result {
    int64_t steps;
    int epochs; // whole ones, and those that `hypertune` ended early
    int64_t images;
    double seconds; // virtual
    double images_per_s;
    double ceiling;     // images a second if all nodes, undisturbed, computed all the time
    double exposed_s;   // of the exchange, in all steps together
    int micro_batches;  // M of the first step
    int64_t replans;    // splits that the policy changed
    int64_t probes;     // steps with a micro-batch for nodes without work
    int64_t unreached;  // samples of epochs that `hypertune` ended before
    int64_t repeated;   // computed again after a failure
    int64_t lost;       // private samples of nodes that stopped, in epochs without them
    int lost_node;      // the last that stopped; −1: none
    int64_t lost_step;  // in which
    bool stopped;       // before the end: by a lost node or by the observer
    double decide_s;    // by config.clock_s, in all steps together
    double decide_most; // in one step, as a part of its virtual time
    struct sim_phase phases[SIM_PHASES_MAX];
    int phase_count;
    struct sim_node_result *nodes; // [node_count]
    int node_count;
};

// Refused: impossible values, each with the node's name. `observer` may be NULL.
STN_MUST_CHECK enum stn_status sim_run(const struct sim_cluster *cluster,
                                       const struct sim_config *config,
                                       const struct sim_observer *observer, struct sim_result *out);
void sim_result_fini(struct sim_result *result);

#endif
