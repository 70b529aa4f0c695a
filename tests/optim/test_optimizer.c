// SPDX-License-Identifier: Apache-2.0
// Optimizers: SGD against the textbook formulas in double precision and against numbers from
// PyTorch; and what holds for any rule: two copies, cuts that do not matter, streamed stores.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cmocka_all.h"
#include "optim/optimizer.h"
#include "optim/support.h"

enum { COPIES = 2, STREAMED = 3 << 20 }; // parameters whose states are streamed

// A net's arrays, and an optimizer of them.
struct bed {
    size_t count;
    struct optim *optim;
    float *gradient, *weight[COPIES];
    int current;
    int64_t steps;
};

static float pseudo_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

static struct bed bed_open(const struct optim_rule *rule, const struct optim_settings *settings,
                           size_t count)
{
    struct bed bed = {.count = count, .gradient = malloc(count * sizeof(float))};
    uint32_t state = 7;
    for (int c = 0; c < COPIES; c++) {
        bed.weight[c] = base_pages_alloc(count * sizeof(float));
    }
    assert_true(bed.gradient && bed.weight[0] && bed.weight[1]);
    assert_int_equal(optim_create(rule, settings, count, &bed.optim), STN_OK);
    for (size_t i = 0; i < count; i++) {
        bed.gradient[i] = 64.0f * pseudo_random(&state);
        bed.weight[0][i] = pseudo_random(&state);
        for (int s = 0; s < rule->does->states; s++) {
            optim_state(bed.optim, s)[i] = fabsf(pseudo_random(&state)); // as squares are
        }
    }
    return bed;
}

static void bed_close(struct bed *bed)
{
    for (int c = 0; c < COPIES; c++) {
        base_pages_free(bed->weight[c], bed->count * sizeof(float));
    }
    optim_destroy(bed->optim);
    free(bed->gradient);
}

// In so many parts, which may be of any size.
static void bed_step(struct bed *bed, float lr, float scale, bool decay, size_t parts)
{
    const struct optim_move move = {.lr = lr, .scale = scale, .step = 1 + bed->steps};
    const struct optim_arrays arrays = {.gradient_sums = bed->gradient,
                                        .weights = bed->weight[bed->current],
                                        .weights_next = bed->weight[1 - bed->current]};
    for (size_t p = 0; p < parts; p++) {
        size_t from = bed->count * p / parts, end = bed->count * (p + 1) / parts;
        optim_step(bed->optim, &move, &arrays, from, end - from, decay);
    }
}

static void bed_flip(struct bed *bed)
{
    optim_flip(bed->optim);
    bed->current = 1 - bed->current;
    bed->steps++;
}

static void beds_equal(struct bed *a, struct bed *b)
{
    size_t bytes = a->count * sizeof(float);
    assert_memory_equal(a->weight[a->current], b->weight[b->current], bytes);
    for (int s = 0; s < optim_rule(a->optim)->does->states; s++) {
        assert_memory_equal(optim_state(a->optim, s), optim_state(b->optim, s), bytes);
    }
}

// ---- SGD ---------------------------------------------------------------------------------------

static void check_naive(bool nesterov, bool decay)
{
    const struct optim_settings sgd = {
        .momentum = 0.9f, .weight_decay = 5e-2f, .nesterov = nesterov};
    struct bed a = bed_open(optim_rule_find("sgd"), &sgd, 1001);
    struct bed before = bed_open(optim_rule_find("sgd"), &sgd, 1001);
    bed_step(&a, 0.1f, 1.0f / 64.0f, decay, 1);
    bed_flip(&a);
    for (size_t i = 0; i < a.count; i++) {
        double w = before.weight[0][i];
        double g = before.gradient[i] / 64.0 + (decay ? 5e-2 * w : 0.0);
        double v = 0.9 * optim_state(before.optim, 0)[i] + g;
        w -= 0.1 * (nesterov ? g + 0.9 * v : v);
        assert_true(fabs(optim_state(a.optim, 0)[i] - v) < 1e-6);
        assert_true(fabs(a.weight[1][i] - w) < 1e-6);
        assert_true(a.gradient[i] == before.gradient[i]);
    }
    bed_close(&a);
    bed_close(&before);
}

