// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "optim/stream.h"

enum { COPIES = 2 };

// From so many bytes of weights and states on, new states go to memory past the cache: nobody reads
// them before the next step, and an ordinary store would first fetch what it overwrites. New
// weights do not, for the net packs them next (docs/decisions/0025 has the figures).
static const size_t streamed_bytes_min = 16 << 20;

// So many values are computed in the first-level cache before they go.
enum { BLOCK = 1024 };

struct optim {
    const struct optim_rule *rule;
    struct optim_settings settings;
    size_t count; // parameters
    bool streams;
    int current;                             // copy
    float *states[COPIES][OPTIM_STATES_MAX]; // [count]
};

// ---- rules -------------------------------------------------------------------------------------

#define OBJECT(word, help) {#word, help, &optim_##word},
const struct optim_rule optim_rules[] = {OPTIM_LIST(OBJECT)};
#undef OBJECT
const int optim_rules_count = sizeof(optim_rules) / sizeof(optim_rules[0]);

const struct optim_rule *optim_rule_find(const char *name)
{
    for (int i = 0; i < optim_rules_count; i++) {
        if (strcmp(optim_rules[i].name, name) == 0) {
            return &optim_rules[i];
        }
    }
    return NULL;
}

size_t optim_rule_bytes(const struct optim_rule *rule)
{
    return (size_t)rule->does->states * COPIES * sizeof(float);
}

// ---- an optimizer ------------------------------------------------------------------------------

enum stn_status optim_create(const struct optim_rule *rule, const struct optim_settings *settings,
                             size_t count, struct optim **out)
{
    *out = NULL;
    struct optim *optim = calloc(1, sizeof(*optim));
    size_t bytes = count * sizeof(float);
    bool ok = optim != NULL;
    if (ok) {
        *optim = (struct optim){.rule = rule,
                                .settings = *settings,
                                .count = count,
                                .streams =
                                    (size_t)(1 + rule->does->states) * bytes >= streamed_bytes_min};
    }
    for (int i = 0; ok && i < COPIES * rule->does->states; i++) {
        float **array = &optim->states[i % COPIES][i / COPIES];
        *array = base_pages_alloc(bytes);
        ok = *array != NULL;
    }
    if (!ok) {
        optim_destroy(optim);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for what %s keeps of %zu parameters",
                        rule->name, count);
    }
    *out = optim;
    return STN_OK;
}

void optim_destroy(struct optim *optim)
{
    for (int i = 0; optim && i < COPIES * OPTIM_STATES_MAX; i++) {
        base_pages_free(optim->states[i % COPIES][i / COPIES], optim->count * sizeof(float));
    }
    free(optim);
}

const struct optim_rule *optim_rule(const struct optim *optim)
{
    return optim->rule;
}

float *optim_state(struct optim *optim, int index)
{
    return optim->states[optim->current][index];
}

void optim_clear(struct optim *optim)
{
    for (int i = 0; i < optim->rule->does->states; i++) {
        memset(optim_state(optim, i), 0, optim->count * sizeof(float));
    }
}

void optim_flip(struct optim *optim)
{
    optim->current = 1 - optim->current;
}

// ---- a step ------------------------------------------------------------------------------------

static struct optim_stretch stretch_at(const struct optim *optim, const struct optim_arrays *arrays,
                                       size_t at, size_t count)
{
    struct optim_stretch stretch = {.count = count,
                                    .gradient_sum = arrays->gradient_sums + at,
                                    .weight = arrays->weights + at,
                                    .weight_next = arrays->weights_next + at};
    for (int i = 0; i < optim->rule->does->states; i++) {
        stretch.state[i] = optim->states[optim->current][i] + at;
        stretch.state_next[i] = optim->states[1 - optim->current][i] + at;
    }
    return stretch;
}

static void step_streamed(const struct optim *optim, const struct optim_move *move,
                          const struct optim_stretch *to)
{
    float state[OPTIM_STATES_MAX][BLOCK];
    struct optim_stretch block = *to;
    for (int i = 0; i < optim->rule->does->states; i++) {
        block.state_next[i] = state[i];
    }
    optim->rule->does->step(&optim->settings, move, &block);
    for (int i = 0; i < optim->rule->does->states; i++) {
        optim_stream(state[i], to->count, to->state_next[i]);
    }
}

void optim_step(const struct optim *optim, const struct optim_move *move,
                const struct optim_arrays *arrays, size_t from, size_t count, bool decay)
{
    size_t most = optim->streams ? BLOCK : count;
    for (size_t done = 0; done < count; done += most) {
        size_t left = count - done;
        struct optim_stretch stretch =
            stretch_at(optim, arrays, from + done, left < most ? left : most);
        stretch.decay = decay;
        if (optim->streams) {
            step_streamed(optim, move, &stretch);
        } else {
            optim->rule->does->step(&optim->settings, move, &stretch);
        }
    }
    if (optim->streams) {
        optim_stream_end();
    }
}
