// SPDX-License-Identifier: Apache-2.0
// What the communication thread does with a bucket. A node that does not own it sends its
// contribution and goes on; the owner adds all contributions in rank order and sends the sum to
// all. A result arrives where the contribution lies, so it is asked for once the contribution has
// left.
#include <stddef.h>
#include <string.h>

#include "exchange/half.h"
#include "exchange/state.h"

enum { TAG_CONTRIBUTION = 1, TAG_RESULT = 2 };

// Half precision travels as its scale (wire/messages.h), with the numbers behind it.
static uint16_t *halves(void *wire)
{
    return (uint16_t *)(void *)((uint8_t *)wire + WIRE_SCALE_BYTES);
}

static int exponent_of(const void *wire)
{
    struct wire_scale scale;
    return wire_decode(WIRE_SCALE, wire, &scale) ? scale.exponent : 0;
}

size_t exchange_wire_bytes(size_t count, enum exchange_format format)
{
    switch (format) {
    case EXCHANGE_PLAIN: break;
    case EXCHANGE_HALF: return WIRE_SCALE_BYTES + count * sizeof(uint16_t);
    case EXCHANGE_EXACT: return count * sizeof(double);
    }
    return count * sizeof(float);
}

static size_t contribution_bytes(const struct exchange_bucket *bucket)
{
    return exchange_wire_bytes(bucket->count, bucket->format);
}

// ---- formats -----------------------------------------------------------------------------------

static void *pack_half(struct exchange_bucket *bucket)
{
    const struct wire_scale scale = {.exponent =
                                         exchange_half_exponent(bucket->data, bucket->count)};
    wire_encode(WIRE_SCALE, &scale, bucket->wire);
    exchange_half_encode(bucket->data, bucket->count, scale.exponent, halves(bucket->wire));
    return bucket->wire;
}

static void *pack_exact(struct exchange_bucket *bucket)
{
    const float *restrict data = bucket->data;
    double *restrict carry = bucket->carry;
    if (!bucket->exchange->kept) {
        for (size_t i = 0; i < bucket->count; i++) {
            carry[i] = data[i];
        }
        return carry;
    }
    for (size_t i = 0; i < bucket->count; i++) {
        carry[i] += data[i];
    }
    return carry;
}

static void *pack_contribution(struct exchange_bucket *bucket)
{
    switch (bucket->format) {
    case EXCHANGE_PLAIN: break;
    case EXCHANGE_HALF: return pack_half(bucket);
    case EXCHANGE_EXACT: return pack_exact(bucket);
    }
    return bucket->data;
}

static void *pack_result(struct exchange_bucket *bucket)
{
    return bucket->format == EXCHANGE_HALF ? pack_half(bucket) : bucket->data;
}

static void *result_place(struct exchange_bucket *bucket)
{
    return bucket->format == EXCHANGE_HALF ? bucket->wire : bucket->data;
}

static size_t result_bytes(const struct exchange_bucket *bucket)
{
    return exchange_wire_bytes(bucket->count,
                               bucket->format == EXCHANGE_HALF ? EXCHANGE_HALF : EXCHANGE_PLAIN);
}

static void unpack_result(struct exchange_bucket *bucket)
{
    if (bucket->format == EXCHANGE_HALF) {
        exchange_half_decode(halves(bucket->wire), bucket->count, exponent_of(bucket->wire),
                             bucket->data);
    }
}

static void sum_copy(const struct exchange_bucket *bucket, void *slot, float *restrict sum)
{
    if (bucket->format == EXCHANGE_HALF) {
        exchange_half_decode(halves(slot), bucket->count, exponent_of(slot), sum);
    } else {
        memcpy(sum, slot, bucket->count * sizeof(*sum));
    }
}

static void sum_add(const struct exchange_bucket *bucket, void *slot, float *restrict sum)
{
    if (bucket->format == EXCHANGE_HALF) {
        exchange_half_add(halves(slot), bucket->count, exponent_of(slot), sum);
        return;
    }
    const float *restrict x = slot;
    for (size_t i = 0; i < bucket->count; i++) {
        sum[i] += x[i];
    }
}

// ---- results -----------------------------------------------------------------------------------

static enum stn_status ask(struct exchange *exchange, struct exchange_bucket *bucket)
{
    exchange->asked++;
    return comm_receive_begin(exchange->comm, bucket->owner, TAG_RESULT, result_place(bucket),
                              result_bytes(bucket), &bucket->receive);
}

