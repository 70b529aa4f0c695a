// SPDX-License-Identifier: Apache-2.0
// Gradients that were called final are: what a watcher copied away in mid-pass is what is there in
// the end, and the calls come from the end of the array to its beginning.
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "nn/net_fixture.h"

struct watcher {
    const float *sums;
    float *copy; // [parameters]
    size_t from; // copied from here on
    int calls;
};

static void on_final(void *context, size_t from)
{
    struct watcher *w = context;
    if (from < w->from) {
        memcpy(w->copy + from, w->sums + from, (w->from - from) * sizeof(float));
        w->from = from;
    }
    w->calls++;
}

static void final_gradients_stay(const char *name, int size, int calls_min)
{
    const struct nn_net_config config = {
        .model = stn_model_find(name),
        .shape = {.image_size = size, .channels = 3, .classes = 7},
        .micro_batch = 4,
    };
    struct net_fixture f;
    struct kernel_loss_totals totals = {0};
    net_fixture_open(&f, NULL, &config, 8);
    size_t count = nn_net_parameter_count(f.net);
    struct watcher w = {
        .sums = nn_net_gradient_sums(f.net), .copy = calloc(count, sizeof(float)), .from = count};
    assert_non_null(w.copy);
    net_fixture_train(&f, 0, 4, &totals); // an earlier micro-batch of the step
    nn_net_watch_gradients(f.net, on_final, &w);
    net_fixture_train(&f, 4, 3, &totals);
    nn_net_watch_gradients(f.net, NULL, NULL);
    assert_int_equal(w.from, 0);
    assert_true(w.calls >= calls_min);
    assert_memory_equal(w.copy, nn_net_gradient_sums(f.net), count * sizeof(float));

    int calls = w.calls;
    net_fixture_train(&f, 0, 4, &totals);
    assert_int_equal(w.calls, calls);
    free(w.copy);
    net_fixture_close(&f);
}

static void test_with_batchnorm(void **state)
{
    (void)state;
    final_gradients_stay("mobilenet_v2", 32, 100);
}

static void test_with_branches(void **state)
{
    (void)state;
    final_gradients_stay("shufflenet_v2_x1_0", 32, 100);
}

static void test_without_batchnorm(void **state)
{
    (void)state;
    final_gradients_stay("squeezenet1_1", 40, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_batchnorm),
        cmocka_unit_test(test_with_branches),
        cmocka_unit_test(test_without_batchnorm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
