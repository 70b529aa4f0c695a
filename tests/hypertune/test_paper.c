// SPDX-License-Identifier: Apache-2.0
// The paper's algorithm on worked examples: the equations, five flags in a row, the three ways to a
// new batch, growth, the range, and the learning rate.
#include <math.h>

#include "cmocka_all.h"
#include "hypertune/paper.h"

enum { NODES = 3, FIRST = 180, STEPS = 1000 };

// A node alone at 180 takes 1 + 0.02·180 = 4.6 s.
static const struct plan_line line = {.fixed_s = 1.0, .each_s = 0.02};

struct run {
    struct hypertune_paper *paper;
    struct hypertune_paper_decision decision;
    double slowdown[NODES], usage[NODES];
    bool silent[NODES];
    double clock_s;
    int64_t step;
};

static struct run run_of(const struct hypertune_paper_options *options)
{
    static const int first[NODES] = {FIRST, FIRST, FIRST};
    struct plan_node nodes[NODES];
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (struct plan_node){.curve.line = {1.0, 0.02}, .floor = 1, .cap = 1000};
    }
    const struct plan_cluster cluster = {.nodes = nodes, .count = NODES, .micro_batch = 1};
    const struct hypertune_paper_config config = {
        .cluster = &cluster, .first = first, .options = *options};
    struct run run = {.slowdown = {1.0, 1.0, 1.0}, .usage = {8.0, 8.0, 8.0}};
    run.decision.split = first;
    assert_int_equal(hypertune_paper_create(&config, &run.paper), STN_OK);
    return run;
}

static void run_step(struct run *run)
{
    struct hypertune_report reports[NODES];
    run->clock_s += 1000.0;
    for (int i = 0; i < NODES; i++) {
        int m = run->decision.split[i];
        double compute_s = run->slowdown[i] * plan_line_seconds(&line, m);
        reports[i] =
            (struct hypertune_report){.step = run->silent[i] ? hypertune_no_step : run->step,
                                      .micro_batches = m,
                                      .compute_s = compute_s,
                                      .cpu_s = run->usage[i] * compute_s,
                                      .clock_s = run->clock_s};
    }
    run->decision =
        hypertune_paper_step(run->paper, run->step, run->step % STEPS + 1, STEPS, reports);
    run->step++;
}

// Steps until the epoch ends.
static int run_until_end(struct run *run, int most)
{
    int steps = 0;
    do {
        run_step(run);
        steps++;
    } while (!run->decision.end_epoch && steps < most);
    return steps;
}

static void run_quietly(struct run *run, int steps)
{
    for (int i = 0; i < steps; i++) {
        run_step(run);
        assert_false(run->decision.end_epoch);
    }
}

static void load(struct run *run, int node, double slowdown)
{
    run->slowdown[node] = slowdown;
    run->usage[node] = 8.0 / slowdown;
}

static void test_decline_index(void **state)
{
    (void)state;
    assert_true(fabs(hypertune_decline_index(0.8, 100.0, 50.0, 0.5) - 0.5) < 1e-12);
    assert_true(fabs(hypertune_decline_index(0.8, 100.0, 100.0, 0.0) - 0.2) < 1e-12);
    assert_true(fabs(hypertune_decline_index(0.8, 100.0, 75.0, 1.0) - 0.2) < 1e-12);
}

static void test_interpolated(void **state)
{
    (void)state;
    const struct plan_point points[] = {{60, 20.0}, {120, 27.0}, {180, 31.0}};
    const struct plan_curve curve = {.points = points, .count = 3};
    // 60·(27−25)/7 + 120·(25−20)/7
    assert_true(fabs(hypertune_batch_interpolated(&curve, 25.0, 500) - 720.0 / 7.0) < 1e-9);
    assert_true(fabs(hypertune_batch_interpolated(&curve, 27.0, 500) - 120.0) < 1e-9);
    assert_true(fabs(hypertune_batch_interpolated(&curve, 10.0, 500) - 30.0) < 1e-9);
    assert_true(fabs(hypertune_batch_interpolated(&curve, 40.0, 500) - 180.0) < 1e-9);
}

static void test_inverse(void **state)
{
    (void)state;
    for (int m = 1; m < 200; m++) {
        double speed = m / plan_line_seconds(&line, m);
        assert_true(fabs(hypertune_batch_inverse(&line, speed, 500) - m) < 1e-6);
    }
    assert_true(hypertune_batch_inverse(&line, 50.0, 500) == 500); // faster than it can be
}

