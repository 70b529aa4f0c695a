// SPDX-License-Identifier: Apache-2.0
#include "hypertune/detect.h"

#include <math.h>
#include <string.h>

struct hypertune_detect_options hypertune_detect_defaults(void)
{
    return (struct hypertune_detect_options){
        .evidence_least = 1.0,
        .evidence_most = 4.0,
        .evidence_needed = 5.0,
        .noise_first = 0.05,
        .noise_least = 0.01,
        .memory_samples = 20.0,
    };
}

// Alone one of these is rare (1 in 40, to one side), and two in a row are no accident.
static const double clear_evidence = 2.0;
// Samples this close, in units of the noise of their difference, are of one level.
static const double agreement = 2.5;
// So many samples' worth of noise_first are mixed in: few differences say little.
static const double noise_first_weight = 4.0;

void hypertune_detect_init(struct hypertune_detect *detect, double slowdown, double weight)
{
    *detect = (struct hypertune_detect){.level = log(slowdown), .weight = weight};
}

double hypertune_detect_slowdown(const struct hypertune_detect *detect)
{
    return exp(detect->level);
}

// ---- noise --------------------------------------------------------------------------------------

// Of the sorted noises, `above` of them is so much or more.
static double noise_quantile(const struct hypertune_detect *d, double share)
{
    return (double)d->noises_sorted[(int)(share * (d->recent_noises - 1) + 0.5)];
}

// The deviation of a normal distribution with the same median; or with the same 80 % quantile, where
// the tails are heavier. A load that comes and goes spoils less than one in five.
static double noise_learned(const struct hypertune_detect *d)
{
    double middle = noise_quantile(d, 0.5) * 1.4826, tail = noise_quantile(d, 0.8) / 1.2816;
    return middle > tail ? middle : tail;
}

// Noise of the mean of m micro-batches falls with √m.
double hypertune_detect_noise(const struct hypertune_detect *detect,
                              const struct hypertune_detect_options *options, int micro_batches)
{
    double first = options->noise_first;
    if (detect->recent_noises > 0) {
        double learned = noise_learned(detect) / sqrt(micro_batches);
        double weight = detect->recent_noises;
        first = (first * noise_first_weight + learned * weight) / (noise_first_weight + weight);
    }
    return first > options->noise_least ? first : options->noise_least;
}

static int noise_position(const struct hypertune_detect *d, float noise)
{
    int i = 0;
    while (i < d->recent_noises && d->noises_sorted[i] < noise) {
        i++;
    }
    return i;
}

static void noise_forget(struct hypertune_detect *d, float noise)
{
    int i = noise_position(d, noise);
    d->recent_noises--;
    memmove(&d->noises_sorted[i], &d->noises_sorted[i + 1],
            (size_t)(d->recent_noises - i) * sizeof(*d->noises_sorted));
}

static void noise_learn(struct hypertune_detect *d, double difference, int micro_batches)
{
    // For one micro-batch: s²/m + s²/m' is the variance of the difference.
    float noise =
        (float)(fabs(difference) / sqrt(1.0 / micro_batches + 1.0 / d->recent_micro_batches));
    float *oldest = &d->noises[(d->samples - 1) % HYPERTUNE_NOISE_WINDOW];
    if (d->recent_noises == HYPERTUNE_NOISE_WINDOW) {
        noise_forget(d, *oldest);
    }
    *oldest = noise;
    int i = noise_position(d, noise);
    memmove(&d->noises_sorted[i + 1], &d->noises_sorted[i],
            (size_t)(d->recent_noises - i) * sizeof(*d->noises_sorted));
    d->noises_sorted[i] = noise;
    d->recent_noises++;
}

// ---- samples ------------------------------------------------------------------------------------

// The latest is 0 samples ago.
static double sample_ago(const struct hypertune_detect *d, int ago)
{
    return d->recent[(d->samples - 1 - ago) % HYPERTUNE_RECENT];
}

