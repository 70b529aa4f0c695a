// SPDX-License-Identifier: Apache-2.0
#include "plan/fit.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

const struct plan_fit_options plan_fit_defaults = {
    .top = 8,
    .precision = 0.02,
    .tolerable = 0.04,
    .noise = 0.10,
    .outliers = 0.25,
    .samples_least = 3,
    .samples_most = 36,
};

static const double BIWEIGHT_REACH = 4.685; // 95 % as efficient as least squares on normal noise
static const double MAD_TO_SIGMA = 1.4826;
// No clock is better; and exact samples must not divide by 0.
static const double NOISE_LEAST = 1e-4;
// How far the samples of one m may lie off the line, all together, before it is no line.
static const double MISFIT_LEAST = 0.03;
// Other programs only make things slower: when more than this part is far *below* the line, it is
// the line that is disturbed.
static const double FAST_OUTLIERS_MOST = 0.05;
enum { REFINEMENTS = 20, PLACES_MAX = 3 };

struct data {
    const struct plan_sample *samples;
    int count;
    double weights[PLAN_FIT_SAMPLES_MAX]; // biweight: 1 on the line, 0 for an outlier
    // A sample at m = 0, where nothing can be measured: what was known before.
    double known_s, known_weight;
};

// ---- medians -----------------------------------------------------------------------------------

