// SPDX-License-Identifier: Apache-2.0
// Micro-batches side by side, one in each thread: each gives the very bits that it gives when all
// threads share it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "nn/net_fixture.h"

enum { MICRO_BATCH = 6 };

// A net, and its arrays of sums.
struct subject {
    struct net_fixture f;
    float *gradients, *statistics;
    size_t gradient_bytes, statistic_bytes;
    struct kernel_loss_totals totals;
};

static struct nn_net_config config_of(const char *name, int size)
{
    // So small a cache makes strips of few samples.
    return (struct nn_net_config){.model = stn_model_find(name),
                                  .shape = {.image_size = size, .channels = 3, .classes = 10},
                                  .micro_batch = MICRO_BATCH,
                                  .label_smoothing = 0.1F,
                                  .cache_bytes = 1 << 17};
}

static void subject_open(struct subject *s, const struct nn_net_config *config, int threads)
{
    *s = (struct subject){0};
    net_fixture_open_threads(&s->f, NULL, threads, config, threads * MICRO_BATCH);
    s->gradients = nn_net_gradient_sums(s->f.net);
    s->statistics = nn_net_buffer_sums(s->f.net);
    s->gradient_bytes = nn_net_parameter_count(s->f.net) * sizeof(float);
    s->statistic_bytes = nn_net_buffer_count(s->f.net) * sizeof(float);
}

// The last one is ragged.
static int rows_of(int batch, int batches)
{
    return batch == batches - 1 ? MICRO_BATCH - 3 : MICRO_BATCH;
}

static void train_abreast(struct subject *s)
{
    const struct net_fixture *f = &s->f;
    struct nn_micro_batch batches[NN_ABREAST_MAX];
    float *images[NN_ABREAST_MAX];
    int count = nn_net_abreast(f->net);
    size_t floats = MICRO_BATCH * f->image_floats;
    for (int i = 0; i < count; i++) {
        int first = i * MICRO_BATCH, rows = rows_of(i, count);
        images[i] = calloc(floats, sizeof(float)); // rows beyond are zero
        assert_non_null(images[i]);
        memcpy(images[i], f->images + (size_t)i * floats,
               (size_t)rows * f->image_floats * sizeof(float));
        batches[i] = (struct nn_micro_batch){images[i], f->labels + first, f->keys + first, rows};
    }
    assert_int_equal(nn_net_train_abreast(f->net, batches, &s->totals), STN_OK);
    for (int i = 0; i < count; i++) {
        free(images[i]);
    }
}

static void take_sums(struct subject *s)
{
    memset(s->gradients, 0, s->gradient_bytes);
    memset(s->statistics, 0, s->statistic_bytes);
}

static void abreast_equals_shared(const char *name, int size, int threads)
{
    struct nn_net_config config = config_of(name, size);
    struct subject abreast, shared;
    subject_open(&abreast, &config, threads);
    assert_int_equal(nn_net_abreast(abreast.f.net), threads);
    config.one_at_a_time = true;
    subject_open(&shared, &config, threads);
    assert_int_equal(nn_net_abreast(shared.f.net), 1);

    for (int turn = 0; turn < 2; turn++) { // what the first leaves behind does not show
        train_abreast(&abreast);
        for (int i = 0; i < threads; i++) {
            net_fixture_train(&shared.f, i * MICRO_BATCH, rows_of(i, threads), &shared.totals);
            nn_net_collect_gradients(shared.f.net);
            nn_net_collect_abreast(abreast.f.net, i);
            assert_memory_equal(abreast.gradients, shared.gradients, shared.gradient_bytes);
            assert_memory_equal(abreast.statistics, shared.statistics, shared.statistic_bytes);
            take_sums(&abreast);
            take_sums(&shared);
        }
    }
    assert_float_equal(abreast.totals.loss_sum, shared.totals.loss_sum, 1e-9);
    assert_int_equal(abreast.totals.correct, shared.totals.correct);
    assert_int_equal(abreast.totals.count, shared.totals.count);
    net_fixture_close(&shared.f);
    net_fixture_close(&abreast.f);
}

static void each_gives_the_bits_it_gives_shared(void **state)
{
    (void)state;
    abreast_equals_shared("mobilenet_v2", 48, 2);
    abreast_equals_shared("shufflenet_v1", 32, 2);
#ifndef __SANITIZE_ADDRESS__ // ten times slower there, and the same code
    abreast_equals_shared("mobilenet_v2", 32, 4);
    abreast_equals_shared("shufflenet_v2_x1_0", 32, 3);
    abreast_equals_shared("nasnet_mobile", 32, 2);
    abreast_equals_shared("resnet18", 64, 2);
#endif
}

// Some abreast, then one that all share, and everything collected at the end.
static void sums_add_up_over_a_step(void **state)
{
    (void)state;
    struct nn_net_config config = config_of("mobilenet_v2", 64);
    struct subject abreast, shared;
    subject_open(&abreast, &config, 2);
    config.one_at_a_time = true;
    subject_open(&shared, &config, 2);
    train_abreast(&abreast);
    net_fixture_train(&abreast.f, 0, MICRO_BATCH, &abreast.totals);
    for (int i = 0; i < 2; i++) {
        net_fixture_train(&shared.f, i * MICRO_BATCH, rows_of(i, 2), &shared.totals);
    }
    net_fixture_train(&shared.f, 0, MICRO_BATCH, &shared.totals);
    nn_net_collect_gradients(abreast.f.net);
    nn_net_collect_gradients(shared.f.net);
    assert_same_sums(abreast.f.net, shared.f.net, 1e-5);

    train_abreast(&abreast); // and forgotten
    nn_net_begin_step(abreast.f.net);
    nn_net_collect_gradients(abreast.f.net);
    for (size_t i = 0; i < abreast.gradient_bytes / sizeof(float); i++) {
        assert_true(abreast.gradients[i] == 0.0F);
    }
    net_fixture_close(&shared.f);
    net_fixture_close(&abreast.f);
}

static void networks_that_need_not_meet_share(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int size, threads;
        bool inference;
    } cases[] = {
        {"lenet", 32, 2, false},                                      // no batch norms
        {"squeezenet1_1", 64, 2, false},                              // none either
        {"mobilenet_v2", 64, 1, false},                               // one thread
        {"mobilenet_v2", 64, 8, false},                               // memory for eight
        {"mobilenet_v2", 64, 2, true},   {"resnet18", 224, 2, false}, // long ways between them
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nn_net_config config = config_of(cases[i].name, cases[i].size);
        struct kernel *kernel;
        struct nn_net *net;
        config.inference = cases[i].inference;
        config.plan_only = true;
        assert_int_equal(kernel_create(NULL, cases[i].threads, &kernel), STN_OK);
        assert_int_equal(nn_net_create(kernel, &config, &net), STN_OK);
        assert_int_equal(nn_net_abreast(net), 1);
        nn_net_destroy(net);
        kernel_destroy(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gives_the_bits_it_gives_shared),
        cmocka_unit_test(sums_add_up_over_a_step),
        cmocka_unit_test(networks_that_need_not_meet_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
