// SPDX-License-Identifier: Apache-2.0
// What the nodes end up with is the serial sum in rank order, bit for bit, on all of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/nodes.h"
#include "exchange/exchange.h"
#include "stannis/log.h"

enum { GRADIENTS_MAX = 3000, STATISTICS_MAX = 40, ROUNDS = 3 };

struct trial {
    int nodes;
    size_t gradients, statistics, bucket_bytes;
    enum exchange_wire wire;
    const double *weights;
    enum stn_status status[NODES_MAX];
    float result[NODES_MAX][ROUNDS][GRADIENTS_MAX + STATISTICS_MAX];
    struct comm_traffic traffic[NODES_MAX];
    struct exchange_stats stats[NODES_MAX];
};

// Sums of which depend on their order.
static float value_of(int rank, int round, size_t i)
{
    uint32_t h = (uint32_t)(i * 2654435761U) ^ (uint32_t)(rank * 40503 + round * 9973 + 17);
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    return ((float)(h & 0xffff) - 32768.0F) * ldexpf(1, (int)(h >> 16) % 12 - 18);
}

static float serial_sum(int nodes, int round, size_t i)
{
    float sum = value_of(0, round, i);
    for (int rank = 1; rank < nodes; rank++) {
        sum += value_of(rank, round, i);
    }
    return sum;
}

static enum stn_status one_round(struct trial *trial, struct exchange *exchange, float *values,
                                 int rank, int round)
{
    size_t all = trial->gradients + trial->statistics;
    exchange_begin(exchange);
    for (size_t i = all; i-- > 0;) {
        values[i] = value_of(rank, round, i);
        bool tell = i < trial->gradients && i % (size_t)(7 + 13 * rank) == 0;
        if (tell && rank % 3 != 2) { // some nodes are ready bit by bit, some all at once
            exchange_ready(exchange, i);
        }
    }
    return exchange_finish(exchange);
}

static void exchange_body(struct comm *comm, void *context)
{
    struct trial *trial = context;
    int rank = comm_rank(comm);
    float values[GRADIENTS_MAX + STATISTICS_MAX];
    struct exchange_config config = {.comm = comm,
                                     .gradients = values,
                                     .gradient_count = trial->gradients,
                                     .statistics = values + trial->gradients,
                                     .statistic_count = trial->statistics,
                                     .wire = trial->wire,
                                     .bucket_bytes = trial->bucket_bytes,
                                     .weights = trial->weights};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    for (int round = 0; round < ROUNDS && status == STN_OK; round++) {
        status = one_round(trial, exchange, values, rank, round);
        memcpy(trial->result[rank][round], values, sizeof(values));
    }
    trial->stats[rank] = exchange_stats(exchange);
    trial->traffic[rank] = comm_traffic(comm);
    trial->status[rank] = status;
    exchange_destroy(exchange);
}

static struct trial *trial_run(struct trial what)
{
    struct trial *trial = malloc(sizeof(*trial));
    assert_non_null(trial);
    *trial = what;
    nodes_run(trial->nodes, 60, exchange_body, trial);
    for (int i = 0; i < trial->nodes; i++) {
        assert_int_equal(trial->status[i], STN_OK);
    }
    return trial;
}

static void check_exact(struct trial what)
{
    struct trial *trial = trial_run(what);
    for (int rank = 0; rank < trial->nodes; rank++) {
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < trial->gradients + trial->statistics; i++) {
                float sum = serial_sum(trial->nodes, round, i);
                assert_memory_equal(&trial->result[rank][round][i], &sum, sizeof(sum));
            }
        }
    }
    free(trial);
}

static void test_sum_in_rank_order(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= NODES_MAX; nodes++) {
        check_exact((struct trial){
            .nodes = nodes, .gradients = 2777, .statistics = 33, .bucket_bytes = 1000});
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 249, 250, 251, 3000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_exact((struct trial){
            .nodes = 3, .gradients = sizes[i], .statistics = 0, .bucket_bytes = 1000});
        check_exact((struct trial){.nodes = 2, .gradients = sizes[i], .statistics = 40});
    }
}

