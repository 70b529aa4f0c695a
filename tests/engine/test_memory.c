// SPDX-License-Identifier: Apache-2.0
// What becomes of a network when memory is scarce: first micro-batches go one at a time, then it is
// refused.
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "engine/memory.h"

static const struct nn_net_config mobilenet = {
    .shape = {.image_size = 64, .channels = 3, .classes = 10}, .micro_batch = 16};

static const size_t state_bytes = 8; // of SGD, for each parameter

static size_t needed(struct kernel *kernel, bool one_at_a_time)
{
    struct nn_net_config config = mobilenet;
    struct nn_net *net;
    config.model = stn_model_find("mobilenet_v2");
    config.plan_only = true;
    config.one_at_a_time = one_at_a_time;
    assert_int_equal(nn_net_create(kernel, &config, &net), STN_OK);
    size_t bytes = engine_memory_needed(net, state_bytes);
    nn_net_destroy(net);
    return bytes;
}

static enum stn_status settle(struct kernel *kernel, size_t limit, struct nn_net_config *config)
{
    *config = mobilenet;
    config->model = stn_model_find("mobilenet_v2");
    return engine_memory_settle(kernel, config, state_bytes, limit);
}

static void micro_batches_abreast_need_room(void **state)
{
    (void)state;
    struct kernel *kernel;
    struct nn_net_config config;
    assert_int_equal(kernel_create(NULL, 2, &kernel), STN_OK);
    size_t two = needed(kernel, false), one = needed(kernel, true);
    assert_true(one < two);
    assert_int_equal(settle(kernel, two, &config), STN_OK);
    assert_false(config.one_at_a_time);
    assert_int_equal(settle(kernel, two - 1, &config), STN_OK);
    assert_true(config.one_at_a_time);
    assert_int_equal(settle(kernel, one, &config), STN_OK);
    assert_true(config.one_at_a_time);
    kernel_destroy(kernel);
}

static void what_does_not_fit_is_refused_with_what_would(void **state)
{
    (void)state;
    struct kernel *kernel;
    struct nn_net_config config;
    assert_int_equal(kernel_create(NULL, 2, &kernel), STN_OK);
    size_t one = needed(kernel, true);
    bool fits;
    struct capture said;
    capture_start(&said);
    assert_int_equal(settle(kernel, one - 1, &config), STN_ERR_NO_MEMORY);
    capture_stop();
    assert_non_null(strstr(said.last, "mobilenet_v2 at 64 pixels with micro-batches of 16 needs "));
    assert_non_null(strstr(said.last, "micro-batch 8 would fit"));
    config.one_at_a_time = false;
    assert_int_equal(engine_memory_fits(kernel, &config, state_bytes, one, &fits), STN_OK);
    assert_true(fits);
    assert_int_equal(engine_memory_fits(kernel, &config, state_bytes, one - 1, &fits), STN_OK);
    assert_false(fits);
    kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(micro_batches_abreast_need_room),
        cmocka_unit_test(what_does_not_fit_is_refused_with_what_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
