// SPDX-License-Identifier: Apache-2.0
// Exchanging gradients allocates nothing after the first time, on no node and on no thread.
#include "cmocka_all.h"
#include "comm/nodes.h"
#include "counter.h"
#include "exchange/exchange.h"

enum { COUNT = 5000, STATISTICS = 100, ROUNDS = 8 };

struct trial {
    enum exchange_wire wire;
    enum stn_status status[NODES_MAX];
};

// When node 0 has finished one exchange all nodes have begun it, and so have their threads.
static void exchange_body(struct comm *comm, void *context)
{
    struct trial *trial = context;
    float gradients[COUNT] = {0}, statistics[STATISTICS] = {0};
    struct exchange_config config = {.comm = comm,
                                     .gradients = gradients,
                                     .gradient_count = COUNT,
                                     .statistics = statistics,
                                     .statistic_count = STATISTICS,
                                     .wire = trial->wire,
                                     .bucket_bytes = 2000};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    for (int round = 0; round < ROUNDS && status == STN_OK; round++) {
        comm_set_phase(comm, round, "exchanging gradients");
        exchange_begin(exchange);
        exchange_ready(exchange, COUNT / 2);
        status = exchange_finish(exchange);
        if (comm_rank(comm) == 0 && round == 0) {
            counter_start();
        }
    }
    if (comm_rank(comm) == 0) {
        counter_stop();
    }
    trial->status[comm_rank(comm)] = status;
    exchange_destroy(exchange);
}

static void allocates_nothing(enum exchange_wire wire)
{
    struct trial trial = {.wire = wire};
    counter_clear();
    nodes_run(4, 60, exchange_body, &trial);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(trial.status[i], STN_OK);
    }
    assert_int_equal(counter_own(), 0);
}

static void test_fp32(void **state)
{
    (void)state;
    allocates_nothing(EXCHANGE_FP32);
}

static void test_fp16(void **state)
{
    (void)state;
    allocates_nothing(EXCHANGE_FP16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fp32), cmocka_unit_test(test_fp16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
