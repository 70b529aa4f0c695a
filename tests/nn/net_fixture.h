// SPDX-License-Identifier: Apache-2.0
// A net with made-up images and labels, for tests that run whole networks.
#ifndef TESTS_NN_NET_FIXTURE_H
#define TESTS_NN_NET_FIXTURE_H

#include "nn/net.h"

struct net_fixture {
    struct kernel *kernel;
    struct nn_net *net;
    float *images; // [samples][channels][size][size]
    int32_t *labels;
    uint64_t *keys;
    size_t image_floats;
};

// Everything is a function of `config` and the sample's index: two fixtures see the same samples.
// Two threads.
void net_fixture_open(struct net_fixture *f, const char *backend,
                      const struct nn_net_config *config, int samples);
void net_fixture_open_threads(struct net_fixture *f, const char *backend, int threads,
                              const struct nn_net_config *config, int samples);
void net_fixture_close(struct net_fixture *f);
// One micro-batch of samples first … first + rows − 1, the rest zero.
void net_fixture_train(struct net_fixture *f, int first, int rows,
                       struct kernel_loss_totals *totals);

// max |a − b| ≤ tolerance · max(|b|, 0.1), for the tensor as a whole.
void assert_close(const float *a, const float *b, size_t count, double tolerance, const char *what);
// The same for every parameter's gradient and every buffer sum of two nets.
void assert_same_sums(struct nn_net *a, struct nn_net *b, double tolerance);

#endif
