// SPDX-License-Identifier: Apache-2.0
// The detector on made-up traces: how many samples a change takes to be found, what level it finds,
// and what must not be taken for a change.
#include <math.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "hypertune/detect.h"

enum { SEEDS = 200, QUIET = 40, MICRO_BATCHES = 8 };

struct trace {
    struct hypertune_detect detect;
    struct hypertune_detect_options options;
    struct base_random random;
    double noise;
};

static struct trace trace_of(uint64_t seed, double noise)
{
    struct trace t = {
        .options = hypertune_detect_defaults(), .random = base_random_from(seed), .noise = noise};
    hypertune_detect_init(&t.detect, 1.0, 8.0);
    return t;
}

static int feed(struct trace *t, double slowdown)
{
    double sample = slowdown * exp(t->noise * base_random_normal(&t->random));
    return hypertune_detect_add(&t->detect, &t->options, sample, MICRO_BATCHES);
}

static int feed_many(struct trace *t, double slowdown, int samples)
{
    int changes = 0;
    for (int i = 0; i < samples; i++) {
        changes += feed(t, slowdown) > 0;
    }
    return changes;
}

// Samples until a change is found.
static int delay_of(struct trace *t, double slowdown, int most)
{
    int samples = 1;
    while (feed(t, slowdown) == 0 && samples < most) {
        samples++;
    }
    return samples;
}

static void assert_level(const struct trace *t, double expected, double tolerance)
{
    double slowdown = hypertune_detect_slowdown(&t->detect);
    if (fabs(slowdown / expected - 1.0) > tolerance) {
        print_error("level %g, expected %g\n", slowdown, expected);
        fail();
    }
}

// Every seed: found with the second sample, as fast to one side as to the other.
static void test_double_and_half_with_the_second_sample(void **state)
{
    (void)state;
    const double changes[] = {2.0, 0.5, 4.0, 0.25, 3.0, 1.0 / 3.0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (int i = 0; i < 6; i++) {
            struct trace t = trace_of(seed, 0.03);
            feed_many(&t, 1.0, QUIET);
            assert_in_range(delay_of(&t, changes[i], 10), 1, 2);
            assert_level(&t, changes[i], 0.12); // two samples
            feed_many(&t, changes[i], 8);
            assert_level(&t, changes[i], 0.05);
        }
    }
}

static void test_a_fifth_within_a_few(void **state)
{
    (void)state;
    const double changes[] = {1.2, 1.0 / 1.2};
    for (int i = 0; i < 2; i++) {
        int total = 0, slow = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct trace t = trace_of(seed, 0.05);
            feed_many(&t, 1.0, QUIET);
            int delay = delay_of(&t, changes[i], 30);
            total += delay;
            slow += delay > 8;
        }
        assert_in_range(total, 2 * SEEDS, 4 * SEEDS);
        assert_in_range(slow, 0, SEEDS / 25);
    }
}

static void test_spikes_are_ignored(void **state)
{
    (void)state;
    int changes = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.02);
        feed_many(&t, 1.0, QUIET);
        for (int i = 0; i < 10; i++) {
            changes += feed(&t, i % 2 ? 50.0 : 3.0) > 0;
            changes += feed_many(&t, 1.0, 6);
        }
        assert_level(&t, 1.0, 0.04);
    }
    assert_in_range(changes, 0, 5); // of 2,000 spikes
}

// The step in which the load came is half and half: the level is that of the steps after it.
static void test_change_in_the_middle_of_a_step(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.03);
        feed_many(&t, 1.0, QUIET);
        feed(&t, 2.5);
        feed(&t, 4.0);
        feed(&t, 4.0);
        assert_level(&t, 4.0, 0.12);
        t = trace_of(seed, 0.03);
        feed_many(&t, 1.0, QUIET);
        feed(&t, 0.6);
        feed(&t, 0.25);
        feed(&t, 0.25);
        assert_level(&t, 0.25, 0.12);
    }
}

// So much noise that the mixture and the step after it might be of one level: the latter is right.
// (It may also be the level before the load, 1.0, which is known better.)
static void test_mixture_hidden_by_noise(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.12);
        feed_many(&t, 5.0, QUIET);
        t.noise = 0.0;
        feed(&t, 1.5);
        if (feed(&t, 1.1) > 0) {
            found++;
            assert_level(&t, 1.05, 0.06);
        }
    }
    assert_in_range(found, SEEDS * 9 / 10, SEEDS);
}

static void test_ramp_is_followed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.03);
        feed_many(&t, 1.0, QUIET);
        for (int i = 1; i <= 60; i++) { // 1 % a sample
            double slowdown = pow(1.01, i);
            feed(&t, slowdown);
            assert_level(&t, slowdown, 0.15);
        }
        for (int i = 60; i > 0; i--) {
            double slowdown = pow(1.01, i);
            feed(&t, slowdown);
            assert_level(&t, slowdown, 0.15);
        }
    }
}

// Twice as slow and back every ten samples: each time with the second sample, and the level that
// was known before is known again.
static void test_on_and_off(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.03);
        feed_many(&t, 1.0, QUIET);
        for (int i = 0; i < 20; i++) {
            double slowdown = i % 2 ? 1.0 : 2.0;
            assert_in_range(delay_of(&t, slowdown, 10), 1, 3);
            assert_level(&t, slowdown, 0.12);
            feed_many(&t, slowdown, 8);
            assert_level(&t, slowdown, 0.06);
        }
    }
}

static int changes_in_quiet(double noise, double noise_later, int heavy)
{
    int changes = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.0);
        for (int i = 0; i < 300; i++) {
            double scale = noise + (noise_later - noise) * i / 300.0;
            double z = base_random_normal(&t.random);
            if (heavy) { // Student's t with three degrees of freedom
                double a = base_random_normal(&t.random), b = base_random_normal(&t.random),
                       c = base_random_normal(&t.random);
                z /= sqrt((a * a + b * b + c * c) / 3.0);
            }
            changes += feed(&t, exp(scale * z)) > 0;
        }
    }
    return changes;
}

