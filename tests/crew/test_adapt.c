// SPDX-License-Identifier: Apache-2.0
// Node 0's judgement, fed with reports as if nodes had told them: bounds, the two policies, what is
// said to whom.
#include "crew/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "crew/trade.h"

enum { NODES = 4, TOTAL = 32, MICRO_BATCH = 8 };

struct bench {
    struct settings settings;
    struct plan_node nodes[NODES];
    struct crew_node_profile about[NODES];
    struct crew_profile profile;
    struct crew_adapt *adapt;
    struct crew_node_report reports[NODES];
    struct crew_verdict *verdict;
    int split[NODES];
    double slowdown[NODES];
    int64_t step;
};

static void bench_open(struct bench *b, enum stn_policy policy, bool measured)
{
    *b = (struct bench){.split = {8, 8, 8, 8}};
    b->verdict = calloc(1, sizeof(*b->verdict) + NODES * sizeof(int));
    assert_non_null(b->verdict);
    for (int i = 0; i < NODES; i++) {
        b->nodes[i] = (struct plan_node){.curve.line = {measured ? 0.05 : 0.0, 0.1}, .cap = 11};
        b->slowdown[i] = 1.0;
    }
    b->nodes[1].floor = 3;
    b->profile = (struct crew_profile){
        .cluster = {.nodes = b->nodes, .count = NODES, .micro_batch = MICRO_BATCH},
        .nodes = b->nodes,
        .about = b->about,
        .measured = measured};
    b->settings = settings_defaults(STN_VERB_TRAIN);
    b->settings.policy = policy;
    b->settings.move_gain = 0.05;
    b->settings.lr = 0.5;
    const struct crew_adapt_config config = {
        .profile = &b->profile, .first = b->split, .settings = &b->settings};
    assert_int_equal(crew_adapt_create(&config, &b->adapt), STN_OK);
}

static void bench_close(struct bench *b)
{
    crew_adapt_destroy(b->adapt);
    free(b->verdict);
}

// One step of an epoch of 100, with the split in force; a new one is in force from the next.
static const struct crew_verdict *bench_step(struct bench *b)
{
    b->step++;
    for (int i = 0; i < NODES; i++) {
        double seconds = (0.05 + 0.1 * b->split[i]) * b->slowdown[i];
        b->reports[i] =
            (struct crew_node_report){.micro_batches = b->split[i],
                                      .vitals = {.step = b->step,
                                                 .micro_batches = b->split[i],
                                                 .compute_s = b->split[i] > 0 ? seconds : 0.0,
                                                 .cpu_s = seconds / b->slowdown[i],
                                                 .clock_s = 100.0 * (double)b->step}};
    }
    memset(b->verdict, 0, sizeof(*b->verdict));
    const struct crew_adapt_moment moment = {
        .step = b->step, .done = b->step, .steps = 100, .left = 500, .split = b->split};
    assert_int_equal(crew_adapt_step(b->adapt, &moment, b->reports, b->verdict), STN_OK);
    if (b->verdict->moved) {
        memcpy(b->split, b->verdict->split, sizeof(b->split));
    }
    return b->verdict;
}

static void check_bounds(const struct bench *b)
{
    int sum = 0;
    for (int i = 0; i < NODES; i++) {
        assert_true(b->split[i] >= b->nodes[i].floor && b->split[i] <= b->nodes[i].cap);
        sum += b->split[i];
    }
    assert_int_equal(sum, TOTAL);
}

static void bounds_hold_and_the_batch_stays(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, STN_POLICY_BALANCED, true);
    b.slowdown[1] = 10.0; // would have less than its private data take
    b.slowdown[2] = 0.2;  // would have more than it may
    for (int k = 0; k < 12; k++) {
        const struct crew_verdict *verdict = bench_step(&b);
        assert_false(verdict->end_epoch);
        check_bounds(&b);
    }
    assert_int_equal(b.split[1], 3);
    assert_int_equal(b.split[2], 11);
    assert_true(fabs(crew_adapt_nodes(b.adapt)[1].slowdown - 10.0) < 0.5);
    bench_close(&b);
}

