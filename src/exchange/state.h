// SPDX-License-Identifier: Apache-2.0
// struct exchange, as the files of this folder see it.
//
//     exchange.c   what the training loop calls
//     reduce.c     what the communication thread does with a bucket
//     buckets.c    the cutting and the owners
//     half.c       half precision
//     carry.c      exact sums over a node's micro-batches
//     recent.c     how long exchanges take
#ifndef EXCHANGE_STATE_H
#define EXCHANGE_STATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "exchange/exchange.h"
#include "exchange/recent.h"

// Contributions that an owner receives ahead of the one it is adding.
enum { EXCHANGE_AHEAD = 4 };

// Sums over the micro-batches kept so far, of one of the caller's arrays.
struct exchange_carry {
    double *sums; // [count]; NULL: not exact
    float *array; // the caller's
    size_t count;
};

enum exchange_format {
    EXCHANGE_PLAIN, // the floats themselves
    EXCHANGE_HALF,
    EXCHANGE_EXACT, // contributions in double, results in float
};

struct exchange_bucket {
    struct comm_job job; // first: a job is cast back
    struct exchange *exchange;
    float *data; // [count] in: what this node contributes; out: the sum
    size_t count;
    int owner;
    enum comm_kind kind;
    enum exchange_format format;
    double *carry;               // [count] EXCHANGE_EXACT: what was kept; a node that does not own
                                 // the bucket adds the rest to it and sends that
    void *wire;                  // EXCHANGE_HALF: what travels
    struct comm_transfer *sends; // the owner's results [nodes − 1], or the one contribution
    struct comm_transfer receive;
};

struct exchange {
    struct comm *comm;
    int rank, nodes;
    struct exchange_bucket *buckets; // [bucket_count], in the order they become ready; the last
                                     // one is the statistics
    int bucket_count;
    struct comm_job collect;
    struct base_arena arena;
    void *scratch; // pages: sum and slots below
    size_t scratch_bytes;

    // The caller's.
    float *gradients; // borrowed
    float *statistics;
    size_t statistic_count;
    bool kept;    // carries hold something
    size_t taken; // gradients from here on, of the micro-batch at hand, are in the carry
    size_t given; // with one node: gradients from here on have been put back from the carry
    struct exchange_carry gradient_carry, statistic_carry;
    float *tail;        // [statistic_count + nodes] statistics, then how long each node's last
                        // exchange_finish took, in seconds
    double *tail_carry; // [the same] of the statistics; 0 for the times
    bool begun;
    int submitted; // buckets
    double processor_begin_seconds;
    struct exchange_stats stats; // but for what `exposed` says
    bool knows;                  // it has heard how long each node's last exchange_finish took
    struct exchange_recent exposed;

    // The communication thread's.
    enum stn_status status;      // of the first bucket that failed: no other is touched then
    int started;                 // buckets whose contribution is on its way
    int asked;                   // of these, those whose result may come
    void *sum;                   // [largest bucket] floats or doubles
    void *slots[EXCHANGE_AHEAD]; // contributions of others
};

// Two jobs: one works on a bucket, the other on what is left when all buckets have been started.
enum stn_status exchange_bucket_run(struct comm *comm, struct comm_job *job);
enum stn_status exchange_collect_run(struct comm *comm, struct comm_job *job);
// Of a bucket's contribution as it travels; the result may be shorter.
size_t exchange_wire_bytes(size_t count, enum exchange_format format);

bool exchange_carry_alloc(struct exchange_carry *carry, float *array, size_t count);
void exchange_carry_free(struct exchange_carry *carry);
// Takes what is in the array from `from` to `end`; `first`: there is nothing yet to add it to.
void exchange_carry_take(const struct exchange_carry *carry, size_t from, size_t end, bool first);
// Puts it back into the array, added to what is there and rounded once.
void exchange_carry_give(const struct exchange_carry *carry, size_t from, size_t end);

#endif
