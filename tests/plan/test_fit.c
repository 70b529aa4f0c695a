// SPDX-License-Identifier: Apache-2.0
// The fit on made-up nodes whose line is known: quiet, noisy, disturbed now and then, disturbed for
// good. Measured as the tuner does it: ask for the next m, until it has enough.
#include "base/random.h"
#include "near.h"
#include "plan/fit.h"

enum { RUNS = 300 };

static const struct plan_line truth = {.fixed_s = 0.012, .each_s = 0.040};

// What other programs do to a measurement: it takes `factor` times longer.
typedef double disturb(struct base_random *random, int sample, int micro_batches);

static double quiet(struct base_random *random, int sample, int micro_batches)
{
    (void)random, (void)sample, (void)micro_batches;
    return 1.0;
}

static double spikes(struct base_random *random, int sample, int micro_batches)
{
    (void)sample, (void)micro_batches;
    return base_random_unit(random) < 0.15 ? 1.5 + 4.0 * base_random_unit(random) : 1.0;
}

static double bimodal(struct base_random *random, int sample, int micro_batches)
{
    (void)sample, (void)micro_batches;
    return base_random_unit(random) < 0.45 ? 1.8 : 1.0;
}

static double half_way(struct base_random *random, int sample, int micro_batches)
{
    (void)random, (void)micro_batches;
    return sample < 5 ? 1.0 : 2.0;
}

static double largest_only(struct base_random *random, int sample, int micro_batches)
{
    (void)random, (void)sample;
    return micro_batches == 8 ? 1.5 : 1.0;
}

static struct plan_fit measure(struct base_random *random, double noise, disturb *factor)
{
    struct plan_sample samples[PLAN_FIT_SAMPLES_MAX] = {0};
    struct plan_fit fit;
    int count = 0;
    plan_fit_samples(samples, 0, &plan_fit_defaults, &fit);
    while (fit.verdict == PLAN_FIT_MORE) {
        assert_in_range(fit.next, 1, 8);
        double seconds = plan_line_seconds(&truth, fit.next) * factor(random, count, fit.next) *
                         (1.0 + noise * base_random_normal(random));
        samples[count++] = (struct plan_sample){.micro_batches = fit.next, .seconds = seconds};
        plan_fit_samples(samples, count, &plan_fit_defaults, &fit);
        assert_true(fit.line.fixed_s >= 0.0 && fit.line.each_s > 0.0);
        assert_int_equal(fit.samples, count);
    }
    assert_int_equal(fit.next, 0);
    assert_true((fit.why == NULL) == (fit.verdict == PLAN_FIT_GOOD));
    return fit;
}

static void test_exact_samples_give_the_line(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    struct plan_fit fit = measure(&random, 0.0, quiet);
    assert_int_equal(fit.verdict, PLAN_FIT_GOOD);
    assert_int_equal(fit.samples, 9); // 3 each of 3: it stops as soon as it can
    assert_near(fit.line.fixed_s, truth.fixed_s);
    assert_near(fit.line.each_s, truth.each_s);
    assert_int_equal(fit.outliers, 0);
}

// Error bars are honest: the truth is within two of them about as often as it should be.
static void test_noise_and_error_bars(void **state)
{
    (void)state;
    struct base_random random = base_random_from(2);
    int within = 0;
    for (int n = 0; n < RUNS; n++) {
        struct plan_fit fit = measure(&random, 0.02, quiet);
        assert_int_equal(fit.verdict, PLAN_FIT_GOOD);
        double expected_s = plan_line_seconds(&truth, 8);
        assert_within(plan_line_seconds(&fit.line, 8), expected_s, 0.05);
        within +=
            fabs(plan_line_seconds(&fit.line, 8) - expected_s) <= 2 * plan_fit_error_s(&fit, 8);
        assert_true(plan_fit_error_s(&fit, 8) <= 0.02 * plan_line_seconds(&fit.line, 8));
        assert_true(plan_fit_error_s(&fit, 64) > plan_fit_error_s(&fit, 8));
    }
    assert_in_range(within, RUNS * 87 / 100, RUNS);
}

static void test_spikes_do_not_poison(void **state)
{
    (void)state;
    struct base_random random = base_random_from(3);
    int good = 0;
    for (int n = 0; n < RUNS; n++) {
        struct plan_fit fit = measure(&random, 0.01, spikes);
        good += fit.verdict == PLAN_FIT_GOOD;
        if (fit.verdict == PLAN_FIT_GOOD) {
            assert_within(plan_line_seconds(&fit.line, 8), plan_line_seconds(&truth, 8), 0.04);
        }
    }
    assert_true(good > RUNS * 95 / 100);
}

static void test_disturbed_half_of_the_time(void **state)
{
    (void)state;
    struct base_random random = base_random_from(4);
    int unsure = 0, wrong = 0;
    for (int n = 0; n < RUNS; n++) {
        struct plan_fit fit = measure(&random, 0.01, bimodal);
        double off = plan_line_seconds(&fit.line, 8) / plan_line_seconds(&truth, 8) - 1.0;
        unsure += fit.verdict == PLAN_FIT_UNSURE;
        wrong += fit.verdict == PLAN_FIT_GOOD && fabs(off) > 0.05;
    }
    assert_true(wrong <= RUNS / 100); // all of the first were disturbed: nothing can tell
    assert_true(unsure > RUNS * 80 / 100);
}

// Whether it is as slow as now or as fast as before, nobody can know.
static void test_change_while_measuring(void **state)
{
    (void)state;
    struct base_random random = base_random_from(5);
    for (int n = 0; n < RUNS; n++) {
        assert_int_equal(measure(&random, 0.01, half_way).verdict, PLAN_FIT_UNSURE);
    }
}

