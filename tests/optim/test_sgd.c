// SPDX-License-Identifier: Apache-2.0
// SGD against the textbook formulas in double precision, against numbers from PyTorch, and across
// thread counts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "optim/sgd.h"

struct arrays {
    size_t count;
    float *gradient, *velocity, *weight;
};

static float pseudo_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

static struct arrays arrays_create(size_t count)
{
    struct arrays a = {count, malloc(count * sizeof(float)), malloc(count * sizeof(float)),
                       malloc(count * sizeof(float))};
    assert_true(a.gradient && a.velocity && a.weight);
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++) {
        a.gradient[i] = 64.0f * pseudo_random(&state);
        a.velocity[i] = pseudo_random(&state);
        a.weight[i] = pseudo_random(&state);
    }
    return a;
}

static void arrays_destroy(struct arrays *a)
{
    free(a->gradient);
    free(a->velocity);
    free(a->weight);
}

static void check_naive(bool nesterov, bool decay)
{
    const struct optim_sgd sgd = {.momentum = 0.9f, .weight_decay = 5e-2f, .nesterov = nesterov};
    struct arrays a = arrays_create(1001), before = arrays_create(1001);
    optim_sgd_step(&sgd, 0.1f, 1.0f / 64.0f, decay, a.count, a.gradient, a.velocity, a.weight);
    for (size_t i = 0; i < a.count; i++) {
        double g = before.gradient[i] / 64.0 + (decay ? 5e-2 * before.weight[i] : 0.0);
        double v = 0.9 * before.velocity[i] + g;
        double w = before.weight[i] - 0.1 * (nesterov ? g + 0.9 * v : v);
        assert_true(fabs(a.velocity[i] - v) < 1e-6);
        assert_true(fabs(a.weight[i] - w) < 1e-6);
        assert_true(a.gradient[i] == before.gradient[i]);
    }
    arrays_destroy(&a);
    arrays_destroy(&before);
}

static void follows_the_formula(void **state)
{
    (void)state;
    check_naive(false, false);
    check_naive(false, true);
    check_naive(true, false);
    check_naive(true, true);
}

// torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=…), w = 1, gradients 0.5,
// −0.25, 2.
static void follows_pytorch(void **state)
{
    (void)state;
    static const float gradients[3] = {0.5f, -0.25f, 2.0f};
    static const double expected[2][3] = {{0.949, 0.927151, 0.706559749},
                                          {0.9031, 0.90757411, 0.508189208}};
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        struct optim_sgd sgd = {.momentum = 0.9f, .weight_decay = 0.01f, .nesterov = nesterov};
        float weight = 1.0f, velocity = 0.0f;
        for (int i = 0; i < 3; i++) {
            optim_sgd_step(&sgd, 0.1f, 1.0f, true, 1, &gradients[i], &velocity, &weight);
            assert_true(fabs(weight - expected[nesterov][i]) < 1e-6);
        }
    }
}

// Threads take parts of an array, wherever it is cut.
static void cuts_do_not_matter(void **state)
{
    (void)state;
    const size_t count = 1003;
    const struct optim_sgd sgd = {.momentum = 0.9f, .weight_decay = 1e-3f, .nesterov = true};
    struct arrays one = arrays_create(count);
    optim_sgd_step(&sgd, 0.1f, 0.01f, true, count, one.gradient, one.velocity, one.weight);
    for (size_t parts = 2; parts <= 5; parts++) {
        struct arrays many = arrays_create(count);
        for (size_t p = 0; p < parts; p++) {
            size_t at = count * p / parts;
            optim_sgd_step(&sgd, 0.1f, 0.01f, true, count * (p + 1) / parts - at,
                           many.gradient + at, many.velocity + at, many.weight + at);
        }
        assert_memory_equal(one.weight, many.weight, count * sizeof(float));
        assert_memory_equal(one.velocity, many.velocity, count * sizeof(float));
        arrays_destroy(&many);
    }
    arrays_destroy(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(follows_pytorch),
        cmocka_unit_test(cuts_do_not_matter),
    };
    return cmocka_run_group_tests_name("sgd", tests, NULL, NULL);
}
