// SPDX-License-Identifier: Apache-2.0
// What the training loop calls: buckets are submitted as they become ready, then waited for.
#include "exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exchange/buckets.h"
#include "exchange/state.h"

// Measured with 14 MB over four nodes of one machine: smaller buckets cost more wake-ups, larger
// ones leave more to be done after the last gradient.
enum { BUCKET_BYTES = 1 << 20 };
// What exchange_keep_from takes at once, at least: half of a usual L2 cache.
enum { KEEP_FLOATS = 1 << 16 };

// ---- creation ----------------------------------------------------------------------------------

// Buckets run from the end of the array: bucket 0 holds the last gradients.
static void buckets_cut(struct exchange *exchange, size_t largest, size_t gradient_count)
{
    size_t left = gradient_count;
    for (int i = 0; i < exchange->bucket_count; i++) {
        struct exchange_bucket *bucket = &exchange->buckets[i];
        bool is_tail = i == exchange->bucket_count - 1;
        size_t count = exchange_bucket_next(left, largest);
        left -= count;
        bucket->job.run = exchange_bucket_run;
        bucket->exchange = exchange;
        bucket->kind = is_tail ? COMM_STATISTICS : COMM_GRADIENTS;
        bucket->data = is_tail ? exchange->tail : exchange->gradients + left;
        bucket->count = is_tail ? exchange->statistic_count + (size_t)exchange->nodes : count;
    }
}

// Finds the carry of the bucket's data. The bucket of the tail has the statistics' carry.
static void bucket_set_format(struct exchange *exchange, struct exchange_bucket *bucket,
                              const struct exchange_config *config)
{
    bool is_tail = bucket->kind == COMM_STATISTICS;
    if (config->wire == EXCHANGE_FP16) {
        bucket->format = is_tail ? EXCHANGE_PLAIN : EXCHANGE_HALF;
    } else if (config->exact) {
        bucket->format = EXCHANGE_EXACT;
        bucket->carry = is_tail
                            ? exchange->tail_carry
                            : exchange->gradient_carry.sums + (bucket->data - exchange->gradients);
    }
}

static bool bucket_alloc(struct exchange *exchange, struct exchange_bucket *bucket)
{
    bool own = bucket->owner == exchange->rank;
    size_t sends = own ? (size_t)exchange->nodes - 1 : 1;
    bucket->sends = base_arena_alloc(&exchange->arena, sends * sizeof(*bucket->sends));
    if (bucket->format == EXCHANGE_HALF) {
        bucket->wire =
            base_arena_alloc(&exchange->arena, exchange_wire_bytes(bucket->count, bucket->format));
        return bucket->sends && bucket->wire;
    }
    return bucket->sends != NULL;
}

static bool owners_alloc(struct exchange *exchange, const double *weights)
{
    size_t count = (size_t)exchange->bucket_count;
    int *owners = base_arena_alloc(&exchange->arena, count * sizeof(*owners));
    size_t *sizes = base_arena_alloc(&exchange->arena, count * sizeof(*sizes));
    double *scratch =
        base_arena_alloc(&exchange->arena, (size_t)exchange->nodes * sizeof(*scratch));
    if (!owners || !sizes || !scratch) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sizes[i] = exchange->buckets[i].count;
    }
    exchange_owners(count, sizes, weights, exchange->nodes, scratch, owners);
    for (size_t i = 0; i < count; i++) {
        exchange->buckets[i].owner = owners[i];
    }
    return true;
}

// Room for a sum and a few contributions, on huge pages: the kernel copies between processes page
// by page.
static bool scratch_alloc(struct exchange *exchange)
{
    size_t largest = 0;
    for (int i = 0; i < exchange->bucket_count; i++) {
        size_t count = exchange->buckets[i].count;
        largest = count > largest ? count : largest;
    }
    size_t line = 64, bytes = largest * sizeof(double) + exchange_wire_bytes(0, EXCHANGE_HALF);
    bytes = (bytes + line - 1) / line * line;
    int slots = exchange->nodes - 1 < EXCHANGE_AHEAD ? exchange->nodes - 1 : EXCHANGE_AHEAD;
    exchange->scratch_bytes = (size_t)(slots + 1) * bytes;
    exchange->scratch = base_pages_alloc(exchange->scratch_bytes);
    if (!exchange->scratch) {
        return false;
    }
    memset(exchange->scratch, 0, exchange->scratch_bytes); // or the first step would wait for it
    exchange->sum = exchange->scratch;
    for (int i = 0; i < slots; i++) {
        exchange->slots[i] = (char *)exchange->scratch + (size_t)(i + 1) * bytes;
    }
    return true;
}

