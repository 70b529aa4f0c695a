// SPDX-License-Identifier: Apache-2.0
// What everything later stands on: sums do not depend on how samples are cut into micro-batches,
// padding rows do not exist, both backends agree on whole networks, and a net can run for any size.
#include <string.h>

#include "cmocka_all.h"
#include "nn/net_fixture.h"
#include "nn/net_state.h"

static struct nn_net_config config_of(const char *name, int size, int channels, int micro_batch)
{
    const struct stn_model_info *model = stn_model_find(name);
    assert_non_null(model);
    return (struct nn_net_config){.model = model,
                                  .shape = {.image_size = size, .channels = channels, .classes = 7},
                                  .micro_batch = micro_batch,
                                  .label_smoothing = 0.1F};
}

// Without BatchNorm samples do not see each other: 12 at once, 3 × 4, or 5 + 5 + 2 give the same
// sums, dropout included.
static void same_sums_however_cut(const char *name, int size)
{
    struct nn_net_config whole = config_of(name, size, 3, 12), quarter = whole, five = whole;
    quarter.micro_batch = 4;
    five.micro_batch = 5;
    struct net_fixture a, b, c;
    struct kernel_loss_totals ta = {0}, tb = {0}, tc = {0};
    net_fixture_open(&a, NULL, &whole, 12);
    net_fixture_open(&b, NULL, &quarter, 12);
    net_fixture_open(&c, NULL, &five, 12);
    net_fixture_train(&a, 0, 12, &ta);
    for (int first = 0; first < 12; first += 4) {
        net_fixture_train(&b, first, 4, &tb);
    }
    net_fixture_train(&c, 0, 5, &tc);
    net_fixture_train(&c, 5, 5, &tc);
    net_fixture_train(&c, 10, 2, &tc);
    assert_same_sums(b.net, a.net, 1e-5);
    assert_same_sums(c.net, a.net, 1e-5);
    assert_int_equal(tb.count, 12);
    assert_int_equal(tb.correct, ta.correct);
    assert_float_equal(tb.loss_sum, ta.loss_sum, 1e-4);
    assert_float_equal(tc.loss_sum, ta.loss_sum, 1e-4);
    net_fixture_close(&a);
    net_fixture_close(&b);
    net_fixture_close(&c);
}

static void test_split_lenet(void **state)
{
    (void)state;
    same_sums_however_cut("lenet", 28);
}

static void test_split_squeezenet(void **state)
{
    (void)state;
    same_sums_however_cut("squeezenet1_1", 40);
}

// A micro-batch of 8 that holds 5 samples equals a micro-batch of 5.
static void padding_rows_do_not_exist(const char *name, int size)
{
    struct nn_net_config padded = config_of(name, size, 3, 8), exact = padded;
    exact.micro_batch = 5;
    struct net_fixture a, b;
    struct kernel_loss_totals ta = {0}, tb = {0};
    net_fixture_open(&a, NULL, &padded, 8);
    net_fixture_open(&b, NULL, &exact, 8);
    net_fixture_train(&a, 0, 5, &ta);
    net_fixture_train(&b, 0, 5, &tb);
    assert_same_sums(a.net, b.net, 1e-4);
    assert_int_equal(ta.count, 5);
    assert_float_equal(ta.loss_sum, tb.loss_sum, 1e-4);
    net_fixture_close(&a);
    net_fixture_close(&b);
}

// The same where strips are short in one place and long in another, and the memory held nothing but
// NaN before: nothing that no real sample wrote may be read.
static void padding_rows_do_not_exist_in_strips(const char *name, int size, size_t cache_bytes)
{
    struct nn_net_config padded = config_of(name, size, 3, 8), exact = padded;
    padded.cache_bytes = cache_bytes;
    exact.micro_batch = 3;
    struct net_fixture a, b;
    struct kernel_loss_totals ta = {0}, tb = {0};
    net_fixture_open(&a, NULL, &padded, 8);
    net_fixture_open(&b, NULL, &exact, 8);
    bool same = true;
    for (int s = 1; s < a.net->segment_count; s++) {
        same = same && a.net->segments[s].strip == a.net->segments[0].strip;
    }
    assert_false(same);
    memset(a.net->activations, 0xff, a.net->activation_bytes);
    net_fixture_train(&a, 0, 3, &ta);
    net_fixture_train(&b, 0, 3, &tb);
    assert_same_sums(a.net, b.net, 1e-4);
    assert_float_equal(ta.loss_sum, tb.loss_sum, 1e-4);
    net_fixture_close(&a);
    net_fixture_close(&b);
}

