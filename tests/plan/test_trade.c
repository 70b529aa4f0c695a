// SPDX-License-Identifier: Apache-2.0
// What nodes make of the rest of a step: against trying everything, and worked examples.
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "plan/trade.h"

enum { NODES_MAX = 4, CASES = 5000 };

static struct plan_trade_node node_at(int planned, double each_s)
{
    int mark = plan_trade_mark(planned);
    return (struct plan_trade_node){.planned = planned,
                                    .kept = plan_trade_kept(planned),
                                    .most = 1000,
                                    .done = mark,
                                    .seconds = mark * each_s};
}

static void trade(const struct plan_trade_node nodes[], int count, int after[])
{
    struct plan_node scratch[NODES_MAX];
    struct plan_offer heap[NODES_MAX];
    plan_trade(nodes, count, scratch, heap, after);
}

static double each_of(const struct plan_trade_node *node)
{
    return node->seconds / node->done;
}

static double latest(const struct plan_trade_node nodes[], const int split[], int count)
{
    double most = 0.0;
    for (int i = 0; i < count; i++) {
        most = fmax(most, each_of(&nodes[i]) * split[i]);
    }
    return most;
}

static double try_all(const struct plan_trade_node nodes[], int count, int left)
{
    if (count == 0) {
        return left == 0 ? 0.0 : INFINITY;
    }
    double best = INFINITY;
    const struct plan_trade_node *last = &nodes[count - 1];
    for (int m = last->kept; m <= left && m <= last->most; m++) {
        best = fmin(best, fmax(each_of(last) * m, try_all(nodes, count - 1, left - m)));
    }
    return best;
}

static void test_marks_come_before_limits(void **state)
{
    (void)state;
    for (int planned = 0; planned < 1000; planned++) {
        int mark = plan_trade_mark(planned), kept = plan_trade_kept(planned);
        if (plan_trade_takes_part(planned)) {
            assert_true(0 < mark && mark < kept && kept < planned);
            assert_true(mark >= 0.75 * planned &&
                        mark < 0.75 * planned + 1); // as decision 22 has it
        } else {
            assert_true(mark == 0 && kept == planned && planned < 10);
        }
    }
}

// As good as any, or as planned where that is within a hundredth of it.
static void test_no_other_trade_is_better(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    int traded = 0;
    for (int n = 0; n < CASES; n++) {
        struct plan_trade_node nodes[NODES_MAX];
        int count = 1 + (int)base_random_below(&random, NODES_MAX), after[NODES_MAX], sum = 0;
        int planned[NODES_MAX];
        for (int i = 0; i < count; i++) {
            planned[i] = 8 + (int)base_random_below(&random, 12);
            nodes[i] = node_at(planned[i], (0.8 + 0.4 * base_random_unit(&random)) / planned[i]);
            nodes[i].most = planned[i] + (int)base_random_below(&random, 4);
            nodes[i].kept += base_random_below(&random, 4) == 0 ? planned[i] - nodes[i].kept : 0;
            sum += planned[i];
        }
        trade(nodes, count, after);
        int total = 0;
        for (int i = 0; i < count; i++) {
            assert_in_range(after[i], nodes[i].kept, nodes[i].most);
            total += after[i];
        }
        assert_int_equal(total, sum);
        double best = try_all(nodes, count, sum), now = latest(nodes, after, count);
        double before = latest(nodes, planned, count);
        bool same = memcmp(after, planned, (size_t)count * sizeof(*after)) == 0;
        assert_true(same ? best > 0.989 * before
                         : now <= best * (1 + 1e-12) && now < 0.991 * before);
        traded += !same;
    }
    assert_true(traded > CASES / 4);
}

static void test_a_late_node_gives_to_an_early_one(void **state)
{
    (void)state;
    // A second a step, but for a node that is 20 % late: 40 micro-batches, of which it may give 3.
    const struct plan_trade_node nodes[] = {node_at(40, 1.2 / 40), node_at(40, 1.0 / 40),
                                            node_at(20, 1.0 / 20)};
    int after[3];
    trade(nodes, 3, after);
    assert_memory_equal(after, ((const int[]){37, 42, 21}), sizeof(after));
}

static void test_small_differences_are_let_be(void **state)
{
    (void)state;
    const struct plan_trade_node nodes[] = {node_at(200, 1.008 / 200), node_at(200, 1.0 / 200)};
    int after[2];
    trade(nodes, 2, after);
    assert_memory_equal(after, ((const int[]){200, 200}), sizeof(after));
}

// Without a figure, without work, with too little of it, or with a clock that makes no sense.
static void test_who_does_not_tell_keeps_what_it_has(void **state)
{
    (void)state;
    const double amiss[] = {0.0, -1.0, NAN, INFINITY};
    for (size_t k = 0; k < sizeof(amiss) / sizeof(amiss[0]); k++) {
        struct plan_trade_node nodes[] = {node_at(40, 1.4 / 40), node_at(40, 1.0 / 40),
                                          node_at(3, 0.5), node_at(30, 1.0)};
        int after[4];
        nodes[3].seconds = amiss[k];
        trade(nodes, 4, after);
        assert_int_equal(after[2], 3);
        assert_int_equal(after[3], 30);
        assert_true(after[0] < 40 && after[0] + after[1] == 80);
        nodes[3] = (struct plan_trade_node){0};
        trade(nodes, 4, after);
        assert_int_equal(after[3], 0);
    }
}

static void test_every_gift_has_one_taker(void **state)
{
    (void)state;
    const int planned[] = {10, 12, 9, 20}, after[] = {13, 9, 11, 18};
    const struct plan_trade_gift wanted[2][3] = {{{1, 9}, {1, 10}, {1, 11}}, {{3, 18}, {3, 19}}};
    for (int i = 0; i < 3; i++) {
        struct plan_trade_gift gift = plan_trade_find(planned, after, 4, 0, i);
        assert_memory_equal(&gift, &wanted[0][i], sizeof(gift));
    }
    for (int i = 0; i < 2; i++) {
        struct plan_trade_gift gift = plan_trade_find(planned, after, 4, 2, i);
        assert_memory_equal(&gift, &wanted[1][i], sizeof(gift));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_come_before_limits),
        cmocka_unit_test(test_no_other_trade_is_better),
        cmocka_unit_test(test_a_late_node_gives_to_an_early_one),
        cmocka_unit_test(test_small_differences_are_let_be),
        cmocka_unit_test(test_who_does_not_tell_keeps_what_it_has),
        cmocka_unit_test(test_every_gift_has_one_taker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
