// SPDX-License-Identifier: Apache-2.0
// The thread that reads a meter: totals when they are asked for, meters that die or hang, and what
// reading costs. The meters are of a kind of this test's own.
#include <math.h>
#include <pthread.h>

#include "capture.h"
#include "cmocka_all.h"
#include "energy/meter_kind.h"
#include "energy/sampler.h"
#include "tree.h"

// Rises by 10 J a reading; what happens at the `fails_at`-th one.
struct fake {
    pthread_mutex_t gate; // held by the test: the reading hangs
    int readings, fails_at, hangs_at;
    double clock_s;
};

static double fake_clock_s(void *context)
{
    return ((struct fake *)context)->clock_s;
}

static bool fake_read(struct energy_meter *meter, struct energy_account *account)
{
    struct fake *fake = meter->state;
    uint64_t now_uj = (uint64_t)++fake->readings * 10000000, range_uj = UINT64_MAX;
    if (fake->readings == fake->hangs_at) {
        pthread_mutex_lock(&fake->gate);
        pthread_mutex_unlock(&fake->gate);
    }
    if (fake->readings == fake->fails_at) {
        return energy_meter_fail(meter, "its plug was pulled");
    }
    fake->clock_s += 1.0;
    energy_account_counters(account, fake->clock_s, &now_uj, &range_uj, 1);
    return true;
}

static void fake_close(struct energy_meter *meter)
{
    (void)meter;
}

// Only read when asked, so that the test says how often.
static const struct energy_meter_kind fake_kind = {
    .name = "fake", .read = fake_read, .close = fake_close, .period_s = 1e6};

static struct energy_sampler *start(struct fake *fake, double hang_s)
{
    struct energy_meter *meter = calloc(1, sizeof(*meter));
    struct energy_sampler *sampler;
    assert_non_null(meter);
    pthread_mutex_init(&fake->gate, NULL);
    *meter = (struct energy_meter){
        .kind = &fake_kind, .world = {"", fake_clock_s, fake_clock_s, fake}, .state = fake};
    assert_int_equal(energy_sampler_start(meter, hang_s, &sampler), STN_OK);
    return sampler;
}

static void test_totals_when_they_are_asked_for(void **state)
{
    (void)state;
    struct fake fake = {.clock_s = 5.0};
    struct energy_sampler *sampler = start(&fake, 60.0);
    struct energy_total first = energy_sampler_now(sampler), last = first;
    for (int i = 0; i < 10; i++) {
        last = energy_sampler_now(sampler);
    }
    struct energy_total between = energy_total_between(&first, &last);
    assert_true(fabs(between.joules - 100.0) < 1e-9);
    assert_true(fabs(between.known_s - 10.0) < 1e-9);
    assert_false(energy_sampler_is_dropped(sampler));
    energy_sampler_stop(sampler);
}

static void test_a_meter_that_dies_is_dropped_with_a_line(void **state)
{
    (void)state;
    struct fake fake = {.fails_at = 5};
    struct capture capture;
    capture_start(&capture);
    struct energy_sampler *sampler = start(&fake, 60.0);
    struct energy_total total = {0};
    for (int i = 0; i < 20; i++) {
        total = energy_sampler_now(sampler);
    }
    assert_true(energy_sampler_is_dropped(sampler));
    energy_sampler_stop(sampler);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "meter fake is dropped: its plug was pulled"));
    assert_true(fabs(total.joules - 30.0) < 1e-9); // what it told until then
}

static void test_a_meter_that_hangs_is_dropped_with_a_line(void **state)
{
    (void)state;
    struct fake fake = {.hangs_at = 3};
    struct capture capture;
    capture_start(&capture);
    struct energy_sampler *sampler = start(&fake, 0.05);
    pthread_mutex_lock(&fake.gate);
    struct energy_total total = {0};
    for (int i = 0; i < 20; i++) {
        total = energy_sampler_now(sampler); // waits once, not each time
    }
    assert_true(energy_sampler_is_dropped(sampler));
    pthread_mutex_unlock(&fake.gate);
    energy_sampler_stop(sampler);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "meter fake is dropped: no answer for 0.05 s"));
    assert_true(total.joules <= 20.0);
}

// A thousandth of a core at one reading a second is a millisecond for a reading. Files of sysfs
// cost some microseconds each.
static void test_reading_costs_little(void **state)
{
    (void)state;
    struct tree tree;
    struct energy_meter *meter;
    struct energy_sampler *sampler;
    assert_true(tree_init(&tree));
    tree_zone(&tree, "intel-rapl:0", "package-0", 1, 262143328850ull);
    tree_zone(&tree, "intel-rapl:0:0", "dram", 1, 262143328850ull);
    tree_zone(&tree, "intel-rapl:1", "package-1", 1, 262143328850ull);
    tree_zone(&tree, "intel-rapl:1:0", "dram", 1, 262143328850ull);
    assert_int_equal(energy_meter_open("powercap", &tree.world, &meter), STN_OK);
    assert_int_equal(energy_sampler_start(meter, 60.0, &sampler), STN_OK);
    enum { READINGS = 200 };
    for (int i = 0; i < READINGS; i++) {
        energy_sampler_now(sampler);
    }
    double each_s = energy_sampler_cpu_s(sampler) / READINGS;
    print_message("a reading of four counters: %.1f us of processor time\n", 1e6 * each_s);
    assert_true(each_s < 1e-3);
    energy_sampler_stop(sampler);
    tree_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_when_they_are_asked_for),
        cmocka_unit_test(test_a_meter_that_dies_is_dropped_with_a_line),
        cmocka_unit_test(test_a_meter_that_hangs_is_dropped_with_a_line),
        cmocka_unit_test(test_reading_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