static void sgd_follows_the_formula(void **state)
{
    (void)state;
    check_naive(false, false);
    check_naive(false, true);
    check_naive(true, false);
    check_naive(true, true);
}

// torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=…), w = 1, gradients 0.5,
// −0.25, 2.
static void sgd_follows_pytorch(void **state)
{
    (void)state;
    static const float gradients[3] = {0.5f, -0.25f, 2.0f};
    static const double expected[2][3] = {{0.949, 0.927151, 0.706559749},
                                          {0.9031, 0.90757411, 0.508189208}};
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        const struct optim_settings sgd = {
            .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = nesterov};
        struct bed bed = bed_open(optim_rule_find("sgd"), &sgd, 1);
        optim_clear(bed.optim);
        bed.weight[0][0] = 1.0f;
        for (int i = 0; i < 3; i++) {
            bed.gradient[0] = gradients[i];
            bed_step(&bed, 0.1f, 1.0f, true, 1);
            bed_flip(&bed);
            assert_true(fabs(bed.weight[bed.current][0] - expected[nesterov][i]) < 1e-6);
        }
        bed_close(&bed);
    }
}

// Each product is rounded before it is added, on processors too that could do both at once: nodes
// with unlike ones replicate the same bits.
static void sgd_rounds_as_written(void **state)
{
    (void)state;
    const struct optim_settings sgd = {.momentum = 0.9f, .weight_decay = 5e-2f};
    struct bed a = bed_open(optim_rule_find("sgd"), &sgd, 4097);
    bed_step(&a, 0.1f, 0.7f / 64.0f, true, 1);
    bed_flip(&a);
    struct bed before = bed_open(optim_rule_find("sgd"), &sgd, 4097);
    for (size_t i = 0; i < a.count; i++) {
        volatile float w = before.weight[0][i];
        volatile float mean = before.gradient[i] * (0.7f / 64.0f), decay = 5e-2f * w;
        volatile float g = mean + decay, kept = 0.9f * optim_state(before.optim, 0)[i];
        volatile float v = kept + g, move = 0.1f * v, next = w - move;
        assert_true(optim_state(a.optim, 0)[i] == v);
        assert_true(a.weight[1][i] == next);
    }
    bed_close(&a);
    bed_close(&before);
}

// ---- AdamW -------------------------------------------------------------------------------------

// torch.optim.AdamW([w], lr=0.01, weight_decay=…), w = 1 in double precision, gradients 0.5, −0.25,
// 2, 0.001, −3.
static void adamw_follows_pytorch(void **state)
{
    (void)state;
    static const float gradients[5] = {0.5f, -0.25f, 2.0f, 0.001f, -3.0f};
    static const double expected[2][5] = {
        {0.9900000002, 0.9873366298708, 0.9806301534529, 0.9751338167247, 0.9769783008406},
        {0.9890000002, 0.9853476298706, 0.9776558058228, 0.9711818132889, 0.9720551155914}};
    const struct optim_settings adamw = {
        .momentum = 0.9f, .weight_decay = 0.1f, .beta2 = 0.999f, .epsilon = 1e-8f};
    for (int decay = 0; decay < 2; decay++) {
        struct bed bed = bed_open(optim_rule_find("adamw"), &adamw, 1);
        optim_clear(bed.optim);
        bed.weight[0][0] = 1.0f;
        for (int i = 0; i < 5; i++) {
            bed.gradient[0] = 4.0f * gradients[i];
            bed_step(&bed, 0.01f, 0.25f, decay, 1);
            bed_flip(&bed);
            assert_true(fabs(bed.weight[bed.current][0] - expected[decay][i]) < 1e-6);
        }
        bed_close(&bed);
    }
}

// ---- any rule ----------------------------------------------------------------------------------