static void test_padding_in_strips(void **state)
{
    (void)state;
    padding_rows_do_not_exist_in_strips("squeezenet1_1", 64, 600000);
    padding_rows_do_not_exist_in_strips("lenet", 28, 300000);
    padding_rows_do_not_exist_in_strips("mobilenet_v2", 64, 600000);
}

static void test_padding_mobilenet(void **state)
{
    (void)state;
    padding_rows_do_not_exist("mobilenet_v2", 64);
}

static void test_padding_squeezenet(void **state)
{
    (void)state;
    padding_rows_do_not_exist("squeezenet1_0", 64);
}

// Strips change the order of work, not its result: one sample at a time, and nothing kept that can
// be made again, equals all samples at once.
static void strips_do_not_matter(const char *name, int size)
{
    struct nn_net_config whole = config_of(name, size, 3, 6), strips = whole;
    whole.cache_bytes = SIZE_MAX;
    strips.cache_bytes = 1;
    struct net_fixture a, b;
    struct kernel_loss_totals ta = {0}, tb = {0};
    net_fixture_open(&a, NULL, &whole, 10);
    net_fixture_open(&b, NULL, &strips, 10);
    for (int i = 0; i < 2; i++) {
        net_fixture_train(&a, 6 * i, i ? 4 : 6, &ta);
        net_fixture_train(&b, 6 * i, i ? 4 : 6, &tb);
    }
    assert_same_sums(b.net, a.net, 1e-4);
    assert_float_equal(ta.loss_sum, tb.loss_sum, 1e-4);
    assert_true(nn_net_cost(b.net).activation_bytes < nn_net_cost(a.net).activation_bytes);
    net_fixture_close(&a);
    net_fixture_close(&b);
}

static void test_strips(void **state)
{
    (void)state;
    strips_do_not_matter("mobilenet_v2", 64);
    strips_do_not_matter("squeezenet1_1", 40);
    strips_do_not_matter("lenet", 28);
#ifndef __SANITIZE_ADDRESS__ // twenty seconds there, and the same code as for the others
    strips_do_not_matter("densenet121", 32);
#endif
    strips_do_not_matter("shufflenet_v2_x1_0", 40);
}

// However many lanes share out the strips, evenly or not, one of them with nothing to do: the sums
// are those of one thread, and so is what evaluation says.
static void lanes_do_not_matter(const char *name, int size)
{
    struct nn_net_config c = config_of(name, size, 3, 6);
    struct net_fixture one, many;
    struct kernel_loss_totals expected = {0};
    net_fixture_open_threads(&one, NULL, 1, &c, 10);
    net_fixture_train(&one, 0, 6, &expected);
    net_fixture_train(&one, 6, 4, &expected);
    assert_int_equal(nn_net_eval(one.net, one.images, one.labels, 6, &expected), STN_OK);
    for (int threads = 2; threads <= 5; threads++) {
        struct kernel_loss_totals totals = {0};
        net_fixture_open_threads(&many, NULL, threads, &c, 10);
        net_fixture_train(&many, 0, 6, &totals);
        net_fixture_train(&many, 6, 4, &totals);
        assert_same_sums(many.net, one.net, 1e-4);
        assert_int_equal(nn_net_eval(many.net, many.images, many.labels, 6, &totals), STN_OK);
        assert_float_equal(totals.loss_sum, expected.loss_sum, 1e-4);
        if (strcmp(kernel_name(many.kernel), "reference") != 0) {
            bool even = threads != 5; // of which 3 would do it all
            assert_int_equal(many.net->lanes, even ? threads : 1);
        }
        net_fixture_close(&many);
    }
    net_fixture_close(&one);
}