// Sorts by insertion: a few dozen values.
static double median(double values[], int count)
{
    for (int i = 1; i < count; i++) {
        double value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

// Of the slopes from one sample to all others; false: all have the same m.
static bool slope_from(const struct data *data, int from, double *slope)
{
    double slopes[PLAN_FIT_SAMPLES_MAX];
    const struct plan_sample *one = &data->samples[from];
    int count = 0;
    for (int i = 0; i < data->count; i++) {
        int apart = data->samples[i].micro_batches - one->micro_batches;
        if (apart != 0) {
            slopes[count++] = (data->samples[i].seconds - one->seconds) / apart;
        }
    }
    *slope = count > 0 ? median(slopes, count) : 0.0;
    return count > 0;
}

static struct plan_line line_through_origin(const struct data *data)
{
    double each_s[PLAN_FIT_SAMPLES_MAX];
    for (int i = 0; i < data->count; i++) {
        each_s[i] = data->samples[i].seconds / data->samples[i].micro_batches;
    }
    return (struct plan_line){.each_s = median(each_s, data->count)};
}

// The repeated median.
static struct plan_line line_first(const struct data *data)
{
    double values[PLAN_FIT_SAMPLES_MAX];
    for (int i = 0; i < data->count; i++) {
        if (!slope_from(data, i, &values[i])) {
            return line_through_origin(data);
        }
    }
    struct plan_line line = {.each_s = median(values, data->count)};
    for (int i = 0; i < data->count; i++) {
        values[i] = data->samples[i].seconds - line.each_s * data->samples[i].micro_batches;
    }
    line.fixed_s = median(values, data->count);
    return line.each_s > 0.0 && line.fixed_s >= 0.0 ? line : line_through_origin(data);
}

// How far a sample is above the line, as a part of it.
static double off_line(const struct plan_sample *sample, const struct plan_line *line)
{
    return sample->seconds / plan_line_seconds(line, sample->micro_batches) - 1.0;
}

static double noise_around(const struct data *data, const struct plan_line *line)
{
    double off[PLAN_FIT_SAMPLES_MAX];
    for (int i = 0; i < data->count; i++) {
        off[i] = fabs(off_line(&data->samples[i], line));
    }
    return fmax(NOISE_LEAST, MAD_TO_SIGMA * median(off, data->count));
}

// ---- weighted least squares --------------------------------------------------------------------

static void weigh(struct data *data, const struct plan_line *line, double noise)
{
    for (int i = 0; i < data->count; i++) {
        double reach = off_line(&data->samples[i], line) / (BIWEIGHT_REACH * noise);
        double left = fmax(0.0, 1.0 - reach * reach);
        data->weights[i] = left * left;
    }
}

// Sums over samples of weight·m^k and weight·m^k·t, in parts of the predicted time.
struct moments {
    double one, m, mm, t, mt;
};

static struct moments moments_of(const struct data *data, const struct plan_line *line)
{
    struct moments sums = {.one = data->known_weight, .t = data->known_weight * data->known_s};
    for (int i = 0; i < data->count; i++) {
        double m = data->samples[i].micro_batches, t = data->samples[i].seconds;
        double expected_s = plan_line_seconds(line, data->samples[i].micro_batches);
        double weight = data->weights[i] / (expected_s * expected_s);
        sums.one += weight;
        sums.m += weight * m;
        sums.mm += weight * m * m;
        sums.t += weight * t;
        sums.mt += weight * m * t;
    }
    return sums;
}

// 0 when all samples that count have the same m.
static double determinant(const struct moments *sums)
{
    double value = sums->one * sums->mm - sums->m * sums->m;
    return value > 1e-12 * sums->one * sums->mm ? value : 0.0;
}

static struct plan_line line_refined(const struct data *data, const struct plan_line *line)
{
    struct moments sums = moments_of(data, line);
    double d = determinant(&sums);
    struct plan_line refined = {.each_s = sums.mm > 0.0 ? sums.mt / sums.mm : line->each_s};
    if (d > 0.0) {
        double each_s = (sums.one * sums.mt - sums.m * sums.t) / d;
        double fixed_s = (sums.mm * sums.t - sums.m * sums.mt) / d;
        if (each_s > 0.0 && fixed_s >= 0.0) {
            refined = (struct plan_line){.fixed_s = fixed_s, .each_s = each_s};
        }
    }
    return refined;
}

// By what part the samples are above the line on average, none counted as further than three
// deviations. Disturbances only make things slower: samples are short and the line is that of quiet
// ones, but a long step has its share of all of them.
static double drag(const struct data *data, const struct plan_fit *fit)
{
    double sum = 0.0, reach = 3.0 * fit->noise;
    for (int i = 0; i < data->count; i++) {
        sum += fmax(-reach, fmin(reach, off_line(&data->samples[i], &fit->line)));
    }
    return sum / data->count;
}

static void fill_errors(const struct data *data, struct plan_fit *fit)
{
    double weights = 0.0, squares = 0.0;
    for (int i = 0; i < data->count; i++) {
        double off = off_line(&data->samples[i], &fit->line);
        weights += data->weights[i];
        squares += data->weights[i] * off * off;
        fit->outliers += data->weights[i] == 0.0;
    }
    // Two go for a and c, and two more for the tails of Student's distribution with few samples.
    double freedom = weights - 4.0;
    double variance = freedom > 1.0 ? squares / freedom : fit->noise * fit->noise;
    variance = fmax(variance, NOISE_LEAST * NOISE_LEAST);
    struct moments sums = moments_of(data, &fit->line);
    double d = determinant(&sums);
    if (d > 0.0) {
        fit->fixed_error_s = sqrt(variance * sums.mm / d);
        fit->each_error_s = sqrt(variance * sums.one / d);
        fit->covariance = -variance * sums.m / d;
    } else if (sums.mm > 0.0) { // through the origin
        fit->each_error_s = sqrt(variance / sums.mm);
    }
}

double plan_fit_error_s(const struct plan_fit *fit, int micro_batches)
{
    double m = micro_batches;
    double variance = fit->fixed_error_s * fit->fixed_error_s + 2.0 * m * fit->covariance +
                      m * m * fit->each_error_s * fit->each_error_s;
    return sqrt(fmax(0.0, variance));
}

// ---- what to make of it ------------------------------------------------------------------------

// Where to measure: the ends, which say most about a line, and the middle, which says whether it is
// one. Returns how many.
static int places_list(const struct plan_fit_options *options, int places[PLACES_MAX])
{
    const int middle = (1 + options->top) / 2;
    int count = 0;
    places[count++] = 1;
    if (middle > 1) {
        places[count++] = middle;
    }
    if (options->top > middle) {
        places[count++] = options->top;
    }
    return count;
}

static int samples_at(const struct data *data, int micro_batches)
{
    int count = 0;
    for (int i = 0; i < data->count; i++) {
        count += data->samples[i].micro_batches == micro_batches && data->weights[i] > 0.0;
    }
    return count;
}

// In turns, so that a disturbance hits all of them; outliers are measured again.
static int place_next(const struct data *data, const int places[], int count)
{
    int next = places[0], fewest = samples_at(data, places[0]);
    for (int i = 1; i < count; i++) {
        int have = samples_at(data, places[i]);
        if (have < fewest) {
            next = places[i];
            fewest = have;
        }
    }
    return next;
}

// All samples of one m, outliers too, lie off to one side by more than chance allows.
static bool misses(const struct data *data, const struct plan_fit *fit, int micro_batches)
{
    double off[PLAN_FIT_SAMPLES_MAX];
    int count = 0;
    for (int i = 0; i < data->count; i++) {
        if (data->samples[i].micro_batches == micro_batches) {
            off[count++] = off_line(&data->samples[i], &fit->line);
        }
    }
    if (count == 0) {
        return false;
    }
    double chance = 4.0 * fit->noise / sqrt(count);
    return fabs(median(off, count)) > fmax(MISFIT_LEAST, chance);
}

static int fast_outliers(const struct data *data, const struct plan_fit *fit)
{
    int count = 0;
    for (int i = 0; i < data->count; i++) {
        count += data->weights[i] == 0.0 && off_line(&data->samples[i], &fit->line) < 0.0;
    }
    return count;
}

static const char *disturbance(const struct data *data, const struct plan_fit *fit,
                               const struct plan_fit_options *options)
{
    if (fit->outliers > options->outliers * data->count ||
        fast_outliers(data, fit) > FAST_OUTLIERS_MOST * data->count) {
        return "many measurements are far off the others: something else is running";
    }
    if (fit->noise > options->noise) {
        return "measurements scatter: something else is running";
    }
    for (int i = 0; i < data->count; i++) {
        if (misses(data, fit, data->samples[i].micro_batches)) {
            return "times are not on a line: the speed changed while measuring";
        }
    }
    return NULL;
}

static bool is_precise(const struct plan_fit *fit, const struct plan_fit_options *options)
{
    int target = options->target > 0 ? options->target : options->top;
    double wanted = fit->samples < options->samples_most ? options->precision : options->tolerable;
    return plan_fit_error_s(fit, target) <= wanted * plan_line_seconds(&fit->line, target);
}

static void judge(const struct data *data, const struct plan_fit_options *options,
                  struct plan_fit *fit)
{
    int places[PLACES_MAX], count = places_list(options, places);
    fit->next = place_next(data, places, count);
    fit->verdict = PLAN_FIT_MORE;
    bool enough = samples_at(data, fit->next) >= options->samples_least;
    fit->why = enough ? disturbance(data, fit, options) : "too few measurements";
    if (enough && !fit->why && !is_precise(fit, options)) {
        fit->why = "not precise enough yet";
    }
    if (!fit->why) {
        fit->verdict = PLAN_FIT_GOOD;
        fit->next = 0;
    } else if (fit->samples >= options->samples_most) {
        fit->verdict = PLAN_FIT_UNSURE;
        fit->next = 0;
    }
}

void plan_fit_samples(const struct plan_sample samples[], int count,
                      const struct plan_fit_options *options, struct plan_fit *out)
{
    int skipped = count > PLAN_FIT_SAMPLES_MAX ? count - PLAN_FIT_SAMPLES_MAX : 0;
    struct data data = {.samples = samples + skipped, .count = count - skipped};
    *out = (struct plan_fit){.samples = count};
    if (count > 0) {
        out->line = line_first(&data);
        out->noise = noise_around(&data, &out->line);
        if (options->fixed_error_s > 0.0) {
            double certainty = out->noise / options->fixed_error_s;
            data.known_s = options->fixed_s;
            data.known_weight = certainty * certainty;
        }
        for (int i = 0; i < REFINEMENTS; i++) {
            weigh(&data, &out->line, out->noise);
            out->line = line_refined(&data, &out->line);
        }
        fill_errors(&data, out);
        double slower = 1.0 + drag(&data, out);
        out->line.fixed_s *= slower;
        out->line.each_s *= slower;
    }
    judge(&data, options, out);
}
