// SPDX-License-Identifier: Apache-2.0
#include "hypertune/window.h"

#include <string.h>

static int position_of(const struct hypertune_window *w, float value)
{
    int i = 0;
    while (i < w->count && w->sorted[i] < value) {
        i++;
    }
    return i;
}

static void sorted_remove(struct hypertune_window *w, float value)
{
    int i = position_of(w, value);
    w->count--;
    memmove(&w->sorted[i], &w->sorted[i + 1], (size_t)(w->count - i) * sizeof(*w->sorted));
}

static void sorted_insert(struct hypertune_window *w, float value)
{
    int i = position_of(w, value);
    memmove(&w->sorted[i + 1], &w->sorted[i], (size_t)(w->count - i) * sizeof(*w->sorted));
    w->sorted[i] = value;
    w->count++;
}

void hypertune_window_add(struct hypertune_window *window, double value)
{
    float *oldest = &window->arrived[window->next];
    if (window->count == HYPERTUNE_WINDOW_SIZE) {
        sorted_remove(window, *oldest);
    }
    *oldest = (float)value;
    sorted_insert(window, *oldest);
    window->next = (window->next + 1) % HYPERTUNE_WINDOW_SIZE;
}

double hypertune_window_quantile(const struct hypertune_window *window, double share)
{
    int last = window->count - 1;
    return last < 0 ? 0.0 : (double)window->sorted[(int)(share * last + 0.5)];
}
