// SPDX-License-Identifier: Apache-2.0
// How long a node computes for m micro-batches, and how fast it is then. Two descriptions: a line,
// which is what a node of ours follows (plan/fit.h measures it), or a table of measured speeds, as
// the papers have it: speed rises with the batch until it saturates. Pure.
#ifndef PLAN_CURVE_H
#define PLAN_CURVE_H

#include "stannis/status.h"

// t(m) = fixed_s + each_s·m for m ≥ 1. Without work a node takes no time: t(0) = 0.
struct plan_line {
    double fixed_s; // ≥ 0
    double each_s;  // > 0
};

static inline double plan_line_seconds(const struct plan_line *line, int micro_batches)
{
    return micro_batches > 0 ? line->fixed_s + line->each_s * micro_batches : 0.0;
}

struct plan_point {
    int micro_batches; // ≥ 1, rising from point to point
    double speed;      // micro-batches a second, > 0
};

struct plan_curve {
    struct plan_line line;
    // [count] When there are any, seconds and speeds come from them: straight between two points,
    // constant above the last. Below the first the time is constant, as nothing better is known.
    const struct plan_point *points;
    int count;
};

// A curve of measured points (borrowed), and the line that fits them. Refused: no points, or times
// that fall while the batch grows.
STN_MUST_CHECK enum stn_status plan_curve_from_points(const struct plan_point points[], int count,
                                                      struct plan_curve *out);

double plan_curve_seconds(const struct plan_curve *curve, int micro_batches);
double plan_curve_speed(const struct plan_curve *curve,
                        int micro_batches); // micro-batches a second

// The most micro-batches of [least, most] that take at most `seconds`; `least` if none does.
int plan_curve_within(const struct plan_curve *curve, double seconds, int least, int most);

// The papers' "best batch": the smallest of [least, most] whose speed reaches `knee` of the best
// there; of a table, only its points are looked at. 1 ≤ least ≤ most, 0 < knee ≤ 1.
int plan_curve_best(const struct plan_curve *curve, double knee, int least, int most);

#endif
