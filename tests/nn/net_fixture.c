// SPDX-License-Identifier: Apache-2.0
#include "nn/net_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"

static void fill_samples(struct net_fixture *f, const struct nn_net_config *c, int samples)
{
    for (int s = 0; s < samples; s++) {
        struct base_random random = base_random_from(base_key(11, (uint64_t)s));
        f->labels[s] = (int32_t)base_random_below(&random, (uint64_t)c->shape.classes);
        f->keys[s] = base_random_u64(&random);
        for (size_t i = 0; i < f->image_floats; i++) {
            f->images[(size_t)s * f->image_floats + i] = (float)base_random_normal(&random);
        }
    }
}

void net_fixture_open(struct net_fixture *f, const char *backend, const struct nn_net_config *c,
                      int samples)
{
    net_fixture_open_threads(f, backend, 2, c, samples);
}

void net_fixture_open_threads(struct net_fixture *f, const char *backend, int threads,
                              const struct nn_net_config *c, int samples)
{
    size_t size = (size_t)c->shape.image_size;
    assert_int_equal(kernel_create(backend, threads, &f->kernel), STN_OK);
    assert_int_equal(nn_net_create(f->kernel, c, &f->net), STN_OK);
    f->image_floats = (size_t)c->shape.channels * size * size;
    f->images = calloc((size_t)samples * f->image_floats, sizeof(float));
    f->labels = calloc((size_t)samples, sizeof(*f->labels));
    f->keys = calloc((size_t)samples, sizeof(*f->keys));
    assert_true(f->images && f->labels && f->keys);
    fill_samples(f, c, samples);
    nn_net_init(f->net, 5);
    if (!c->inference) {
        nn_net_begin_step(f->net);
    }
}

void net_fixture_close(struct net_fixture *f)
{
    nn_net_destroy(f->net);
    kernel_destroy(f->kernel);
    free(f->images);
    free(f->labels);
    free(f->keys);
}

void net_fixture_train(struct net_fixture *f, int first, int rows,
                       struct kernel_loss_totals *totals)
{
    int g = nn_net_config(f->net)->micro_batch;
    float *images = calloc((size_t)g * f->image_floats, sizeof(float));
    int32_t *labels = calloc((size_t)g, sizeof(*labels));
    uint64_t *keys = calloc((size_t)g, sizeof(*keys));
    assert_true(images && labels && keys && rows <= g);
    memcpy(images, f->images + (size_t)first * f->image_floats,
           (size_t)rows * f->image_floats * sizeof(float));
    memcpy(labels, f->labels + first, (size_t)rows * sizeof(*labels));
    memcpy(keys, f->keys + first, (size_t)rows * sizeof(*keys));
    assert_int_equal(nn_net_train(f->net, images, labels, keys, rows, totals), STN_OK);
    free(images);
    free(labels);
    free(keys);
}

// Gradients that vanish by symmetry (a scale before a batch norm) are rounding noise: below this
// they count as zero. Others are of the order of 1 and more here.
static const double smallest_scale = 0.1;

void assert_close(const float *a, const float *b, size_t count, double tolerance, const char *what)
{
    double worst = 0, scale = smallest_scale;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(a[i]) && isfinite(b[i]));
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        scale = fmax(scale, fabs((double)b[i]));
    }
    if (worst > tolerance * scale) {
        fail_msg("%s: differs by %.3g of %.3g (%.3g relative)", what, worst, scale, worst / scale);
    }
}

void assert_same_sums(struct nn_net *a, struct nn_net *b, double tolerance)
{
    for (int t = 0; t < nn_net_tensor_count(a); t++) {
        const struct nn_tensor *tensor = nn_net_tensor(a, t);
        bool parameter = tensor->kind == NN_PARAMETER;
        const float *left = parameter ? nn_net_gradient_sums(a) : nn_net_buffer_sums(a);
        const float *right = parameter ? nn_net_gradient_sums(b) : nn_net_buffer_sums(b);
        assert_close(left + tensor->offset, right + tensor->offset, tensor->count, tolerance,
                     tensor->name);
    }
}
