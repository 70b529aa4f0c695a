// SPDX-License-Identifier: Apache-2.0
#include "report/fanout.h"

#include <assert.h>

// Calls one member of every observer that has it.
#define PASS_ON(context, member, ...)                                                              \
    do {                                                                                           \
        const struct report_fanout *fanout = (context);                                            \
        for (int i = 0; i < fanout->count; i++) {                                                  \
            const struct stn_train_observer *o = &fanout->observers[i];                            \
            if (o->member) {                                                                       \
                o->member(o->context, __VA_ARGS__);                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static void on_tuning(void *context, const struct stn_tune_progress *tuning)
{
    PASS_ON(context, tuning, tuning);
}

static void on_tuned(void *context, const struct stn_plan *plan)
{
    PASS_ON(context, tuned, plan);
}

static void on_start(void *context, const struct stn_train_start *start)
{
    PASS_ON(context, start, start);
}

static void on_step(void *context, const struct stn_train_step *step)
{
    PASS_ON(context, step, step);
}

static void on_epoch(void *context, const struct stn_train_epoch *epoch)
{
    PASS_ON(context, epoch, epoch);
}

static void on_eval(void *context, int64_t done, int64_t total)
{
    PASS_ON(context, eval, done, total);
}

static void on_saved(void *context, const char *path)
{
    PASS_ON(context, saved, path);
}

static void on_change(void *context, const struct stn_train_change *change)
{
    PASS_ON(context, change, change);
}

static void on_nodes(void *context, const struct stn_train_node *nodes, int count)
{
    PASS_ON(context, nodes, nodes, count);
}

static void on_energy(void *context, const struct stn_train_energy *energy)
{
    PASS_ON(context, energy, energy);
}

void report_fanout_add(struct report_fanout *fanout, struct stn_train_observer observer)
{
    assert(fanout->count < REPORT_FANOUT_MAX);
    fanout->observers[fanout->count++] = observer;
}

struct stn_train_observer report_fanout_observer(struct report_fanout *fanout)
{
    return (struct stn_train_observer){.context = fanout,
                                       .tuning = on_tuning,
                                       .tuned = on_tuned,
                                       .start = on_start,
                                       .step = on_step,
                                       .epoch = on_epoch,
                                       .eval = on_eval,
                                       .saved = on_saved,
                                       .change = on_change,
                                       .nodes = on_nodes,
                                       .energy = on_energy};
}