static void test_five_in_a_row(void **state)
{
    (void)state;
    struct hypertune_paper_options options = hypertune_paper_defaults();
    struct run run = run_of(&options);
    run_quietly(&run, 100);
    load(&run, 1, 2.0);
    run_quietly(&run, 4);
    load(&run, 1, 1.0); // one good step between: all over again
    run_quietly(&run, 1);
    load(&run, 1, 2.0);
    run_quietly(&run, 4);
    run_step(&run);
    assert_true(run.decision.end_epoch);
    assert_int_equal(run.decision.node, 1);
    assert_true(run.decision.index > 0.4);
    assert_int_equal(run.decision.split[0], FIRST); // the others keep theirs
    assert_int_equal(run.decision.split[2], FIRST);
    hypertune_paper_destroy(run.paper);
}

// At half the speed: 39.13/2, which the line has at 32.1; but the range ends at a half.
static void test_new_batch(void **state)
{
    (void)state;
    const struct {
        double range_low;
        enum hypertune_rebatch rebatch;
        int expected;
    } cases[] = {
        {0.5, HYPERTUNE_INTERPOLATE, 90}, {0.1, HYPERTUNE_INTERPOLATE, 32},
        {0.5, HYPERTUNE_INVERSE, 90},     {0.1, HYPERTUNE_INVERSE, 32},
        {0.1, HYPERTUNE_CPU, 90}, // half of the CPU, half of the batch
    };
    for (int i = 0; i < 5; i++) {
        struct hypertune_paper_options options = hypertune_paper_defaults();
        options.rebatch = cases[i].rebatch;
        options.range_low = cases[i].range_low;
        struct run run = run_of(&options);
        run_quietly(&run, 20);
        load(&run, 2, 2.0);
        assert_int_equal(run_until_end(&run, 20), 5);
        assert_int_equal(run.decision.split[2], cases[i].expected);
        hypertune_paper_destroy(run.paper);
    }
}

static void test_grows_back_on_freed_cpu(void **state)
{
    (void)state;
    const enum hypertune_rebatch ways[] = {HYPERTUNE_INTERPOLATE, HYPERTUNE_INVERSE, HYPERTUNE_CPU};
    for (int i = 0; i < 3; i++) {
        struct hypertune_paper_options options = hypertune_paper_defaults();
        options.rebatch = ways[i];
        options.scale_learning_rate = true;
        struct run run = run_of(&options);
        run_quietly(&run, 20);
        load(&run, 0, 2.0);
        run_until_end(&run, 20);
        assert_int_equal(run.decision.split[0], 90);
        assert_true(fabs(run.decision.learning_rate - 450.0 / 540.0) < 1e-12);
        for (int k = 0; k < 20; k++) { // as small as it may be: flags change nothing any more
            run_step(&run);
            assert_false(run.decision.end_epoch);
        }
        load(&run, 0, 1.0);
        assert_in_range(run_until_end(&run, 40), 5, 12); // usage is a mean of five
        assert_in_range(run.decision.split[0], 160, FIRST);
        run_until_end(&run, 40);
        assert_true(run.decision.learning_rate > 0.95);
        hypertune_paper_destroy(run.paper);
    }
}

static void test_growth_ends_at_the_range(void **state)
{
    (void)state;
    struct hypertune_paper_options options = hypertune_paper_defaults();
    struct run run = run_of(&options);
    run_quietly(&run, 20);
    load(&run, 0, 1.0 / 3.0);
    run_until_end(&run, 40);
    run_until_end(&run, 40);
    run_until_end(&run, 40);
    assert_int_equal(run.decision.split[0], 270);
    assert_true(run.decision.learning_rate == 1.0); // not asked to follow
    hypertune_paper_destroy(run.paper);
}

static void test_missing_reports_are_no_flags(void **state)
{
    (void)state;
    struct hypertune_paper_options options = hypertune_paper_defaults();
    struct run run = run_of(&options);
    run_quietly(&run, 20);
    load(&run, 1, 2.0);
    run_quietly(&run, 3);
    run.silent[1] = true;
    run_quietly(&run, 50);
    run.silent[1] = false;
    assert_int_equal(run_until_end(&run, 20), 2);
    hypertune_paper_destroy(run.paper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decline_index),
        cmocka_unit_test(test_interpolated),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_five_in_a_row),
        cmocka_unit_test(test_new_batch),
        cmocka_unit_test(test_grows_back_on_freed_cpu),
        cmocka_unit_test(test_growth_ends_at_the_range),
        cmocka_unit_test(test_missing_reports_are_no_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
