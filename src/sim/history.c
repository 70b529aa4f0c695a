// SPDX-License-Identifier: Apache-2.0
#include "sim/history.h"

static void halve(struct sim_history *history)
{
    for (int i = 0; i < SIM_HISTORY_MOST / 2; i++) {
        struct sim_history_span *into = &history->spans[i], *from = &history->spans[2 * i];
        *into = (struct sim_history_span){
            .first_step = from[0].first_step,
            .last_step = from[1].last_step,
            .images = from[0].images + from[1].images,
            .seconds = from[0].seconds + from[1].seconds,
        };
    }
    history->count = SIM_HISTORY_MOST / 2;
    history->steps_each *= 2;
}

void sim_history_add(struct sim_history *history, const struct sim_step *step)
{
    if (history->steps_each == 0) {
        history->steps_each = 1;
    }
    struct sim_history_span *last = &history->spans[history->count > 0 ? history->count - 1 : 0];
    bool full = history->count == 0 || step->step >= last->first_step + history->steps_each;
    if (full && history->count == SIM_HISTORY_MOST) {
        halve(history);
        last = &history->spans[history->count - 1];
        full = step->step >= last->first_step + history->steps_each;
    }
    if (full) {
        last = &history->spans[history->count++];
        *last = (struct sim_history_span){.first_step = step->step};
    }
    last->last_step = step->step;
    last->images += step->images;
    last->seconds += step->seconds;
}

void sim_history_speeds(const struct sim_history *history, double steps[], double speeds[])
{
    for (int i = 0; i < history->count; i++) {
        const struct sim_history_span *span = &history->spans[i];
        steps[i] = (double)(span->first_step + span->last_step) / 2.0;
        speeds[i] = (double)span->images / span->seconds;
    }
}
