// SPDX-License-Identifier: Apache-2.0
// Optimizers as objects. A rule says how a parameter moves; an optimizer is a rule at work on one
// net's parameters, with the arrays that the rule remembers.
//
// Everything that a step changes lives in two copies: the step reads copy A and writes copy B, and
// B counts only after the flip, which the net makes at the same moment (engine_flip). So a step can
// be thrown away at any point before it, and the state of the last step is whole at any time
// (docs/decisions/0025).
//
// A rule is one file here, <word>.c, and one row of OPTIM_LIST, from which its declaration, name
// and help are made. Memory is allocated by optim_create alone. Threads: optim_step may run on
// several at once, each with stretches of its own; all else on one.
#ifndef OPTIM_OPTIMIZER_H
#define OPTIM_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

// Every optimizer: its name, and what it is.
// clang-format off
#define OPTIM_LIST(row) \
    row(sgd, "stochastic gradient descent with momentum, plain or Nesterov's")                     \
    row(adamw, "Adam with weight decay of its own")
// clang-format on

enum { OPTIM_STATES_MAX = 2 };

// What the rules may be told by a user; each takes what it knows.
struct optim_settings {
    float momentum, weight_decay;
    bool nesterov;
    float beta2, epsilon;
};

// Of one step, for all parameters alike.
struct optim_move {
    float lr;
    float scale;  // makes the mean gradient of the sum
    int64_t step; // from 1, over the whole training
};

// Consecutive parameters. Every element moves by itself, so it does not matter how an array is cut
// into stretches. No array overlaps another.
struct optim_stretch {
    size_t count;
    bool decay; // whether weight decay applies (not to batch norm and biases)
    const float *gradient_sum;
    const float *weight, *state[OPTIM_STATES_MAX]; // copy A
    float *weight_next, *state_next[OPTIM_STATES_MAX];
};

struct optim_rule_ways {
    int states;                                // arrays of a number for each parameter
    const char *state_names[OPTIM_STATES_MAX]; // in checkpoints: optimizer.<name>.<tensor>
    double usual_lr;                           // learning rate where the user names none
    // Never contracts or reorders: the same bits on every CPU.
    void (*step)(const struct optim_settings *settings, const struct optim_move *move,
                 const struct optim_stretch *stretch);
};

struct optim_rule {
    const char *name, *help;
    const struct optim_rule_ways *does;
};

// Declares optim_sgd and the others, one in each file.
#define OPTIM_DECLARE(word, help) extern const struct optim_rule_ways optim_##word;
OPTIM_LIST(OPTIM_DECLARE)
#undef OPTIM_DECLARE

extern const struct optim_rule optim_rules[]; // in the order of the list
extern const int optim_rules_count;

const struct optim_rule *optim_rule_find(const char *name); // NULL: there is none
// What the rule keeps for each parameter, in both copies.
size_t optim_rule_bytes(const struct optim_rule *rule);

struct optim;

// For `count` parameters, all states 0. The rule is borrowed.
STN_MUST_CHECK enum stn_status optim_create(const struct optim_rule *rule,
                                            const struct optim_settings *settings, size_t count,
                                            struct optim **out);
void optim_destroy(struct optim *optim); // NULL is fine
const struct optim_rule *optim_rule(const struct optim *optim);
// State array `index` of the current copy, [count]; writable, owned by the optimizer.
float *optim_state(struct optim *optim, int index);
void optim_clear(struct optim *optim); // all states 0, in the current copy

// Where the net's flat arrays are.
struct optim_arrays {
    const float *gradient_sums, *weights;
    float *weights_next;
};

// Parameters [from, from + count) from copy A to copy B, in one pass over memory.
void optim_step(const struct optim *optim, const struct optim_move *move,
                const struct optim_arrays *arrays, size_t from, size_t count, bool decay);
// Copy B becomes the current one.
void optim_flip(struct optim *optim);

#endif
