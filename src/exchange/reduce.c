// SPDX-License-Identifier: Apache-2.0
// What the communication thread does with a bucket. Who does not own it sends its contribution and
// goes on; the owner adds all in rank order and sends the sum to everyone. Results land where the
// contribution was, so they are asked for once that has left.
#include <stddef.h>
#include <string.h>

#include "exchange/half.h"
#include "exchange/state.h"

enum { TAG_CONTRIBUTION = 1, TAG_RESULT = 2 };

// Of half precision: the numbers follow.
struct wire_head {
    int32_t exponent;
    int32_t pad;
};

static uint16_t *halves(void *wire)
{
    return (uint16_t *)((struct wire_head *)wire + 1);
}

size_t exchange_wire_bytes(size_t count, bool half)
{
    return half ? sizeof(struct wire_head) + count * sizeof(uint16_t) : count * sizeof(float);
}

static size_t wire_bytes(const struct exchange_bucket *bucket)
{
    return exchange_wire_bytes(bucket->count, bucket->wire != NULL);
}

static void *pack(struct exchange_bucket *bucket)
{
    if (!bucket->wire) {
        return bucket->data;
    }
    struct wire_head *head = bucket->wire;
    head->exponent = exchange_half_exponent(bucket->data, bucket->count);
    head->pad = 0;
    exchange_half_encode(bucket->data, bucket->count, head->exponent, halves(head));
    return head;
}

static void unpack(struct exchange_bucket *bucket)
{
    if (bucket->wire) {
        struct wire_head *head = bucket->wire;
        exchange_half_decode(halves(head), bucket->count, head->exponent, bucket->data);
    }
}

static void sum_copy(const struct exchange_bucket *bucket, void *slot, float *restrict sum)
{
    if (bucket->wire) {
        struct wire_head *head = slot;
        exchange_half_decode(halves(head), bucket->count, head->exponent, sum);
    } else {
        memcpy(sum, slot, bucket->count * sizeof(*sum));
    }
}

static void sum_add(const struct exchange_bucket *bucket, void *slot, float *restrict sum)
{
    if (bucket->wire) {
        struct wire_head *head = slot;
        exchange_half_add(halves(head), bucket->count, head->exponent, sum);
        return;
    }
    const float *restrict x = slot;
    for (size_t i = 0; i < bucket->count; i++) {
        sum[i] += x[i];
    }
}

// ---- results ------------------------------------------------------------------------------------

static enum stn_status ask(struct exchange *exchange, struct exchange_bucket *bucket)
{
    exchange->asked++;
    void *to = bucket->wire ? bucket->wire : bucket->data;
    return comm_receive_begin(exchange->comm, bucket->owner, TAG_RESULT, to, wire_bytes(bucket),
                              &bucket->receive);
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
            unpack(bucket);
            continue;
        }
        for (int peer = 0; peer < exchange->nodes - 1 && status == STN_OK; peer++) {
            status = comm_transfer_finish(comm, &bucket->sends[peer]);
        }
    }
    return status;
}

// ---- contributions ------------------------------------------------------------------------------

// Contributions arriving in rank order, a few ahead: number i is that of the i-th other node.
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
                              exchange->slots[slot], wire_bytes(bucket),
                              &arrivals->transfers[slot]);
}

static enum stn_status arrivals_begin(struct arrivals *arrivals)
{
    enum stn_status status = STN_OK;
    int others = arrivals->bucket->exchange->nodes - 1;
    while (arrivals->begun < others && arrivals->begun < EXCHANGE_AHEAD && status == STN_OK) {
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

static enum stn_status reduce(struct exchange *exchange, struct exchange_bucket *bucket)
{
    struct arrivals arrivals = {.bucket = bucket};
    enum stn_status status = arrivals_begin(&arrivals);
    for (int i = 0; i < exchange->nodes - 1 && status == STN_OK; i++) {
        int slot = i % EXCHANGE_AHEAD;
        status = comm_transfer_finish(exchange->comm, &arrivals.transfers[slot]);
        if (status != STN_OK) {
            break;
        }
        if (i == 0 && exchange->rank > 0) {
            sum_copy(bucket, exchange->slots[slot], exchange->sum);
        } else {
            sum_add(bucket, exchange->slots[slot],
                    i < exchange->rank ? exchange->sum : bucket->data);
        }
        if (i == exchange->rank - 1) {
            add_own(exchange, bucket);
        }
        if (arrivals.begun < exchange->nodes - 1) {
            status = arrival_begin(&arrivals);
        }
    }
    return status;
}

static enum stn_status send_results(struct exchange *exchange, struct exchange_bucket *bucket)
{
    void *data = pack(bucket);
    unpack(bucket); // what was rounded for the others is rounded here too
    enum stn_status status = STN_OK;
    for (int i = 0; i < exchange->nodes - 1 && status == STN_OK; i++) {
        status = comm_send_begin(exchange->comm, other_node(exchange, i), TAG_RESULT, bucket->kind,
                                 data, wire_bytes(bucket), &bucket->sends[i]);
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
                               pack(bucket), wire_bytes(bucket), bucket->sends);
    }
    status = reduce(exchange, bucket);
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