static const struct optim_settings usual = {
    .momentum = 0.9f, .weight_decay = 1e-3f, .nesterov = true, .beta2 = 0.99f, .epsilon = 1e-6f};

// Threads take parts of an array, wherever it is cut, and a large array's states are streamed.
static void check_cuts(const struct optim_rule *rule, size_t count)
{
    struct bed one = bed_open(rule, &usual, count);
    struct optim_stretch whole = {.count = count,
                                  .decay = true,
                                  .gradient_sum = one.gradient,
                                  .weight = one.weight[0],
                                  .weight_next = one.weight[1]};
    float *next[OPTIM_STATES_MAX] = {NULL};
    for (int s = 0; s < rule->does->states; s++) {
        whole.state[s] = optim_state(one.optim, s);
        whole.state_next[s] = next[s] = malloc(count * sizeof(float));
        assert_non_null(next[s]);
    }
    rule->does->step(&usual, &(struct optim_move){.lr = 0.1f, .scale = 0.01f, .step = 1}, &whole);
    for (size_t parts = 1; parts <= 3; parts++) {
        struct bed many = bed_open(rule, &usual, count);
        bed_step(&many, 0.1f, 0.01f, true, parts);
        bed_flip(&many);
        assert_memory_equal(one.weight[1], many.weight[1], count * sizeof(float));
        for (int s = 0; s < rule->does->states; s++) {
            assert_memory_equal(next[s], optim_state(many.optim, s), count * sizeof(float));
        }
        bed_close(&many);
    }
    for (int s = 0; s < rule->does->states; s++) {
        free(next[s]);
    }
    bed_close(&one);
}

static void cuts_do_not_matter(void **state)
{
    (void)state;
    check_cuts(optim_rule_find("sgd"), 1003);
    check_cuts(optim_rule_find("adamw"), 1003);
    check_cuts(&two_means, 1003);
    check_cuts(optim_rule_find("sgd"), STREAMED + 5);
    check_cuts(&two_means, STREAMED + 5);
}

// What is not flipped has not happened, and may be done again.
static void check_copies(const struct optim_rule *rule)
{
    struct bed a = bed_open(rule, &usual, 257), before = bed_open(rule, &usual, 257);
    struct bed once = bed_open(rule, &usual, 257);
    bed_step(&a, 5.0f, 1.0f, true, 2);
    beds_equal(&a, &before);
    bed_step(&a, 0.1f, 0.01f, true, 1);
    bed_flip(&a);
    bed_step(&once, 0.1f, 0.01f, true, 1);
    bed_flip(&once);
    beds_equal(&a, &once);
    assert_memory_not_equal(a.weight[0], a.weight[1], 257 * sizeof(float));
    bed_close(&a);
    bed_close(&before);
    bed_close(&once);
}

static void only_the_flip_counts(void **state)
{
    (void)state;
    for (int i = 0; i < optim_rules_count; i++) {
        check_copies(&optim_rules[i]);
    }
    check_copies(&two_means);
}

static void rules_are_a_list(void **state)
{
    (void)state;
    assert_null(optim_rule_find("SGD"));
    for (int i = 0; i < optim_rules_count; i++) {
        const struct optim_rule *rule = &optim_rules[i];
        assert_ptr_equal(optim_rule_find(rule->name), rule);
        assert_true(strlen(rule->help) > 10);
        assert_in_range(rule->does->states, 0, OPTIM_STATES_MAX);
        for (int s = 0; s < rule->does->states; s++) {
            assert_non_null(rule->does->state_names[s]);
        }
    }
    assert_int_equal(optim_rule_bytes(optim_rule_find("sgd")), 8);
    assert_int_equal(optim_rule_bytes(&two_means), 16);
    assert_int_equal(optim_rule_bytes(optim_rule_find("adamw")), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_follows_the_formula), cmocka_unit_test(sgd_follows_pytorch),
        cmocka_unit_test(sgd_rounds_as_written),   cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(only_the_flip_counts),    cmocka_unit_test(rules_are_a_list),
        cmocka_unit_test(adamw_follows_pytorch),
    };
    return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