static void sample_keep(struct hypertune_detect *d, double sample, int micro_batches)
{
    if (d->samples > 0) {
        noise_learn(d, sample - sample_ago(d, 0), micro_batches);
    }
    d->recent[d->samples % HYPERTUNE_RECENT] = sample;
    d->recent_micro_batches = micro_batches;
    d->samples++;
}

static double median_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// ---- change -------------------------------------------------------------------------------------

static bool evidence_add(struct hypertune_evidence *e, const struct hypertune_detect_options *o,
                         double deviation)
{
    e->sum = fmax(0.0, e->sum + fmin(deviation, o->evidence_most) - o->evidence_least);
    e->streak = deviation > o->evidence_least ? e->streak + 1 : 0;
    e->clear = deviation > clear_evidence ? e->clear + 1 : 0;
    return e->sum > o->evidence_needed && e->streak >= 2;
}

// The new level is the mean of the latest samples that agree: the step in which the change came is a
// mixture of both. With three or more the middle one is the measure, so that an outlier is not.
static int level_find(const struct hypertune_detect *d, const struct hypertune_evidence *evidence,
                      double noise, double *level)
{
    double pivot = sample_ago(d, 0), sum = 0.0;
    if (evidence->clear >= 3) {
        pivot = median_of_three(pivot, sample_ago(d, 1), sample_ago(d, 2));
    }
    int most = evidence->streak < HYPERTUNE_RECENT ? evidence->streak : HYPERTUNE_RECENT;
    int agree = 0;
    for (int ago = 0; ago < most; ago++) {
        if (fabs(sample_ago(d, ago) - pivot) <= agreement * M_SQRT2 * noise) {
            sum += sample_ago(d, ago);
            agree++;
        }
    }
    *level = sum / agree;
    return agree;
}

static void level_change(struct hypertune_detect *d, double level, double weight)
{
    d->former = d->level;
    d->former_weight = d->weight;
    d->level = level;
    d->weight = weight;
    d->slower = d->faster = (struct hypertune_evidence){0};
}

// Back where it was before the last change, if that is what the new samples say: it is known better.
static void level_recall(double former, double former_weight, double noise,
                         struct hypertune_detect *d)
{
    if (former_weight > d->weight &&
        fabs(former - d->level) <= agreement * noise / sqrt(d->weight)) {
        double all = former_weight + d->weight;
        d->level = (former * former_weight + d->level * d->weight) / all;
        d->weight = all;
    }
}

static void level_follow(struct hypertune_detect *d, const struct hypertune_detect_options *o,
                         double sample, double noise)
{
    double off = fmax(-clear_evidence * noise, fmin(clear_evidence * noise, sample - d->level));
    d->weight = fmin(d->weight + 1.0, o->memory_samples);
    d->level += off / d->weight;
}

int hypertune_detect_add(struct hypertune_detect *detect,
                         const struct hypertune_detect_options *options, double slowdown,
                         int micro_batches)
{
    struct hypertune_detect *d = detect;
    double sample = log(slowdown), noise = hypertune_detect_noise(d, options, micro_batches);
    double deviation = (sample - d->level) / (noise * sqrt(1.0 + 1.0 / d->weight));
    sample_keep(d, sample, micro_batches);
    bool slower = evidence_add(&d->slower, options, deviation);
    bool faster = evidence_add(&d->faster, options, -deviation);
    if (!slower && !faster) {
        level_follow(d, options, sample, noise);
        return 0;
    }
    const struct hypertune_evidence evidence = slower ? d->slower : d->faster;
    double level, former = d->former, former_weight = d->former_weight;
    int agree = level_find(d, &evidence, noise, &level);
    level_change(d, level, agree);
    level_recall(former, former_weight, noise, d);
    return evidence.streak;
}

void hypertune_detect_believe(struct hypertune_detect *detect, double slowdown)
{
    level_change(detect, log(slowdown), 1.0);
}
