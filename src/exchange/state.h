// SPDX-License-Identifier: Apache-2.0
// struct exchange, as the files of this folder see it.
//
//     exchange.c   what the training loop calls
//     reduce.c     what the communication thread does with a bucket
//     buckets.c    the cutting and the owners
//     half.c       half precision
#ifndef EXCHANGE_STATE_H
#define EXCHANGE_STATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "exchange/exchange.h"

// Contributions that an owner receives ahead of the one it is adding.
enum { EXCHANGE_AHEAD = 4 };

struct exchange_bucket {
    struct comm_job job; // first: a job is cast back
    struct exchange *exchange;
    float *data; // [count] in: what this node contributes; out: the sum
    size_t count;
    int owner;
    enum comm_kind kind;
    void *wire;                  // what travels, of half precision; NULL: data itself does
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

    // The caller's.
    float *gradients; // borrowed
    float *statistics;
    size_t statistic_count;
    float *tail; // [statistic_count + nodes] statistics, then how long each node's last
                 // exchange_finish took, in seconds
    bool begun;
    int submitted; // buckets
    double processor_begin_seconds;
    struct exchange_stats stats;

    // The communication thread's.
    enum stn_status status;      // of the first bucket that failed: no other is touched then
    int started;                 // buckets whose contribution is on its way
    int asked;                   // of these, those whose result may come
    float *sum;                  // [largest bucket]
    void *slots[EXCHANGE_AHEAD]; // contributions of others
};

// Jobs: a bucket; and what is left when all have been started.
enum stn_status exchange_bucket_run(struct comm *comm, struct comm_job *job);
enum stn_status exchange_collect_run(struct comm *comm, struct comm_job *job);
// Of a bucket, as it travels.
size_t exchange_wire_bytes(size_t count, bool half);

#endif
