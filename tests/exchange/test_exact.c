// SPDX-License-Identifier: Apache-2.0
// Exact sums: whoever has which micro-batches, and however they are kept, the bits are the same.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "comm/nodes.h"
#include "exchange/exchange.h"

// More gradients than are taken at once.
enum { GRADIENTS = 150001, STATISTICS = 37, ALL = GRADIENTS + STATISTICS, STEPS = 3 };

struct trial {
    int nodes;
    const int (*splits)[NODES_MAX]; // [STEPS] micro-batches of each node
    bool in_parts;                  // gradients become final bit by bit
    enum stn_status status[NODES_MAX];
    float *result[NODES_MAX]; // [STEPS][ALL]
};

// Twenty bits of sign and fraction, within 2^20 of each other: their sums depend on the order in
// float.
static float value_of(int step, int micro_batch, size_t i)
{
    uint32_t h = (uint32_t)(i * 2654435761U) ^ (uint32_t)(micro_batch * 40503 + step * 9973 + 17);
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    return ((float)(h & 0xfffff) - 524288.0F) * ldexpf(1, (int)(h >> 20) % 20 - 30);
}

static void micro_batch_run(const struct trial *trial, struct exchange *exchange, float *values,
                            int step, int micro_batch, bool last)
{
    for (size_t i = ALL; i-- > 0;) {
        values[i] += value_of(step, micro_batch, i);
        if (trial->in_parts && i < GRADIENTS && i % 5003 == 0) {
            last ? exchange_ready(exchange, i) : exchange_keep_from(exchange, i);
        }
    }
    if (!last) {
        exchange_keep(exchange);
    }
}

static enum stn_status step_run(const struct trial *trial, struct exchange *exchange, float *values,
                                int rank, int step)
{
    const int *split = trial->splits[step];
    int first = 0;
    for (int i = 0; i < rank; i++) {
        first += split[i];
    }
    memset(values, 0, ALL * sizeof(*values));
    exchange_begin(exchange);
    for (int k = 0; k < split[rank]; k++) {
        micro_batch_run(trial, exchange, values, step, first + k, k == split[rank] - 1);
    }
    return exchange_finish(exchange);
}

static void body(struct comm *comm, void *context)
{
    struct trial *trial = context;
    int rank = comm_rank(comm);
    float *values = calloc(ALL, sizeof(*values));
    struct exchange_config config = {.comm = comm,
                                     .gradients = values,
                                     .gradient_count = GRADIENTS,
                                     .statistics = values + GRADIENTS,
                                     .statistic_count = STATISTICS,
                                     .exact = true,
                                     .bucket_bytes = 60000};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    for (int step = 0; step < STEPS && status == STN_OK; step++) {
        status = step_run(trial, exchange, values, rank, step);
        memcpy(trial->result[rank] + step * ALL, values, ALL * sizeof(*values));
    }
    trial->status[rank] = status;
    exchange_destroy(exchange);
    free(values);
}

static struct trial *trial_run(int nodes, const int (*splits)[NODES_MAX], bool in_parts)
{
    struct trial *trial = calloc(1, sizeof(*trial));
    assert_non_null(trial);
    *trial = (struct trial){.nodes = nodes, .splits = splits, .in_parts = in_parts};
    for (int i = 0; i < nodes; i++) {
        trial->result[i] = calloc((size_t)STEPS * ALL, sizeof(float));
        assert_non_null(trial->result[i]);
    }
    nodes_run(nodes, 60, body, trial);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(trial->status[i], STN_OK);
    }
    return trial;
}

static void trial_free(struct trial *trial)
{
    for (int i = 0; i < trial->nodes; i++) {
        free(trial->result[i]);
    }
    free(trial);
}

static const int alone[STEPS][NODES_MAX] = {{8}, {8}, {8}};

static void check_against_one(int nodes, const int (*splits)[NODES_MAX], bool in_parts)
{
    struct trial *one = trial_run(1, alone, !in_parts), *many = trial_run(nodes, splits, in_parts);
    for (int i = 0; i < nodes; i++) {
        assert_memory_equal(many->result[i], one->result[0], (size_t)STEPS * ALL * sizeof(float));
    }
    trial_free(one);
    trial_free(many);
}

static void test_one_node_is_right(void **state)
{
    (void)state;
    struct trial *one = trial_run(1, alone, true);
    for (size_t i = 0; i < ALL; i++) {
        double sum = 0;
        for (int k = 0; k < 8; k++) {
            sum += value_of(2, k, i);
        }
        float wanted = (float)sum;
        assert_memory_equal(&one->result[0][2 * ALL + i], &wanted, sizeof(wanted));
    }
    trial_free(one);
}

static void test_splits(void **state)
{
    (void)state;
    static const int three[STEPS][NODES_MAX] = {{5, 2, 1}, {0, 8, 0}, {1, 1, 6}};
    static const int four[STEPS][NODES_MAX] = {{6, 1, 1, 0}, {2, 2, 2, 2}, {1, 0, 0, 7}};
    check_against_one(3, three, true);
    check_against_one(3, three, false);
    check_against_one(4, four, true);
}

// More contributions than arrive ahead of being added.
static void test_many_nodes(void **state)
{
    (void)state;
    static const int eight[STEPS][NODES_MAX] = {
        {1, 1, 1, 1, 1, 1, 1, 1}, {2, 0, 2, 0, 2, 0, 2, 0}, {0, 0, 3, 0, 0, 4, 1, 0}};
    check_against_one(8, eight, true);
}

enum { SHORT_STEPS = 60 };

struct times {
    double seconds[2];
    struct exchange_stats stats[2];
    enum stn_status status[2];
};

static void short_steps(struct comm *comm, void *context)
{
    struct times *times = context;
    int rank = comm_rank(comm);
    float values[2] = {0};
    struct exchange_config config = {.comm = comm,
                                     .gradients = values,
                                     .gradient_count = 1,
                                     .statistics = values + 1,
                                     .statistic_count = 1,
                                     .exact = true};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    for (int step = 0; step < SHORT_STEPS && status == STN_OK; step++) {
        exchange_begin(exchange);
        exchange_keep(exchange);
        double begin = base_clock_seconds();
        status = exchange_finish(exchange);
        times->seconds[rank] += base_clock_seconds() - begin;
    }
    times->status[rank] = status;
    times->stats[rank] = exchange_stats(exchange);
    exchange_destroy(exchange);
}

// What was exposed is part of what every node spent; and no step counts in those after it.
static void test_exposed_seconds(void **state)
{
    (void)state;
    struct times times = {0};
    nodes_run(2, 60, short_steps, &times);
    for (int i = 0; i < 2; i++) {
        const struct exchange_stats *stats = &times.stats[i];
        assert_int_equal(times.status[i], STN_OK);
        assert_true(stats->exposed_median_seconds > 0);
        assert_true(stats->exposed_median_seconds <= stats->exposed_p90_seconds);
        assert_true(stats->exposed_p90_seconds <= stats->exposed_seconds);
        assert_true(stats->exposed_seconds + stats->wait_seconds <= times.seconds[i] * (1 + 1e-6));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_node_is_right),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_exposed_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
