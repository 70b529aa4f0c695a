// SPDX-License-Identifier: Apache-2.0
// Lanes run one call at the same time, meet as often as they like, and see what the others did
// before.
#include "base/lanes.h"

#include "cmocka_all.h"

enum { LANES_MAX = 5, ROUNDS = 200 };

struct relay {
    struct base_lanes *lanes;
    int baton[LANES_MAX]; // each lane's own
    int sum, meetings;    // written between rounds only
    int wrong[LANES_MAX];
};

static void add_up(void *context)
{
    struct relay *r = context;
    r->sum = 0;
    for (int l = 0; l < base_lanes_count(r->lanes); l++) {
        r->sum += r->baton[l];
    }
    r->meetings++;
}

// Each round a lane adds its number; all of them see the same sum before the next round.
static void run_rounds(void *context, int lane)
{
    struct relay *r = context;
    int count = base_lanes_count(r->lanes), each_round = count * (count + 1) / 2;
    for (int round = 1; round <= ROUNDS; round++) {
        r->baton[lane] += lane + 1;
        base_lanes_meet(r->lanes, add_up, r);
        r->wrong[lane] += r->sum != round * each_round;
        base_lanes_meet(r->lanes, NULL, NULL);
    }
}

static void lanes_meet(void **state)
{
    (void)state;
    for (int count = 1; count <= LANES_MAX; count++) {
        struct relay r = {0};
        assert_int_equal(base_lanes_create(count, &r.lanes), STN_OK);
        base_lanes_run(r.lanes, run_rounds, &r);
        assert_int_equal(r.meetings, ROUNDS);
        for (int l = 0; l < count; l++) {
            assert_int_equal(r.wrong[l], 0);
            assert_int_equal(r.baton[l], ROUNDS * (l + 1));
        }
        base_lanes_destroy(r.lanes);
    }
}

static void count_up(void *context, int lane)
{
    int *counts = context;
    counts[lane]++;
}

// What a run wrote is there when it returns, and no lane misses one.
static void runs_follow_each_other(void **state)
{
    (void)state;
    struct base_lanes *lanes;
    int counts[LANES_MAX] = {0};
    assert_int_equal(base_lanes_create(LANES_MAX, &lanes), STN_OK);
    for (int i = 1; i <= ROUNDS; i++) {
        base_lanes_run(lanes, count_up, counts);
        for (int l = 0; l < LANES_MAX; l++) {
            assert_int_equal(counts[l], i);
        }
    }
    base_lanes_destroy(lanes);
}

static void unused_lanes_end(void **state)
{
    (void)state;
    struct base_lanes *lanes;
    assert_int_equal(base_lanes_create(LANES_MAX, &lanes), STN_OK);
    base_lanes_destroy(lanes);
    base_lanes_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_meet),
        cmocka_unit_test(runs_follow_each_other),
        cmocka_unit_test(unused_lanes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