static void test_not_a_line(void **state)
{
    (void)state;
    struct base_random random = base_random_from(6);
    for (int n = 0; n < RUNS; n++) {
        struct plan_fit fit = measure(&random, 0.005, largest_only);
        assert_int_equal(fit.verdict, PLAN_FIT_UNSURE);
    }
}

static void test_too_noisy(void **state)
{
    (void)state;
    struct base_random random = base_random_from(7);
    int unsure = 0;
    for (int n = 0; n < RUNS; n++) {
        unsure += measure(&random, 0.2, quiet).verdict == PLAN_FIT_UNSURE;
    }
    assert_true(unsure > RUNS * 98 / 100);
}

// What is known of the fixed part makes far predictions better, from the same few samples.
static void test_a_known_fixed_part(void **state)
{
    (void)state;
    enum { PLACES = 3 };
    static const int places[PLACES] = {1, 4, 8};
    static const struct plan_line small = {.fixed_s = 0.002, .each_s = 0.040};
    struct base_random random = base_random_from(8);
    struct plan_fit_options knowing = plan_fit_defaults;
    knowing.fixed_s = 1.2 * small.fixed_s; // not quite
    knowing.fixed_error_s = 0.5 * small.fixed_s;
    double far_s = plan_line_seconds(&small, 64), errors[2] = {0.0};
    for (int n = 0; n < RUNS; n++) {
        struct plan_sample samples[3 * PLACES];
        struct plan_fit fit;
        for (int i = 0; i < 3 * PLACES; i++) {
            int m = places[i % PLACES];
            double noise = 0.04 * base_random_normal(&random);
            samples[i] = (struct plan_sample){m, plan_line_seconds(&small, m) * (1.0 + noise)};
        }
        plan_fit_samples(samples, 3 * PLACES, &plan_fit_defaults, &fit);
        errors[0] += fabs(plan_line_seconds(&fit.line, 64) / far_s - 1.0) / RUNS;
        plan_fit_samples(samples, 3 * PLACES, &knowing, &fit);
        errors[1] += fabs(plan_line_seconds(&fit.line, 64) / far_s - 1.0) / RUNS;
    }
    assert_true(errors[1] < 0.02);
    assert_true(errors[1] < 0.8 * errors[0]);
}

static void test_too_few(void **state)
{
    (void)state;
    const struct plan_sample samples[] = {{4, 0.2}, {4, 0.22}, {1, 0.07}, {8, 0.41}};
    struct plan_fit fit;
    plan_fit_samples(samples, 0, &plan_fit_defaults, &fit);
    assert_true(fit.verdict == PLAN_FIT_MORE && fit.next == 1);
    plan_fit_samples(samples, 1, &plan_fit_defaults, &fit);
    assert_true(fit.verdict == PLAN_FIT_MORE && fit.next == 1);
    assert_true(fit.line.fixed_s == 0.0);
    assert_near(fit.line.each_s, 0.05);
    plan_fit_samples(samples, 4, &plan_fit_defaults, &fit);
    assert_int_equal(fit.verdict, PLAN_FIT_MORE);
    assert_string_equal(fit.why, "too few measurements");
    assert_int_equal(fit.next, 1); // in turns
}

// Samples whose best line would start below 0, or fall.
static void test_bounds_hold(void **state)
{
    (void)state;
    const struct plan_sample below[] = {{1, 0.05}, {1, 0.05}, {4, 0.4}, {4, 0.4}, {8, 0.85}};
    const struct plan_sample falling[] = {{1, 0.5}, {4, 0.4}, {8, 0.3}};
    struct plan_fit fit;
    plan_fit_samples(below, 5, &plan_fit_defaults, &fit);
    assert_true(fit.line.fixed_s == 0.0 && fit.line.each_s > 0.0);
    plan_fit_samples(falling, 3, &plan_fit_defaults, &fit);
    assert_true(fit.line.fixed_s == 0.0 && fit.line.each_s > 0.0);
    assert_int_not_equal(fit.verdict, PLAN_FIT_GOOD);
}

static void test_many_samples_the_last_count(void **state)
{
    (void)state;
    static struct plan_sample samples[3 * PLAN_FIT_SAMPLES_MAX];
    for (int i = 0; i < 3 * PLAN_FIT_SAMPLES_MAX; i++) {
        double slower = i < 2 * PLAN_FIT_SAMPLES_MAX ? 3.0 : 1.0;
        samples[i].micro_batches = (int[]){1, 4, 8}[i % 3];
        samples[i].seconds = slower * plan_line_seconds(&truth, samples[i].micro_batches);
    }
    struct plan_fit fit;
    plan_fit_samples(samples, 3 * PLAN_FIT_SAMPLES_MAX, &plan_fit_defaults, &fit);
    assert_int_equal(fit.verdict, PLAN_FIT_GOOD);
    assert_near(fit.line.each_s, truth.each_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_samples_give_the_line),
        cmocka_unit_test(test_noise_and_error_bars),
        cmocka_unit_test(test_spikes_do_not_poison),
        cmocka_unit_test(test_disturbed_half_of_the_time),
        cmocka_unit_test(test_change_while_measuring),
        cmocka_unit_test(test_not_a_line),
        cmocka_unit_test(test_too_noisy),
        cmocka_unit_test(test_a_known_fixed_part),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_bounds_hold),
        cmocka_unit_test(test_many_samples_the_last_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