static void test_lanes(void **state)
{
    (void)state;
    lanes_do_not_matter("mobilenet_v2", 64);
    lanes_do_not_matter("lenet", 28);
}

static int first_concat(const struct nn_net *net)
{
    int n = 0;
    while (net->graph.ops[n].kind != NN_CONCAT) {
        n++;
    }
    return n;
}

// Where samples go one by one, what a concat joins is written to its place at once, and gradients
// are read there; where several go together it is copied.
static void test_concat_in_place(void **state)
{
    (void)state;
    struct nn_net_config strips = config_of("squeezenet1_1", 40, 3, 4), whole = strips;
    strips.cache_bytes = 1;
    whole.cache_bytes = SIZE_MAX;
    struct net_fixture a, b;
    net_fixture_open(&a, NULL, &strips, 4);
    net_fixture_open(&b, NULL, &whole, 4);
    if (strcmp(kernel_name(a.kernel), "reference") != 0) {
        int n = first_concat(a.net);
        const struct nn_call *call = &a.net->calls[n];
        struct kernel_tensor left = a.net->tensors[a.net->graph.ops[n].x[0]];
        size_t offset = kernel_tensor_row_floats(left) * sizeof(float);
        assert_ptr_equal(call->x[NN_FORWARD][0].base, call->y[NN_FORWARD].base);
        assert_ptr_equal(call->x[NN_FORWARD][1].base, call->y[NN_FORWARD].base + offset);
        assert_ptr_equal(call->dx[0].base, call->dy.base);
        assert_ptr_equal(call->dx[1].base, call->dy.base + offset);
        assert_ptr_not_equal(b.net->calls[n].x[NN_FORWARD][0].base,
                             b.net->calls[n].y[NN_FORWARD].base);
    }
    net_fixture_close(&a);
    net_fixture_close(&b);
}

static void backends_agree(const char *name, int size, int channels)
{
    struct kernel *kernel;
    assert_int_equal(kernel_create(NULL, 1, &kernel), STN_OK);
    bool best_is_reference = strcmp(kernel_name(kernel), "reference") == 0;
    kernel_destroy(kernel);
    if (best_is_reference) {
        skip();
    }
    struct nn_net_config c = config_of(name, size, channels, 4);
    struct net_fixture a, b;
    struct kernel_loss_totals ta = {0}, tb = {0};
    net_fixture_open(&a, NULL, &c, 4);
    net_fixture_open(&b, "reference", &c, 4);
    net_fixture_train(&a, 0, 4, &ta);
    net_fixture_train(&b, 0, 4, &tb);
    assert_same_sums(a.net, b.net, 1e-4);
    assert_float_equal(ta.loss_sum, tb.loss_sum, 1e-4);
    net_fixture_close(&a);
    net_fixture_close(&b);
}

// Deep stacks of batch norm over few values amplify rounding (single ReLU6 masks flip): for these
// the golden files are the oracle.
static void test_backends_agree(void **state)
{
    (void)state;
    backends_agree("lenet", 28, 1);
    backends_agree("squeezenet1_1", 33, 3);
}

// A step that nobody finished leaves nothing to the next; asking for the sums twice changes
// nothing.
static void test_begin_step_forgets(void **state)
{
    (void)state;
    struct nn_net_config c = config_of("squeezenet1_1", 40, 3, 4);
    struct net_fixture a, b;
    struct kernel_loss_totals totals = {0};
    net_fixture_open(&a, NULL, &c, 8);
    net_fixture_open(&b, NULL, &c, 8);
    net_fixture_train(&a, 0, 4, &totals);
    nn_net_begin_step(a.net);
    for (int i = 0; i < 2; i++) {
        net_fixture_train(&a, 4, 4, &totals);
        net_fixture_train(&b, 4, 4, &totals);
        assert_non_null(nn_net_gradient_sums(b.net));
        assert_non_null(nn_net_gradient_sums(b.net));
    }
    assert_same_sums(a.net, b.net, 1e-6);
    net_fixture_close(&a);
    net_fixture_close(&b);
}

