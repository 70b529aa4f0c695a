// SPDX-License-Identifier: Apache-2.0
// Quantiles of the latest values of a series. Constant memory, and time that only the size of the
// window bounds. Pure.
#ifndef HYPERTUNE_WINDOW_H
#define HYPERTUNE_WINDOW_H

enum { HYPERTUNE_WINDOW_SIZE = 31 };

// Zero-initialise.
struct hypertune_window {
    int count, next;
    float arrived[HYPERTUNE_WINDOW_SIZE]; // ring
    float sorted[HYPERTUNE_WINDOW_SIZE];
};

void hypertune_window_add(struct hypertune_window *window, double value);
// The value that `share` (0 … 1) of them do not exceed; 0 if there are none.
double hypertune_window_quantile(const struct hypertune_window *window, double share);

#endif