// Asks for results, in the order of the buckets, as far as contributions have left.
static enum stn_status ask_for_results(struct exchange *exchange)
{
    while (exchange->asked < exchange->started) {
        struct exchange_bucket *bucket = &exchange->buckets[exchange->asked];
        if (bucket->owner == exchange->rank) {
            exchange->asked++;
            continue;
        }
        bool done;
        enum stn_status status = comm_transfer_test(exchange->comm, bucket->sends, &done);
        if (status != STN_OK || !done) {
            return status;
        }
        status = ask(exchange, bucket);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

static enum stn_status ask_for_the_rest(struct exchange *exchange)
{
    enum stn_status status = STN_OK;
    while (exchange->asked < exchange->started && status == STN_OK) {
        struct exchange_bucket *bucket = &exchange->buckets[exchange->asked];
        if (bucket->owner == exchange->rank) {
            exchange->asked++;
            continue;
        }
        status = comm_transfer_finish(exchange->comm, bucket->sends);
        if (status == STN_OK) {
            status = ask(exchange, bucket);
        }
    }
    return status;
}

enum stn_status exchange_collect_run(struct comm *comm, struct comm_job *job)
{
    struct exchange *exchange =
        (struct exchange *)((char *)job - offsetof(struct exchange, collect));
    enum stn_status status =
        exchange->status == STN_OK ? ask_for_the_rest(exchange) : exchange->status;
    for (int i = 0; i < exchange->bucket_count && status == STN_OK; i++) {
        struct exchange_bucket *bucket = &exchange->buckets[i];
        if (bucket->owner != exchange->rank) {
            status = comm_transfer_finish(comm, &bucket->receive);
            unpack_result(bucket);
            continue;
        }
        for (int peer = 0; peer < exchange->nodes - 1 && status == STN_OK; peer++) {
            status = comm_transfer_finish(comm, &bucket->sends[peer]);
        }
    }
    return status;
}

// ---- contributions -----------------------------------------------------------------------------

// Contributions as they are received, in rank order and a few ahead. Number i is that of the i-th
// other node.
struct arrivals {
    struct exchange_bucket *bucket;
    struct comm_transfer transfers[EXCHANGE_AHEAD];
    int begun;
};

static int other_node(const struct exchange *exchange, int i)
{
    return i < exchange->rank ? i : i + 1;
}

static enum stn_status arrival_begin(struct arrivals *arrivals)
{
    struct exchange_bucket *bucket = arrivals->bucket;
    struct exchange *exchange = bucket->exchange;
    int i = arrivals->begun++, slot = i % EXCHANGE_AHEAD;
    return comm_receive_begin(exchange->comm, other_node(exchange, i), TAG_CONTRIBUTION,
                              exchange->slots[slot], contribution_bytes(bucket),
                              &arrivals->transfers[slot]);
}

// Begins to receive the first contributions, or the next ones when all that had begun are added.
static enum stn_status arrivals_begin(struct arrivals *arrivals)
{
    enum stn_status status = STN_OK;
    int others = arrivals->bucket->exchange->nodes - 1, end = arrivals->begun + EXCHANGE_AHEAD;
    while (arrivals->begun < others && arrivals->begun < end && status == STN_OK) {
        status = arrival_begin(arrivals);
    }
    return status;
}

// Addition commutes, so adding ours to the sum of the lower ranks is adding it in rank order.
static void add_own(struct exchange *exchange, struct exchange_bucket *bucket)
{
    const float *restrict sum = exchange->sum;
    float *restrict own = bucket->data;
    for (size_t i = 0; i < bucket->count; i++) {
        own[i] += sum[i];
    }
}

// The i-th of the other nodes' contributions.
static void add_arrival(struct exchange *exchange, struct exchange_bucket *bucket, int i,
                        void *slot)
{
    if (i == 0 && exchange->rank > 0) {
        sum_copy(bucket, slot, exchange->sum);
    } else {
        sum_add(bucket, slot, i < exchange->rank ? exchange->sum : bucket->data);
    }
    if (i == exchange->rank - 1) {
        add_own(exchange, bucket);
    }
}

static enum stn_status reduce_in_order(struct exchange *exchange, struct exchange_bucket *bucket)
{
    struct arrivals arrivals = {.bucket = bucket};
    enum stn_status status = arrivals_begin(&arrivals);
    for (int i = 0; i < exchange->nodes - 1 && status == STN_OK; i++) {
        int slot = i % EXCHANGE_AHEAD;
        status = comm_transfer_finish(exchange->comm, &arrivals.transfers[slot]);
        if (status != STN_OK) {
            break;
        }
        add_arrival(exchange, bucket, i, exchange->slots[slot]);
        if (arrivals.begun < exchange->nodes - 1) {
            status = arrival_begin(&arrivals);
        }
    }
    return status;
}

// ---- exact sums --------------------------------------------------------------------------------

// A part of a bucket that is added up at once: it and its sum stay in the first-level cache.
struct piece {
    const struct exchange_bucket *bucket;
    size_t from, count;
    double *sum; // [count]; may be the carry
};

static void piece_begin(const struct piece *piece)
{
    const float *data = piece->bucket->data + piece->from;
    const double *carry = piece->bucket->carry + piece->from;
    double *sum = piece->sum;
    const bool kept = piece->bucket->exchange->kept;
#pragma omp simd
    for (size_t i = 0; i < piece->count; i++) {
        sum[i] = kept ? carry[i] + data[i] : data[i];
    }
}

static void piece_add(const struct piece *piece, const double *restrict x)
{
    double *restrict sum = piece->sum;
    for (size_t i = 0; i < piece->count; i++) {
        sum[i] += x[i];
    }
}

static void piece_end(const struct piece *piece)
{
    float *restrict data = piece->bucket->data + piece->from;
    const double *restrict sum = piece->sum;
    for (size_t i = 0; i < piece->count; i++) {
        data[i] = (float)sum[i];
    }
}

// Adds the arrivals in the slots; with the first ones our own contribution, too, and after the last
// ones it rounds.
static void add_exact(struct exchange_bucket *bucket, int arrived, bool first, bool last)
{
    enum { PIECE = 1024 };
    double local[PIECE];
    for (size_t from = 0; from < bucket->count; from += PIECE) {
        size_t left = bucket->count - from;
        double *sum = first && last ? &local[0] : bucket->carry + from;
        struct piece piece = {bucket, from, left < PIECE ? left : PIECE, sum};
        if (first) {
            piece_begin(&piece);
        }
        for (int i = 0; i < arrived; i++) {
            piece_add(&piece, (const double *)bucket->exchange->slots[i] + from);
        }
        if (last) {
            piece_end(&piece);
        }
    }
}

// The order does not matter, so several contributions are added in one pass.
static enum stn_status reduce_exactly(struct exchange *exchange, struct exchange_bucket *bucket)
{
    struct arrivals arrivals = {.bucket = bucket};
    int added = 0, others = exchange->nodes - 1;
    enum stn_status status = STN_OK;
    while (added < others && status == STN_OK) {
        status = arrivals_begin(&arrivals);
        int arrived = arrivals.begun - added;
        for (int i = 0; i < arrived && status == STN_OK; i++) {
            status = comm_transfer_finish(exchange->comm, &arrivals.transfers[i]);
        }
        if (status == STN_OK) {
            add_exact(bucket, arrived, added == 0, arrivals.begun == others);
        }
        added = arrivals.begun;
    }
    return status;
}

// ---- buckets -----------------------------------------------------------------------------------

static enum stn_status send_results(struct exchange *exchange, struct exchange_bucket *bucket)
{
    void *data = pack_result(bucket);
    unpack_result(bucket); // what was rounded for the others is rounded here too
    enum stn_status status = STN_OK;
    for (int i = 0; i < exchange->nodes - 1 && status == STN_OK; i++) {
        status = comm_send_begin(exchange->comm, other_node(exchange, i), TAG_RESULT, bucket->kind,
                                 data, result_bytes(bucket), &bucket->sends[i]);
    }
    return status;
}

static enum stn_status start(struct exchange *exchange, struct exchange_bucket *bucket)
{
    enum stn_status status = ask_for_results(exchange);
    if (status != STN_OK) {
        return status;
    }
    exchange->started++;
    if (bucket->owner != exchange->rank) {
        return comm_send_begin(exchange->comm, bucket->owner, TAG_CONTRIBUTION, bucket->kind,
                               pack_contribution(bucket), contribution_bytes(bucket),
                               bucket->sends);
    }
    status = bucket->format == EXCHANGE_EXACT ? reduce_exactly(exchange, bucket)
                                              : reduce_in_order(exchange, bucket);
    return status == STN_OK ? send_results(exchange, bucket) : status;
}

enum stn_status exchange_bucket_run(struct comm *comm, struct comm_job *job)
{
    (void)comm;
    struct exchange_bucket *bucket = (struct exchange_bucket *)job;
    struct exchange *exchange = bucket->exchange;
    if (exchange->status == STN_OK) {
        exchange->status = start(exchange, bucket);
    }
    return exchange->status;
}
