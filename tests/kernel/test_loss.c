// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy: values, gradients by central differences, and numbers that are none.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/random.h"
#include "kernel/kernel.h"

enum { N = 5, ROWS = 4, CLASSES = 7 };

static const int32_t labels[N] = {3, 0, 6, 3, 2};

static void fill(float logits[N * CLASSES])
{
    struct base_random r = base_random_from(5);
    for (int i = 0; i < N * CLASSES; i++)
        logits[i] = (float)(2 * base_random_normal(&r));
}

static double loss_of(const float *logits, float smoothing)
{
    struct kernel_loss_totals totals = {0};
    kernel_loss_softmax(logits, labels, N, ROWS, CLASSES, smoothing, NULL, &totals);
    return totals.loss_sum;
}

static void check_gradient(float smoothing)
{
    float logits[N * CLASSES], gradient[N * CLASSES];
    struct kernel_loss_totals totals = {0};
    fill(logits);
    kernel_loss_softmax(logits, labels, N, ROWS, CLASSES, smoothing, gradient, &totals);
    for (int i = 0; i < N * CLASSES; i++) {
        const float original = logits[i], step = 0x1p-8f;
        logits[i] = original + step;
        const double above = loss_of(logits, smoothing), high = logits[i];
        logits[i] = original - step;
        const double below = loss_of(logits, smoothing), low = logits[i];
        logits[i] = original;
        assert_true(fabs((above - below) / (high - low) - (double)gradient[i]) < 1e-5);
        if (i >= ROWS * CLASSES)
            assert_true(gradient[i] == 0);
    }
}

static void gradients(void **state)
{
    (void)state;
    check_gradient(0);
    check_gradient(0.1f);
    check_gradient(1);
}

// By the definition: −Σ target·ln p, in double; each row rounded to 2^-28.
static void values(void **state)
{
    float logits[N * CLASSES];
    const float smoothings[] = {0, 0.1f};
    (void)state;
    fill(logits);
    for (int s = 0; s < 2; s++) {
        double expected = 0;
        for (int r = 0; r < ROWS; r++) {
            double sum = 0;
            for (int k = 0; k < CLASSES; k++)
                sum += exp((double)logits[r * CLASSES + k]);
            for (int k = 0; k < CLASSES; k++) {
                const double target = (double)smoothings[s] / CLASSES +
                                      (k == labels[r] ? 1 - (double)smoothings[s] : 0);
                expected -= target * log(exp((double)logits[r * CLASSES + k]) / sum);
            }
        }
        assert_true(fabs(loss_of(logits, smoothings[s]) - expected) < ROWS * 0x1p-29 + 1e-12);
    }
}

static void add_row(float *logits, int i, struct kernel_loss_totals *totals)
{
    const int r = i % ROWS;
    float *row = logits + r * CLASSES;
    row[0] = (float)i / 77.0f;
    kernel_loss_softmax(row, &labels[r], 1, 1, CLASSES, 0, NULL, totals);
}

// To the bit: nodes add rows in any order.
static void order_does_not_matter(void **state)
{
    enum { COUNT = 1000 };
    float logits[N * CLASSES];
    struct kernel_loss_totals forward = {0}, backward = {0};
    (void)state;
    fill(logits);
    for (int i = 0; i < COUNT; i++) {
        add_row(logits, i, &forward);
        add_row(logits, COUNT - 1 - i, &backward);
    }
    assert_true(forward.loss_sum > 100.0 && forward.loss_sum == backward.loss_sum);
}

static void totals_are_added_to(void **state)
{
    float logits[N * CLASSES];
    struct kernel_loss_totals totals = {1, 10, 100};
    (void)state;
    fill(logits);
    for (int r = 0; r < N; r++)
        logits[r * CLASSES + labels[r]] = 20; // right in all rows, …
    logits[0] = 21;                           // … but the first
    kernel_loss_softmax(logits, labels, N, ROWS, CLASSES, 0, NULL, &totals);
    assert_int_equal(totals.correct, 10 + ROWS - 1);
    assert_int_equal(totals.count, 100 + ROWS);
    assert_true(fabs(totals.loss_sum - 1 - loss_of(logits, 0)) < 1e-12);
}

static void first_of_equals_wins(void **state)
{
    const float logits[4] = {1, 5, 5, 0};
    (void)state;
    for (int32_t label = 0; label < 4; label++) {
        struct kernel_loss_totals totals = {0};
        kernel_loss_softmax(logits, &label, 1, 1, 4, 0, NULL, &totals);
        assert_int_equal(totals.correct, label == 1);
    }
}

static void large_logits_do_not_overflow(void **state)
{
    const float logits[3] = {3e38f, -3e38f, 0};
    const int32_t label = 0;
    float gradient[3];
    struct kernel_loss_totals totals = {0};
    (void)state;
    kernel_loss_softmax(logits, &label, 1, 1, 3, 0, gradient, &totals);
    assert_true(totals.loss_sum == 0);
    assert_int_equal(totals.correct, 1);
    for (int k = 0; k < 3; k++)
        assert_true(gradient[k] == 0);
}

static void nan_shows_in_the_loss(void **state)
{
    (void)state;
    for (int at = 0; at < 3; at++) {
        for (int32_t label = 0; label < 3; label++) {
            float logits[3] = {0, 1, 2}, gradient[3];
            struct kernel_loss_totals totals = {0};
            logits[at] = NAN;
            kernel_loss_softmax(logits, &label, 1, 1, 3, 0, gradient, &totals);
            assert_true(isnan(totals.loss_sum));
            assert_int_equal(totals.correct, 0);
            assert_true(isnan(gradient[(at + 1) % 3]));
        }
    }
}

static void infinite_logits(void **state)
{
    const float up[2] = {INFINITY, 0}, down[2] = {0, -INFINITY};
    const int32_t label = 0;
    struct kernel_loss_totals totals = {0};
    (void)state;
    kernel_loss_softmax(down, &label, 1, 1, 2, 0, NULL, &totals);
    assert_true(totals.loss_sum == 0); // a class ruled out is no loss …
    kernel_loss_softmax(down, &label, 1, 1, 2, 0.1f, NULL, &totals);
    assert_true(isinf(totals.loss_sum)); // … unless smoothing asks for some of it
    totals.loss_sum = 0;
    kernel_loss_softmax(up, &label, 1, 1, 2, 0, NULL, &totals);
    assert_true(isnan(totals.loss_sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(values),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(totals_are_added_to),
        cmocka_unit_test(first_of_equals_wins),
        cmocka_unit_test(large_logits_do_not_overflow),
        cmocka_unit_test(nan_shows_in_the_loss),
        cmocka_unit_test(infinite_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