// Of 200 runs of 300 samples.
static void test_noise_is_no_change(void **state)
{
    (void)state;
    assert_in_range(changes_in_quiet(0.01, 0.01, 0), 0, SEEDS / 20);
    assert_in_range(changes_in_quiet(0.05, 0.05, 0), 0, SEEDS / 10);
    assert_in_range(changes_in_quiet(0.15, 0.15, 0), 0, SEEDS / 5);
    assert_in_range(changes_in_quiet(0.02, 0.10, 0), 0, SEEDS / 5); // ever noisier
    assert_in_range(changes_in_quiet(0.10, 0.02, 0), 0, SEEDS / 5);
    assert_in_range(changes_in_quiet(0.05, 0.05, 1), 0, SEEDS / 2); // heavy tails
}

static void test_noise_is_learned(void **state)
{
    (void)state;
    const double noises[] = {0.02, 0.05, 0.2};
    for (int i = 0; i < 3; i++) {
        struct trace t = trace_of(7, noises[i]);
        feed_many(&t, 1.0, 100);
        double learned = hypertune_detect_noise(&t.detect, &t.options, MICRO_BATCHES);
        assert_true(learned > 0.6 * noises[i] && learned < 2.0 * noises[i]);
    }
}

// Slow noise, of which neighbours share most: differences alone would see 0.05·√(1 − 0.8) = 0.022.
static void test_slow_noise_is_learned(void **state)
{
    (void)state;
    double sum = 0.0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace t = trace_of(seed, 0.0);
        double x = 0.0;
        for (int i = 0; i < 100; i++) {
            x = 0.8 * x + 0.05 * 0.6 * base_random_normal(&t.random);
            feed(&t, exp(x));
        }
        sum += hypertune_detect_noise(&t.detect, &t.options, MICRO_BATCHES);
    }
    assert_true(sum / SEEDS > 0.03 && sum / SEEDS < 0.06);
}

// The mean of four times as many micro-batches has half the noise.
static void test_noise_falls_with_micro_batches(void **state)
{
    (void)state;
    struct trace t = trace_of(7, 0.2);
    feed_many(&t, 1.0, 100);
    double few = hypertune_detect_noise(&t.detect, &t.options, 4);
    double many = hypertune_detect_noise(&t.detect, &t.options, 16);
    assert_true(many < 0.6 * few && many > 0.4 * few);
}

static int rank_of(const double values[], int count, double value)
{
    int below = 0;
    for (int i = 0; i < count; i++) {
        below += values[i] < value;
    }
    return below;
}

// Against counting, with values that come several times.
static void test_window(void **state)
{
    (void)state;
    static double values[500];
    struct base_random random = base_random_from(1);
    struct hypertune_window window = {0};
    assert_true(hypertune_window_quantile(&window, 0.5) == 0.0);
    for (int n = 0; n < 500; n++) {
        values[n] = (double)base_random_below(&random, 20);
        hypertune_window_add(&window, values[n]);
        int count = n + 1 < HYPERTUNE_WINDOW_SIZE ? n + 1 : HYPERTUNE_WINDOW_SIZE;
        const double *latest = &values[n + 1 - count];
        assert_int_equal(window.count, count);
        for (int i = 0; i <= 10; i++) {
            int place = (int)(i / 10.0 * (count - 1) + 0.5);
            double quantile = hypertune_window_quantile(&window, i / 10.0);
            assert_true(rank_of(latest, count, quantile) <= place);
            assert_true(rank_of(latest, count, quantile + 0.5) > place);
        }
    }
}

// Two samples that happen to agree do not make a node without noise.
static void test_first_samples_say_little_of_the_noise(void **state)
{
    (void)state;
    struct trace t = trace_of(1, 0.0);
    feed_many(&t, 1.0, 2);
    assert_true(hypertune_detect_noise(&t.detect, &t.options, MICRO_BATCHES) > 0.05);
}

// So many deviations of the noise off the level.
static int feed_off(struct trace *t, double deviations)
{
    double noise = hypertune_detect_noise(&t->detect, &t->options, MICRO_BATCHES);
    double off = deviations * noise * sqrt(1.0 + 1.0 / t->detect.weight);
    return hypertune_detect_add(&t->detect, &t->options, exp(t->detect.level + off), MICRO_BATCHES);
}

// However long no outlier was seen: one, and a sample that noise explains, are no change.
static void test_one_outlier_after_a_long_quiet(void **state)
{
    (void)state;
    struct trace t = trace_of(1, 0.03);
    feed_many(&t, 1.0, 3000);
    assert_int_equal(feed_off(&t, 6.0), 0);
    assert_int_equal(feed_off(&t, 2.2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_double_and_half_with_the_second_sample),
        cmocka_unit_test(test_a_fifth_within_a_few),
        cmocka_unit_test(test_spikes_are_ignored),
        cmocka_unit_test(test_change_in_the_middle_of_a_step),
        cmocka_unit_test(test_mixture_hidden_by_noise),
        cmocka_unit_test(test_ramp_is_followed),
        cmocka_unit_test(test_on_and_off),
        cmocka_unit_test(test_noise_is_no_change),
        cmocka_unit_test(test_noise_is_learned),
        cmocka_unit_test(test_slow_noise_is_learned),
        cmocka_unit_test(test_noise_falls_with_micro_batches),
        cmocka_unit_test(test_first_samples_say_little_of_the_noise),
        cmocka_unit_test(test_one_outlier_after_a_long_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
