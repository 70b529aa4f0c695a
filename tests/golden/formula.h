// SPDX-License-Identifier: Apache-2.0
// The values that make_golden.py gives weights, statistics, images and labels, and the fingerprints
// it takes of results, once more in C. Every draw is a function of (seed, purpose, tensor name,
// index).
#ifndef GOLDEN_FORMULA_H
#define GOLDEN_FORMULA_H

#include <stdint.h>

#include "nn/net.h"

// Parameters and running statistics of the whole net.
void formula_fill_net(struct nn_net *net, uint64_t seed);
void formula_fill_images(uint64_t seed, size_t count, float *images);
void formula_fill_labels(uint64_t seed, int count, int classes, int32_t *labels);

// Inner product with a vector of random signs: sees every element in its place.
double formula_projection(uint64_t seed, const char *name, const float *values, size_t count);
double formula_norm(const float *values, size_t count);
// Which element of a tensor is the i-th of `samples`.
size_t formula_sample(uint64_t seed, const char *name, size_t count, size_t samples, size_t i);

#endif