static void test_weights(void **state)
{
    (void)state;
    static const double uneven[] = {1.0, 0.25, 0, 0.25}, last[] = {0, 0, 0, 1}, none[4] = {0};
    const double *weights[] = {uneven, last, none};
    for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        check_exact((struct trial){.nodes = 4,
                                   .gradients = 3000,
                                   .statistics = 5,
                                   .bucket_bytes = 512,
                                   .weights = weights[i]});
    }
}

// One node sends each gradient it does not own once, and each it owns to every other.
static void test_traffic(void **state)
{
    (void)state;
    static const double first[] = {1, 0, 0};
    struct trial *trial = trial_run((struct trial){
        .nodes = 3, .gradients = 1000, .statistics = 7, .bucket_bytes = 400, .weights = first});
    assert_int_equal(trial->traffic[0].sent_bytes[COMM_GRADIENTS], ROUNDS * 2 * 4000);
    assert_int_equal(trial->traffic[1].sent_bytes[COMM_GRADIENTS], ROUNDS * 4000);
    assert_int_equal(trial->traffic[2].sent_bytes[COMM_STATISTICS], ROUNDS * (7 + 3) * 4);
    assert_true(trial->stats[0].exposed_seconds > 0);
    assert_true(trial->stats[0].exposed_seconds == trial->stats[1].exposed_seconds);
    free(trial);
}

// Contributions and the result are rounded to 11 bits, relative to the largest of the bucket for
// what is very small beside it.
static void test_half(void **state)
{
    (void)state;
    struct trial *trial = trial_run((struct trial){.nodes = 4,
                                                   .gradients = 2777,
                                                   .statistics = 33,
                                                   .bucket_bytes = 1000,
                                                   .wire = EXCHANGE_FP16});
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < trial->gradients; i++) {
            float bound = 0;
            for (int rank = 0; rank < 4; rank++) {
                bound += fabsf(value_of(rank, round, i));
            }
            float error = fabsf(trial->result[0][round][i] - serial_sum(4, round, i));
            assert_true(error <= bound * ldexpf(1, -10) + 512 * ldexpf(1, -38));
        }
        for (size_t i = trial->gradients; i < trial->gradients + trial->statistics; i++) {
            assert_true(trial->result[0][round][i] == serial_sum(4, round, i));
        }
        for (int rank = 1; rank < 4; rank++) {
            assert_memory_equal(trial->result[rank][round], trial->result[0][round],
                                (trial->gradients + trial->statistics) * sizeof(float));
        }
    }
    assert_true(trial->traffic[1].sent_bytes[COMM_GRADIENTS] < ROUNDS * 2777 * 2 * 2);
    free(trial);
}

// A node that fails between begin and finish takes nobody's memory along, and the others learn it.
static void failing_body(struct comm *comm, void *context)
{
    enum stn_status *statuses = context;
    float values[1000] = {0};
    struct exchange_config config = {
        .comm = comm, .gradients = values, .gradient_count = 1000, .bucket_bytes = 400};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    if (status == STN_OK) {
        exchange_begin(exchange);
        exchange_ready(exchange, 500);
        if (comm_rank(comm) != 1) {
            status = exchange_finish(exchange);
        }
    }
    statuses[comm_rank(comm)] = status;
    exchange_destroy(exchange);
}

static void ignore(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void test_node_that_fails(void **state)
{
    (void)state;
    enum stn_status statuses[3];
    stn_log_set_sink(ignore, NULL);
    nodes_run(3, 60, failing_body, statuses);
    stn_log_set_sink(NULL, NULL);
    assert_int_equal(statuses[0], STN_ERR_NODE_LOST);
    assert_int_equal(statuses[2], STN_ERR_NODE_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_in_rank_order),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_node_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
