// SPDX-License-Identifier: Apache-2.0
// What a node measures about itself, on a process that does known things. Times are compared with
// each other only.
#include "crew/vitals.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "cmocka_all.h"

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void burn(double seconds)
{
    for (double end = cpu_now() + seconds; cpu_now() < end;) {
    }
}

static void a_step_is_measured(void **state)
{
    (void)state;
    static struct crew_vitals vitals;
    crew_vitals_open(&vitals);
    crew_vitals_begin(&vitals, 3.0);
    burn(0.02);
    crew_vitals_computed(&vitals, 3.5, 0.0);
    burn(0.005); // waiting, as far as it knows
    struct hypertune_report report = crew_vitals_exchanged(&vitals, 7, 4);
    assert_int_equal(report.step, 7);
    assert_int_equal(report.micro_batches, 4);
    assert_true(report.cpu_s >= 0.02);
    assert_true(report.compute_s >= report.cpu_s * 0.99); // one thread: no more than time passes
    assert_true(report.io_s == 0.5);
    assert_true(report.wait_s >= 0.0049);
    assert_true(report.queue_s >= 0.0 && report.throttled_s >= 0.0 && report.share_cpu_s >= 0.0);
    struct hypertune_clock clock = {0};
    assert_int_equal(hypertune_report_check(&report, 7, &clock), HYPERTUNE_REPORT_USABLE);

    crew_vitals_begin(&vitals, 3.5);
    burn(0.001);
    crew_vitals_computed(&vitals, 3.5, 0.0);
    struct hypertune_report next = crew_vitals_exchanged(&vitals, 8, 4);
    assert_true(next.clock_s > report.clock_s);
    assert_true(next.io_s == 0.0);
    assert_true(next.cpu_s < report.cpu_s); // of this step alone
    assert_int_equal(hypertune_report_check(&next, 8, &clock), HYPERTUNE_REPORT_USABLE);
    crew_vitals_close(&vitals);
}

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

static void *stand_by(void *context)
{
    struct gate *gate = context;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->open) {
        pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
    return NULL;
}

static int threads_seen(struct crew_vitals *vitals)
{
    crew_vitals_begin(vitals, 0.0);
    crew_vitals_computed(vitals, 0.0, 0.0);
    return vitals->thread_count;
}

// Threads come and go while training runs.
static void threads_are_looked_up_again(void **state)
{
    (void)state;
    static struct crew_vitals vitals;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t threads[3];
    crew_vitals_open(&vitals);
    int before = threads_seen(&vitals);
    if (before == 0) {
        crew_vitals_close(&vitals);
        skip(); // this kernel keeps no such figures
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, stand_by, &gate), 0);
    }
    assert_int_equal(threads_seen(&vitals), before + 3);
    pthread_mutex_lock(&gate.mutex);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(threads_seen(&vitals) >= before); // a joined thread may linger for a moment
    crew_vitals_close(&vitals);
}

static void a_zeroed_one_may_be_closed(void **state)
{
    (void)state;
    static struct crew_vitals vitals;
    crew_vitals_close(&vitals);
    assert_false(vitals.is_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_measured),
        cmocka_unit_test(threads_are_looked_up_again),
        cmocka_unit_test(a_zeroed_one_may_be_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