static bool buckets_alloc(struct exchange *exchange, const struct exchange_config *config)
{
    size_t largest = (config->bucket_bytes ? config->bucket_bytes : BUCKET_BYTES) / sizeof(float);
    largest = largest ? largest : 1;
    size_t count = exchange_buckets(config->gradient_count, largest) + 1;
    size_t tail_count = config->statistic_count + (size_t)exchange->nodes;
    exchange->tail = base_arena_alloc(&exchange->arena, tail_count * sizeof(*exchange->tail));
    exchange->tail_carry =
        base_arena_alloc(&exchange->arena, tail_count * sizeof(*exchange->tail_carry));
    exchange->buckets = base_arena_alloc(&exchange->arena, count * sizeof(*exchange->buckets));
    if (!exchange->tail || !exchange->tail_carry || !exchange->buckets) {
        return false;
    }
    exchange->bucket_count = (int)count;
    buckets_cut(exchange, largest, config->gradient_count);
    if (!owners_alloc(exchange, config->weights)) {
        return false;
    }
    for (int i = 0; i < exchange->bucket_count; i++) {
        bucket_set_format(exchange, &exchange->buckets[i], config);
        if (!bucket_alloc(exchange, &exchange->buckets[i])) {
            return false;
        }
    }
    return scratch_alloc(exchange);
}

static bool carries_alloc(struct exchange *exchange, const struct exchange_config *config)
{
    if (!config->exact || config->wire == EXCHANGE_FP16) {
        return true;
    }
    return exchange_carry_alloc(&exchange->gradient_carry, config->gradients,
                                config->gradient_count) &&
           exchange_carry_alloc(&exchange->statistic_carry, config->statistics,
                                config->statistic_count);
}

enum stn_status exchange_create(const struct exchange_config *config, struct exchange **out)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for exchanging gradients");
    }
    exchange->comm = config->comm;
    exchange->rank = comm_rank(config->comm);
    exchange->nodes = comm_size(config->comm);
    exchange->gradients = config->gradients;
    exchange->statistics = config->statistics;
    exchange->statistic_count = config->statistic_count;
    exchange->collect.run = exchange_collect_run;
    if (!carries_alloc(exchange, config) ||
        (exchange->nodes > 1 && !buckets_alloc(exchange, config))) {
        exchange_destroy(exchange);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for exchanging %zu gradients",
                        config->gradient_count);
    }
    exchange->taken = exchange->gradient_carry.count;
    *out = exchange;
    return STN_OK;
}

// ---- an exchange -------------------------------------------------------------------------------

static enum stn_status buckets_wait(struct exchange *exchange)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < exchange->submitted; i++) {
        enum stn_status one = comm_wait(exchange->comm, &exchange->buckets[i].job);
        status = status == STN_OK ? one : status;
    }
    return status;
}

void exchange_destroy(struct exchange *exchange)
{
    if (!exchange) {
        return;
    }
    if (exchange->begun) {
        comm_abandon(exchange->comm); // or jobs might wait for ever
        enum stn_status status = buckets_wait(exchange);
        (void)status;
    }
    if (exchange->scratch) {
        base_pages_free(exchange->scratch, exchange->scratch_bytes);
    }
    exchange_carry_free(&exchange->gradient_carry);
    exchange_carry_free(&exchange->statistic_carry);
    base_arena_fini(&exchange->arena);
    free(exchange);
}

void exchange_begin(struct exchange *exchange)
{
    exchange->kept = false;
    exchange->taken = exchange->given = exchange->gradient_carry.count;
    if (exchange->nodes == 1) {
        return;
    }
    exchange->begun = true;
    exchange->submitted = 0;
    exchange->status = STN_OK;
    exchange->started = exchange->asked = 0;
    exchange->processor_begin_seconds = comm_processor_seconds(exchange->comm);
}

static void keep(struct exchange *exchange, size_t from)
{
    exchange_carry_take(&exchange->gradient_carry, from, exchange->taken, !exchange->kept);
    exchange->taken = from;
}

void exchange_keep_from(struct exchange *exchange, size_t from)
{
    if (exchange->gradient_carry.sums && from + KEEP_FLOATS <= exchange->taken) {
        keep(exchange, from);
    }
}

