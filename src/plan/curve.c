// SPDX-License-Identifier: Apache-2.0
#include "plan/curve.h"

#include <assert.h>
#include <math.h>

#include "plan/fit.h"

static double point_seconds(const struct plan_point *point)
{
    return point->micro_batches / point->speed;
}

static enum stn_status check_points(const struct plan_point points[], int count)
{
    if (count < 1) {
        return stn_fail(STN_ERR_INVALID, "a speed table without points: give at least one");
    }
    for (int i = 0; i < count; i++) {
        if (points[i].micro_batches < 1 || !(points[i].speed > 0.0) || !isfinite(points[i].speed)) {
            return stn_fail(STN_ERR_INVALID,
                            "speed table, point %d: batch %d at speed %g; both must be positive",
                            i + 1, points[i].micro_batches, points[i].speed);
        }
        if (i == 0) {
            continue;
        }
        const struct plan_point *before = &points[i - 1];
        if (points[i].micro_batches <= before->micro_batches ||
            point_seconds(&points[i]) < point_seconds(before)) {
            return stn_fail(STN_ERR_INVALID,
                            "speed table, point %d: batch %d takes %g s after batch %d with %g s; "
                            "batches and times must rise: measure again",
                            i + 1, points[i].micro_batches, point_seconds(&points[i]),
                            before->micro_batches, point_seconds(before));
        }
    }
    return STN_OK;
}

enum stn_status plan_curve_from_points(const struct plan_point points[], int count,
                                       struct plan_curve *out)
{
    enum stn_status status = check_points(points, count);
    if (status) {
        return status;
    }
    struct plan_sample samples[PLAN_FIT_SAMPLES_MAX];
    int skipped = count > PLAN_FIT_SAMPLES_MAX ? count - PLAN_FIT_SAMPLES_MAX : 0;
    for (int i = skipped; i < count; i++) {
        samples[i - skipped] = (struct plan_sample){.micro_batches = points[i].micro_batches,
                                                    .seconds = point_seconds(&points[i])};
    }
    struct plan_fit fit;
    plan_fit_samples(samples, count - skipped, &plan_fit_defaults, &fit);
    *out = (struct plan_curve){.line = fit.line, .points = points, .count = count};
    return STN_OK;
}

static double table_speed(const struct plan_curve *curve, int micro_batches)
{
    const struct plan_point *points = curve->points, *last = &points[curve->count - 1];
    if (micro_batches >= last->micro_batches) {
        return last->speed;
    }
    if (micro_batches <= points[0].micro_batches) {
        return points[0].speed * micro_batches / points[0].micro_batches;
    }
    const struct plan_point *above = points;
    while (above->micro_batches < micro_batches) {
        above++;
    }
    const struct plan_point *below = above - 1;
    double part = (double)(micro_batches - below->micro_batches) /
                  (above->micro_batches - below->micro_batches);
    return below->speed + part * (above->speed - below->speed);
}

double plan_curve_speed(const struct plan_curve *curve, int micro_batches)
{
    if (micro_batches <= 0) {
        return 0.0;
    }
    if (curve->count > 0) {
        return table_speed(curve, micro_batches);
    }
    return micro_batches / plan_line_seconds(&curve->line, micro_batches);
}

double plan_curve_seconds(const struct plan_curve *curve, int micro_batches)
{
    if (curve->count == 0 || micro_batches <= 0) {
        return plan_line_seconds(&curve->line, micro_batches);
    }
    if (micro_batches <= curve->points[0].micro_batches) {
        return point_seconds(&curve->points[0]); // to the bit, as searches compare it
    }
    return micro_batches / table_speed(curve, micro_batches);
}

int plan_curve_within(const struct plan_curve *curve, double seconds, int least, int most)
{
    int within = least, beyond = most; // `beyond` may still be within; what is above it is not
    while (within < beyond) {
        int middle = beyond - (beyond - within) / 2;
        if (plan_curve_seconds(curve, middle) <= seconds) {
            within = middle;
        } else {
            beyond = middle - 1;
        }
    }
    return within;
}

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static int table_best(const struct plan_curve *curve, double knee, int least, int most)
{
    double best = 0.0;
    for (int i = 0; i < curve->count; i++) {
        int batch = clamp(curve->points[i].micro_batches, least, most);
        best = fmax(best, plan_curve_speed(curve, batch));
    }
    int i = 0, batch;
    do {
        batch = clamp(curve->points[i].micro_batches, least, most);
    } while (plan_curve_speed(curve, batch) < knee * best && ++i < curve->count);
    return batch;
}

int plan_curve_best(const struct plan_curve *curve, double knee, int least, int most)
{
    assert(least >= 1 && least <= most && knee > 0.0 && knee <= 1.0);
    if (curve->count > 0) {
        return table_best(curve, knee, least, most);
    }
    double enough = knee * plan_curve_speed(curve, most);
    int slow = least - 1, fast = most; // `fast` is fast enough, `slow` is not
    while (fast - slow > 1) {
        int middle = slow + (fast - slow) / 2;
        if (plan_curve_speed(curve, middle) < enough) {
            slow = middle;
        } else {
            fast = middle;
        }
    }
    return fast;
}