// Guessed speeds are wrong by a factor that three steps tell; nobody is slow for it.
static void guesses_are_measured_first(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, STN_POLICY_BALANCED, false);
    for (int i = 0; i < NODES; i++) {
        b.slowdown[i] = 30.0;
    }
    b.slowdown[3] = 60.0; // a slower kind of processor
    for (int k = 0; k < 3; k++) {
        assert_false(bench_step(&b)->moved);
    }
    bench_step(&b);
    check_bounds(&b);
    assert_true(b.split[3] < 6);
    assert_true(fabs(crew_adapt_nodes(b.adapt)[3].slowdown - 1.0) < 0.1);
    bench_close(&b);
}

struct told {
    int slowed, recovered, moved, lasting;
    int64_t lost;
};

static void on_change(void *context, const struct stn_train_change *change)
{
    struct told *told = context;
    told->slowed += change->kind == STN_CHANGE_SLOWED;
    told->recovered += change->kind == STN_CHANGE_RECOVERED;
    told->moved += change->kind == STN_CHANGE_SPLIT;
    told->lasting += change->kind == STN_CHANGE_LASTING;
    told->lost += change->lost_samples;
    assert_non_null(change->before);
    assert_non_null(change->after);
    assert_true(change->kind == STN_CHANGE_SPLIT || change->cause != NULL);
}

// Every change is told once, in the step in which it was found.
static void changes_are_told_once(void **state)
{
    (void)state;
    struct bench b;
    struct told told = {0};
    const struct stn_train_observer observer = {.context = &told, .change = on_change};
    bench_open(&b, STN_POLICY_BALANCED, true);
    for (int k = 1; k <= 40; k++) {
        b.slowdown[0] = k >= 10 && k < 20 ? 3.0 : 1.0;
        b.slowdown[2] = k >= 30 ? 2.0 : 1.0;
        bench_step(&b);
        crew_adapt_tell(b.adapt, &observer);
    }
    crew_adapt_tell_end(b.adapt, &observer);
    assert_int_equal(told.slowed, 2);
    assert_int_equal(told.recovered, 1);
    assert_int_equal(told.lasting, 1);
    assert_true(told.moved >= 3);
    const struct stn_train_observer deaf = {0};
    crew_adapt_tell(b.adapt, &deaf);
    crew_adapt_tell_end(b.adapt, &deaf);
    bench_close(&b);
}

static void the_paper_changes_the_batch(void **state)
{
    (void)state;
    struct bench b;
    struct told told = {0};
    const struct stn_train_observer observer = {.context = &told, .change = on_change};
    bench_open(&b, STN_POLICY_HYPERTUNE, true);
    for (int k = 1; k <= 10; k++) {
        b.slowdown[2] = k >= 3 ? 4.0 : 1.0;
        const struct crew_verdict *verdict = bench_step(&b);
        crew_adapt_tell(b.adapt, &observer);
        assert_int_equal(verdict->end_epoch, k == 7); // five flags
        if (k == 7) {
            assert_int_equal(b.split[0], 8);
            assert_true(b.split[2] >= 4 && b.split[2] < 8);
            assert_int_equal(verdict->batch, (24 + b.split[2]) * MICRO_BATCH);
            assert_true(verdict->lr == 0.5); // --lr-scale none
        }
    }
    assert_int_equal(told.moved, 1);
    assert_int_equal(told.lost, 500);
    assert_int_equal(told.slowed, 1);
    bench_close(&b);
}

// Where the user does not say what moving work must gain: with trades, which even out small
// differences, more than without.
static void trades_ask_for_a_larger_gain(void **state)
{
    (void)state;
    struct settings settings = settings_defaults(STN_VERB_TRAIN);
    settings.policy = STN_POLICY_BALANCED;
    assert_true(isnan(settings.move_gain));
    assert_true(crew_move_gain(&settings) == 0.05);
    settings.trade = false;
    assert_true(crew_move_gain(&settings) == 0.03);
    settings.trade = true;
    settings.policy = STN_POLICY_STATIC;
    assert_true(crew_move_gain(&settings) == 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_and_the_batch_stays),
        cmocka_unit_test(guesses_are_measured_first),
        cmocka_unit_test(changes_are_told_once),
        cmocka_unit_test(the_paper_changes_the_batch),
        cmocka_unit_test(trades_ask_for_a_larger_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
