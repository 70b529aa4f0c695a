// SPDX-License-Identifier: Apache-2.0
// Random lifetimes: no two buffers that live at the same time may share a byte, and the block is
// never larger than everything side by side nor smaller than the busiest moment.
#include "cmocka_all.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "nn/memory_plan.h"

enum { BUFFERS_MAX = 60, TIMES = 40 };

static void fill(struct base_random *random, struct nn_plan_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++) {
        buffers[i].bytes = base_random_below(random, 5000);
        buffers[i].first = (int)base_random_below(random, TIMES);
        buffers[i].last = buffers[i].first + (int)base_random_below(random, 10);
    }
}

static bool overlap(const struct nn_plan_buffer *a, const struct nn_plan_buffer *b)
{
    bool in_time = a->first <= b->last && b->first <= a->last;
    bool in_space = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
    return in_time && in_space;
}

static size_t busiest(const struct nn_plan_buffer *buffers, int count)
{
    size_t most = 0;
    for (int time = 0; time < TIMES + 10; time++) {
        size_t alive = 0;
        for (int i = 0; i < count; i++) {
            alive += buffers[i].first <= time && time <= buffers[i].last ? buffers[i].bytes : 0;
        }
        most = alive > most ? alive : most;
    }
    return most;
}

static void test_random_lifetimes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct base_random random = base_random_from(seed);
        struct nn_plan_buffer buffers[BUFFERS_MAX];
        int count = (int)base_random_below(&random, BUFFERS_MAX);
        fill(&random, buffers, count);
        size_t total = nn_memory_plan(buffers, count), sum = 0;
        for (int i = 0; i < count; i++) {
            assert_int_equal(buffers[i].offset % NN_PLAN_ALIGNMENT, 0);
            assert_true(buffers[i].offset + buffers[i].bytes <= total);
            sum += buffers[i].bytes + NN_PLAN_ALIGNMENT;
            for (int j = 0; j < i; j++) {
                assert_false(overlap(&buffers[i], &buffers[j]));
            }
        }
        assert_true(total >= busiest(buffers, count));
        assert_true(total <= sum);
    }
}

static void test_disjoint_lifetimes_share(void **state)
{
    (void)state;
    struct nn_plan_buffer buffers[] = {
        {.bytes = 1000, .first = 0, .last = 1},
        {.bytes = 900, .first = 2, .last = 3},
        {.bytes = 64, .first = 1, .last = 2},
    };
    assert_int_equal(nn_memory_plan(buffers, 3), 1024 + 64);
    assert_int_equal(buffers[0].offset, 0);
    assert_int_equal(buffers[1].offset, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lifetimes),
        cmocka_unit_test(test_disjoint_lifetimes_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
