// SPDX-License-Identifier: Apache-2.0
// After the first step a training step allocates nothing: not the loader, the net, the optimizer
// nor the progress. The allocator is replaced by one that counts, and the observer reads the counts
// between steps.
#include <stdlib.h>

#include "cmocka_all.h"
#include "counter.h"
#include "session.h"
#include "settings/settings.h"
#include "stannis/stannis.h"

struct watch {
    int steps;
};

static void on_step(void *context, const struct stn_train_step *step)
{
    struct watch *watch = context;
    (void)step;
    watch->steps++;
    if (watch->steps == 2) {
        counter_start();
    }
}

// The epoch's end evaluates and may open things: counting stops with the last step.
static void on_eval(void *context, int64_t done, int64_t total)
{
    (void)context;
    (void)done;
    (void)total;
    counter_stop();
}

static void steps_allocate_nothing(const char *net, int batch, int micro_batch)
{
    struct settings config = settings_defaults(STN_VERB_TRAIN);
    config.net = net;
    config.data = "synthetic:400";
    config.image_size = 32;
    config.classes = 4;
    config.epochs = 1;
    config.batch = batch;
    config.micro_batch = micro_batch;
    config.threads = 2;
    const struct stn_settings settings = {.verb = STN_VERB_TRAIN, .values = config};
    struct watch watch = {0};
    struct stn_train_observer observer = {.context = &watch, .step = on_step, .eval = on_eval};
    struct stn_train_result result;
    counter_clear();
    assert_int_equal(stn_train_run(test_session(), &settings, &observer, &result), STN_OK);
    counter_stop();
    assert_true(watch.steps > 5);
    assert_int_equal(counter_own(), 0);
    assert_int_equal(counter_library_large(), 0);
}

// The proof must be able to fail: the counter sees what this program allocates.
static void test_counter_counts(void **state)
{
    (void)state;
    counter_clear();
    counter_start();
    void *volatile piece = malloc(10);
    counter_stop();
    free(piece);
    assert_int_equal(counter_own(), 1);
}

static void test_lenet(void **state)
{
    (void)state;
    steps_allocate_nothing("lenet", 32, 8);
}

// 45 is no multiple of 16: the number of micro-batches and their rows vary.
static void test_mobilenet_v2(void **state)
{
    (void)state;
    steps_allocate_nothing("mobilenet_v2", 45, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counter_counts),
        cmocka_unit_test(test_lenet),
        cmocka_unit_test(test_mobilenet_v2),
    };
    // With AVX-512 oneDNN's matrix product takes panels of up to 2 MiB for as long as a call lasts.
    // What is judged here is our own code, and with AVX2 on every machine alike.
    setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
