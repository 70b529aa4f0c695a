// SPDX-License-Identifier: Apache-2.0
#include "formula.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

struct range {
    double low, high;
};

static uint64_t fnv1a64(const char *text)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        value = (value ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return value;
}

static uint64_t stream(uint64_t seed, const char *purpose, const char *name)
{
    return base_key(base_key(seed, fnv1a64(purpose)), fnv1a64(name));
}

static void fill_uniform(uint64_t seed, const char *name, struct range range, size_t count,
                         float *out)
{
    uint64_t key = stream(seed, "value", name);
    for (size_t i = 0; i < count; i++) {
        double unit = (double)(base_random_at(key, i) >> 40) * 0x1p-24;
        out[i] = (float)(range.low + (range.high - range.low) * unit);
    }
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

// BatchNorm's parameters are those with running statistics beside them.
static bool in_batchnorm(const struct nn_net *net, const char *name)
{
    const char *dot = strrchr(name, '.');
    char mean[256];
    snprintf(mean, sizeof mean, "%.*s.running_mean", (int)(dot == NULL ? 0 : dot - name), name);
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        if (strcmp(nn_net_tensor(net, i)->name, mean) == 0) {
            return true;
        }
    }
    return false;
}

static struct range value_range(const struct nn_net *net, const struct nn_tensor *tensor)
{
    if (tensor->rank > 1) {
        double fan_in = (double)tensor->count / (double)tensor->dims[0];
        double bound = sqrt(6.0 / fan_in);
        return (struct range){-bound, bound};
    }
    if (ends_with(tensor->name, "running_mean")) {
        return (struct range){-0.1, 0.1};
    }
    if (ends_with(tensor->name, "running_var")) {
        return (struct range){0.5, 1.5};
    }
    if (strcmp(tensor->name, "features.norm0.bias") == 0) { // DenseNet's; make_golden.py says why
        return (struct range){-1.5, -0.5};
    }
    if (ends_with(tensor->name, "bias")) {
        return in_batchnorm(net, tensor->name) ? (struct range){0.5, 2.5}
                                               : (struct range){-0.1, 0.1};
    }
    return (struct range){0.5, 1.5};
}

void formula_fill_net(struct nn_net *net, uint64_t seed)
{
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *tensor = nn_net_tensor(net, i);
        float *flat = tensor->kind == NN_PARAMETER ? nn_net_parameters(net) : nn_net_buffers(net);
        fill_uniform(seed, tensor->name, value_range(net, tensor), tensor->count,
                     flat + tensor->offset);
    }
    nn_net_weights_changed(net);
}

void formula_fill_images(uint64_t seed, size_t count, float *images)
{
    fill_uniform(seed, "images", (struct range){-1.0, 1.0}, count, images);
}

void formula_fill_labels(uint64_t seed, int count, int classes, int32_t *labels)
{
    uint64_t key = stream(seed, "value", "labels");
    for (int i = 0; i < count; i++) {
        labels[i] = (int32_t)(base_random_at(key, (uint64_t)i) % (uint64_t)classes);
    }
}

double formula_projection(uint64_t seed, const char *name, const float *values, size_t count)
{
    uint64_t key = stream(seed, "sign", name);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (base_random_at(key, i) & 1) != 0 ? -(double)values[i] : (double)values[i];
    }
    return sum;
}

double formula_norm(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    return sqrt(sum);
}

size_t formula_sample(uint64_t seed, const char *name, size_t count, size_t samples, size_t i)
{
    return count <= samples ? i : base_random_at(stream(seed, "sample", name), i) % count;
}