void exchange_keep(struct exchange *exchange)
{
    const struct exchange_carry *statistics = &exchange->statistic_carry;
    if (exchange->gradient_carry.sums) {
        keep(exchange, 0);
        exchange_carry_take(statistics, 0, statistics->count, !exchange->kept);
        exchange->taken = exchange->gradient_carry.count;
        exchange->kept = true;
    }
}

static void submit_next(struct exchange *exchange)
{
    comm_submit(exchange->comm, &exchange->buckets[exchange->submitted++].job);
}

// With one node: puts back what was kept, which is the sum already.
static void give(struct exchange *exchange, size_t from)
{
    if (exchange->kept) {
        exchange_carry_give(&exchange->gradient_carry, from, exchange->given);
        exchange->given = from;
    }
}

void exchange_ready(struct exchange *exchange, size_t from)
{
    if (exchange->nodes == 1) {
        if (from + KEEP_FLOATS <= exchange->given) {
            give(exchange, from);
        }
        return;
    }
    const float *ready = exchange->gradients + from;
    while (exchange->submitted < exchange->bucket_count - 1 &&
           exchange->buckets[exchange->submitted].data >= ready) {
        submit_next(exchange);
    }
}

// The node that spent least time in exchange_finish came last, and in that time no node computed.
// How long each node spent there travels with the statistics of the next exchange.
static void account(struct exchange *exchange, double seconds)
{
    float *spent = exchange->tail + exchange->statistic_count;
    double least = spent[0];
    for (int i = 1; i < exchange->nodes; i++) {
        least = spent[i] < least ? spent[i] : least;
    }
    if (exchange->knows) {
        exchange_recent_add(&exchange->exposed, least);
    }
    exchange->knows = true;
    exchange->stats.exposed_seconds += least;
    exchange->stats.wait_seconds += spent[exchange->rank] - least;
    exchange->stats.busy_seconds +=
        comm_processor_seconds(exchange->comm) - exchange->processor_begin_seconds;
    memset(spent, 0, (size_t)exchange->nodes * sizeof(*spent));
    spent[exchange->rank] = (float)seconds;
}

enum stn_status exchange_finish(struct exchange *exchange)
{
    if (exchange->nodes == 1) {
        const struct exchange_carry *statistics = &exchange->statistic_carry;
        give(exchange, 0);
        if (exchange->kept) {
            exchange_carry_give(statistics, 0, statistics->count);
        }
        return STN_OK;
    }
    double begin_seconds = base_clock_seconds();
    exchange_ready(exchange, 0);
    size_t bytes = exchange->statistic_count * sizeof(*exchange->statistics);
    if (bytes > 0) {
        memcpy(exchange->tail, exchange->statistics, bytes);
    }
    if (exchange->kept) {
        memset(exchange->tail_carry + exchange->statistic_count, 0,
               (size_t)exchange->nodes * sizeof(*exchange->tail_carry));
    }
    if (bytes > 0 && exchange->kept) {
        memcpy(exchange->tail_carry, exchange->statistic_carry.sums, 2 * bytes);
    }
    submit_next(exchange);
    comm_submit(exchange->comm, &exchange->collect);
    enum stn_status status = buckets_wait(exchange);
    if (status != STN_OK) {
        comm_abandon(exchange->comm);
    }
    enum stn_status collected = comm_wait(exchange->comm, &exchange->collect);
    exchange->begun = false;
    status = status == STN_OK ? collected : status;
    if (status == STN_OK && bytes > 0) {
        memcpy(exchange->statistics, exchange->tail, bytes);
    }
    if (status == STN_OK) {
        account(exchange, base_clock_seconds() - begin_seconds);
    }
    return status;
}

struct exchange_stats exchange_stats(const struct exchange *exchange)
{
    struct exchange_stats stats = exchange->stats;
    stats.exposed_median_seconds = exchange_recent_quantile(&exchange->exposed, 0.5);
    stats.exposed_p90_seconds = exchange_recent_quantile(&exchange->exposed, 0.9);
    return stats;
}

void exchange_forget_stats(struct exchange *exchange)
{
    exchange->stats = (struct exchange_stats){0};
    if (exchange->nodes > 1) {
        memset(exchange->tail + exchange->statistic_count, 0,
               (size_t)exchange->nodes * sizeof(*exchange->tail));
    }
}
