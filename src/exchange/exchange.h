// SPDX-License-Identifier: Apache-2.0
// Adds up gradient sums and statistics over all nodes, in place, with the same bits on every node.
//
// The gradient array is cut into buckets from its end, the order in which the backward pass
// finishes them. Each bucket has an owner: the others send it theirs, the owner adds them in rank
// order (so the result does not depend on which came first) and sends the sum back. How many
// buckets a node owns follows its weight, so a slow node does not do the reducing for the fast
// ones. Buckets travel on the communication thread while the last backward pass is still running.
//
//     exchange_begin                 a step begins
//     exchange_keep_from(from) …     in a micro-batch before the last: its gradients [from, count)
//                                    are final
//     exchange_keep                  after each of these micro-batches
//     exchange_ready(from) …         in the last micro-batch: gradients [from, count) are final
//     exchange_finish                the rest, the statistics; waits
//
// With one node nothing travels; exchange_ready and exchange_finish then put back what was kept.
// After creation nothing is allocated. Destroying an exchange that was begun and not finished means
// that this node gives up: see comm_abandon.
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <stdbool.h>

#include "comm/comm.h"

enum exchange_wire {
    EXCHANGE_FP32,
    EXCHANGE_FP16, // half the bytes: scaled by a power of two per bucket, added in fp32
};

struct exchange_config {
    struct comm *comm;
    float *gradients; // [gradient_count] sums, borrowed
    size_t gradient_count;
    float *statistics; // [statistic_count] sums, borrowed
    size_t statistic_count;
    bool exact;              // not with fp16
    enum exchange_wire wire; // of gradients
    size_t bucket_bytes;     // 0: chosen
    const double *weights;   // [nodes] how much of the reducing each may do; NULL: all alike
};

// The node that came last to exchange_finish spent least time there, and all of it was exposed: no
// node computed meanwhile. What another node spent there beyond that, it waited for nodes that
// still computed. Overlapping hides the difference of exposed_seconds without exchange_ready and
// with it.
struct exchange_stats {
    double busy_seconds;    // processor time of the communication thread, from begin to finish
    double exposed_seconds; // the same on every node
    double wait_seconds;    // exposed and wait: of all exchanges but the last, of which nodes do
                            // not know of each other yet
    double exposed_median_seconds, exposed_p90_seconds; // of one exchange, among the last 255
};

struct exchange;

STN_MUST_CHECK enum stn_status exchange_create(const struct exchange_config *config,
                                               struct exchange **out);
void exchange_destroy(struct exchange *exchange);
void exchange_begin(struct exchange *exchange);
// Takes the sums of a micro-batch out of the arrays, which are zero then. Without exact sums they
// stay where they are.
void exchange_keep(struct exchange *exchange);
// Takes the sums from `from` on before exchange_keep does, while they are still in the cache.
void exchange_keep_from(struct exchange *exchange, size_t from);
void exchange_ready(struct exchange *exchange, size_t from);
STN_MUST_CHECK enum stn_status exchange_finish(struct exchange *exchange);
// Since creation, or since they were last forgotten.
struct exchange_stats exchange_stats(const struct exchange *exchange);
void exchange_forget_stats(struct exchange *exchange);

#endif
