// SPDX-License-Identifier: Apache-2.0
// The learning rate at the places where its shape changes.
#include <math.h>

#include "cmocka_all.h"
#include "optim/schedule.h"

static void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) < 1e-12)) {
        print_error("%.17g is not %.17g\n", actual, expected);
        fail();
    }
}

static void constant_stays(void **state)
{
    (void)state;
    const struct optim_schedule s = {.kind = OPTIM_CONSTANT, .base = 0.1, .total_samples = 1000};
    assert_near(optim_schedule_at(&s, 0), 0.1);
    assert_near(optim_schedule_at(&s, 5000), 0.1);
}

static void warmup_is_linear(void **state)
{
    (void)state;
    const struct optim_schedule s = {
        .kind = OPTIM_CONSTANT, .base = 0.2, .total_samples = 1000, .warmup_samples = 100};
    assert_near(optim_schedule_at(&s, 0), 0.002);
    assert_near(optim_schedule_at(&s, 50), 0.101);
    assert_near(optim_schedule_at(&s, 100), 0.2);
    double slope = optim_schedule_at(&s, 31) - optim_schedule_at(&s, 30);
    assert_near(optim_schedule_at(&s, 81) - optim_schedule_at(&s, 80), slope);
}

static void cosine_ends_at_zero(void **state)
{
    (void)state;
    const struct optim_schedule s = {
        .kind = OPTIM_COSINE, .base = 0.4, .total_samples = 1100, .warmup_samples = 100};
    assert_near(optim_schedule_at(&s, 100), 0.4);
    assert_near(optim_schedule_at(&s, 600), 0.2);
    assert_near(optim_schedule_at(&s, 350), 0.2 * (1.0 + sqrt(0.5)));
    assert_near(optim_schedule_at(&s, 1100), 0.0);
    assert_near(optim_schedule_at(&s, 9999), 0.0);
}

static void cosine_survives_an_all_warmup_run(void **state)
{
    (void)state;
    const struct optim_schedule s = {
        .kind = OPTIM_COSINE, .base = 0.4, .total_samples = 100, .warmup_samples = 100};
    assert_near(optim_schedule_at(&s, 100), 0.4);
}

static void step_multiplies_by_gamma(void **state)
{
    (void)state;
    const struct optim_schedule s = {
        .kind = OPTIM_STEP, .base = 1.0, .total_samples = 1000, .step_samples = 300, .gamma = 0.1};
    assert_near(optim_schedule_at(&s, 0), 1.0);
    assert_near(optim_schedule_at(&s, 299), 1.0);
    assert_near(optim_schedule_at(&s, 300), 0.1);
    assert_near(optim_schedule_at(&s, 900), 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_stays),
        cmocka_unit_test(warmup_is_linear),
        cmocka_unit_test(cosine_ends_at_zero),
        cmocka_unit_test(cosine_survives_an_all_warmup_run),
        cmocka_unit_test(step_multiplies_by_gamma),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