// Two runs from the same start give the same bits.
static void test_repeatable(void **state)
{
    (void)state;
    struct nn_net_config c = config_of("mobilenet_v2", 32, 3, 8);
    struct net_fixture a, b;
    struct kernel_loss_totals totals = {0};
    net_fixture_open(&a, NULL, &c, 16);
    net_fixture_open(&b, NULL, &c, 16);
    for (int first = 0; first < 16; first += 8) {
        net_fixture_train(&a, first, 8, &totals);
        net_fixture_train(&b, first, 8, &totals);
    }
    assert_memory_equal(nn_net_gradient_sums(a.net), nn_net_gradient_sums(b.net),
                        nn_net_parameter_count(a.net) * sizeof(float));
    assert_memory_equal(nn_net_buffer_sums(a.net), nn_net_buffer_sums(b.net),
                        nn_net_buffer_count(a.net) * sizeof(float));
    net_fixture_close(&a);
    net_fixture_close(&b);
}

// Running statistics move by the mean over the samples of a step, whatever the micro-batches were.
static void test_merge_statistics(void **state)
{
    (void)state;
    struct nn_net_config c = config_of("mobilenet_v2", 32, 3, 4);
    struct net_fixture f;
    net_fixture_open(&f, NULL, &c, 8);
    struct kernel_loss_totals totals = {0};
    net_fixture_train(&f, 0, 4, &totals);
    net_fixture_train(&f, 4, 3, &totals);
    size_t count = nn_net_buffer_count(f.net);
    const float *sums = nn_net_buffer_sums(f.net);
    float *running = nn_net_buffers(f.net);
    float first = running[0], expected = 0.75F * first + 0.25F * sums[0] / 7;
    nn_net_merge_statistics(f.net, 7, 0.25);
    assert_true(count > 0);
    assert_true(running[0] == first);
    assert_float_equal(nn_net_next_buffers(f.net)[0], expected, 1e-6);
    memcpy(nn_net_next_parameters(f.net), nn_net_parameters(f.net),
           nn_net_parameter_count(f.net) * sizeof(float));
    nn_net_flip(f.net);
    assert_float_equal(nn_net_buffers(f.net)[0], expected, 1e-6);
    assert_ptr_equal(nn_net_next_buffers(f.net), running);
    net_fixture_close(&f);
}

// Evaluation is of the sample alone: alone, or among others, the logits are the same.
static void test_eval_does_not_mix_samples(void **state)
{
    (void)state;
    struct nn_net_config c = config_of("mobilenet_v2", 32, 3, 4);
    c.inference = true;
    struct net_fixture f;
    net_fixture_open(&f, NULL, &c, 4);
    const float *logits;
    float together[7];
    assert_int_equal(nn_net_logits(f.net, f.images, 4, &logits), STN_OK);
    memcpy(together, logits, sizeof(together));
    memset(f.images + f.image_floats, 0, 3 * f.image_floats * sizeof(float));
    assert_int_equal(nn_net_logits(f.net, f.images, 1, &logits), STN_OK);
    assert_close(logits, together, 7, 1e-6, "logits of the first sample");
    net_fixture_close(&f);
}

static void test_every_size_plans(void **state)
{
    (void)state;
    static const int sizes[] = {28, 29, 31, 32, 47, 63, 64, 65, 96, 111, 224, 299};
    for (int m = 0; m < stn_model_count(); m++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            struct stn_model_shape shape = {
                .image_size = sizes[s], .channels = 1 + 2 * (int)(s % 2), .classes = 3};
            struct stn_model_cost cost;
            assert_int_equal(stn_model_measure(stn_model_at(m), shape, 2, &cost), STN_OK);
            assert_true(cost.macs > 0 && cost.parameters > 0 && cost.activation_bytes > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_lenet),
        cmocka_unit_test(test_split_squeezenet),
        cmocka_unit_test(test_padding_in_strips),
        cmocka_unit_test(test_padding_mobilenet),
        cmocka_unit_test(test_padding_squeezenet),
        cmocka_unit_test(test_strips),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_concat_in_place),
        cmocka_unit_test(test_backends_agree),
        cmocka_unit_test(test_begin_step_forgets),
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_merge_statistics),
        cmocka_unit_test(test_eval_does_not_mix_samples),
        cmocka_unit_test(test_every_size_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
