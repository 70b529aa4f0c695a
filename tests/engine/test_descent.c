// SPDX-License-Identifier: Apache-2.0
// A step of the optimizer over a real net: the same bits for any number of threads and any rule,
// and the net computes with what the step wrote from the flip on, not before.
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "engine/engine.h"
#include "optim/support.h"

enum { IMAGES = 4, SIZE = 32, CLASSES = 5, STEPS = 3, LOGITS = IMAGES * CLASSES };

struct outcome {
    float *weights, *statistics, *state;
    size_t parameters, buffers;
};

static struct engine open(int threads)
{
    struct engine engine;
    const struct nn_net_config net = {
        .model = stn_model_find("mobilenet_v2"),
        .shape = {.image_size = SIZE, .channels = 3, .classes = CLASSES},
        .micro_batch = IMAGES};
    assert_int_equal(engine_open(NULL, threads, 0, 0, &net, &engine), STN_OK);
    nn_net_init(engine.net, 3);
    return engine;
}

static void logits_of(struct engine *engine, float out[LOGITS])
{
    static float images[IMAGES * 3 * SIZE * SIZE];
    const float *logits;
    for (int i = 0; i < IMAGES * 3 * SIZE * SIZE; i++) {
        images[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
    }
    assert_int_equal(nn_net_logits(engine->net, images, IMAGES, &logits), STN_OK);
    memcpy(out, logits, LOGITS * sizeof(float));
}

// With sums made up: who computed them is not the question here.
static void step(struct engine *engine, const struct optim *optim, int number)
{
    nn_net_begin_step(engine->net);
    float *gradients = nn_net_gradient_sums(engine->net);
    float *statistics = nn_net_buffer_sums(engine->net);
    for (size_t i = 0; i < nn_net_parameter_count(engine->net); i++) {
        gradients[i] = (float)((i * 7919 + (size_t)number) % 1009) / 504.0f - 1.0f;
    }
    for (size_t i = 0; i < nn_net_buffer_count(engine->net); i++) {
        statistics[i] = (float)((i * 31) % 17 + 1);
    }
    nn_net_merge_statistics(engine->net, IMAGES, 0.1);
    engine_descend(engine, optim, 1, 0.05, IMAGES);
}

static float *copy_of(const float *values, size_t count)
{
    float *copy = malloc(count * sizeof(float));
    assert_non_null(copy);
    return memcpy(copy, values, count * sizeof(float));
}

static struct outcome run(const struct optim_rule *rule, int threads)
{
    struct engine engine = open(threads);
    struct optim *optim;
    const struct optim_settings settings = {.momentum = 0.9f, .weight_decay = 1e-3f};
    size_t parameters = nn_net_parameter_count(engine.net);
    size_t buffers = nn_net_buffer_count(engine.net);
    assert_int_equal(optim_create(rule, &settings, parameters, &optim), STN_OK);
    for (int i = 0; i < STEPS; i++) {
        step(&engine, optim, i);
        engine_flip(&engine, optim);
    }
    struct outcome out = {.weights = copy_of(nn_net_parameters(engine.net), parameters),
                          .statistics = copy_of(nn_net_buffers(engine.net), buffers),
                          .state = copy_of(optim_state(optim, rule->does->states - 1), parameters),
                          .parameters = parameters,
                          .buffers = buffers};
    optim_destroy(optim);
    engine_close(&engine);
    return out;
}

static void outcome_free(struct outcome *out)
{
    free(out->weights);
    free(out->statistics);
    free(out->state);
}

static void check_threads(const struct optim_rule *rule)
{
    struct outcome one = run(rule, 1);
    for (int threads = 2; threads <= 3; threads++) {
        struct outcome more = run(rule, threads);
        assert_memory_equal(one.weights, more.weights, one.parameters * sizeof(float));
        assert_memory_equal(one.statistics, more.statistics, one.buffers * sizeof(float));
        assert_memory_equal(one.state, more.state, one.parameters * sizeof(float));
        outcome_free(&more);
    }
    outcome_free(&one);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    check_threads(optim_rule_find("sgd"));
    check_threads(&two_means);
}

static void the_net_computes_with_the_flipped_copy(void **state)
{
    (void)state;
    struct engine engine = open(1);
    struct optim *optim;
    const struct optim_settings settings = {.momentum = 0.9f};
    float before[LOGITS], unflipped[LOGITS], after[LOGITS];
    assert_int_equal(
        optim_create(optim_rule_find("sgd"), &settings, nn_net_parameter_count(engine.net), &optim),
        STN_OK);
    logits_of(&engine, before);
    step(&engine, optim, 0);
    nn_net_weights_changed(engine.net);
    logits_of(&engine, unflipped);
    engine_flip(&engine, optim);
    logits_of(&engine, after);
    assert_memory_equal(before, unflipped, sizeof(before));
    assert_memory_not_equal(before, after, sizeof(before));
    optim_destroy(optim);
    engine_close(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(the_net_computes_with_the_flipped_copy),
    };
    return cmocka_run_group_tests_name("descent", tests, NULL, NULL);
}
