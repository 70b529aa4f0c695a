// SPDX-License-Identifier: Apache-2.0
#include "hypertune/detect.h"

#include <math.h>

struct hypertune_detect_options hypertune_detect_defaults(void)
{
    return (struct hypertune_detect_options){
        .evidence_least = 1.0,
        .evidence_needed = 5.0,
        .mistakes = 1e-3,
        .noise_first = 0.1,
        .noise_least = 0.01,
        .memory_samples = 20.0,
    };
}

// What noise does not explain: an outlier if it stays alone, a change otherwise. How frequent the
// former are is learned over so many samples.
static const double far_evidence = 3.0, outliers_memory = 200.0, outliers_first = 0.004;
// How many outliers in a row a change can take.
static const double row_least = 2.0, row_most = 4.0;
// No sample moves the level as if it were further off than this.
static const double follow_most = 2.0;
// Samples this close, in units of the noise of their difference, are of one level.
static const double agreement = 3.0;
// What a change must exceed, in units of the noise, for its first sample to be told from noise as a
// mixture of both levels.
static const double mixture_least = 6.0;
// So many samples' worth of noise_first are mixed in until the window is full: few differences say
// little.
static const double noise_first_weight = 4.0;

// How far samples are apart that differ by slow noise too, and the most that it is taken for.
static const int samples_apart = 4;
static const double slow_most = 2.0;

void hypertune_detect_init(struct hypertune_detect *detect, double slowdown, double weight)
{
    *detect = (struct hypertune_detect){
        .level = log(slowdown), .weight = weight, .outliers = outliers_first};
}

double hypertune_detect_slowdown(const struct hypertune_detect *detect)
{
    return exp(detect->level);
}

// ---- noise -------------------------------------------------------------------------------------

// The deviation of a normal distribution with the same median; or with the same 80 % quantile,
// where the tails are heavier; but not if they are outliers, each of which spoils two differences.
static double deviation_of(const struct hypertune_window *differences)
{
    double middle = hypertune_window_quantile(differences, 0.5) * 1.4826;
    double tail = hypertune_window_quantile(differences, 0.8) / 1.2816;
    return fmax(middle, fmin(tail, 2.0 * middle));
}

// Of a sample of one micro-batch. Noise that stays for several samples looks smaller from one to
// the next than it is.
static double noise_learned(const struct hypertune_detect *d)
{
    double near = hypertune_window_quantile(&d->near, 0.5);
    double slow = near > 0.0 ? hypertune_window_quantile(&d->apart, 0.5) / near : 1.0;
    return deviation_of(&d->near) * fmax(1.0, fmin(slow, slow_most));
}

// Noise of the mean of m micro-batches falls with √m.
double hypertune_detect_noise(const struct hypertune_detect *detect,
                              const struct hypertune_detect_options *options, int micro_batches)
{
    double noise = options->noise_first, weight = detect->near.count;
    if (weight > 0.0) {
        double learned = detect->learned / sqrt(micro_batches);
        double doubt = noise_first_weight * (1.0 - weight / HYPERTUNE_WINDOW_SIZE);
        noise = (noise * doubt + learned * weight) / (doubt + weight);
    }
    return fmax(noise, options->noise_least);
}

// ---- samples -----------------------------------------------------------------------------------

// The latest is 0 samples ago.
static long index_ago(const struct hypertune_detect *d, int ago)
{
    return (d->samples - 1 - ago) % HYPERTUNE_RECENT;
}

static double sample_ago(const struct hypertune_detect *d, int ago)
{
    return d->recent[index_ago(d, ago)];
}

// For one micro-batch: s²/m + s²/m' is the variance of the difference.
static void noise_learn(struct hypertune_window *window, const struct hypertune_detect *d, int ago)
{
    if (d->samples > ago) {
        double now = d->recent_micro_batches[index_ago(d, 0)];
        double then = d->recent_micro_batches[index_ago(d, ago)];
        double difference = sample_ago(d, 0) - sample_ago(d, ago);
        hypertune_window_add(window, fabs(difference) / sqrt(1.0 / now + 1.0 / then));
    }
}

static void sample_keep(struct hypertune_detect *d, double sample, int micro_batches, bool usual)
{
    d->samples++;
    d->recent[index_ago(d, 0)] = sample;
    d->recent_micro_batches[index_ago(d, 0)] = micro_batches;
    noise_learn(&d->near, d, 1);
    if (usual && d->samples - d->changed >= samples_apart) { // neither is of another level
        noise_learn(&d->apart, d, samples_apart);
    }
    d->learned = noise_learned(d);
}

static double median_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// ---- change ------------------------------------------------------------------------------------

// What one sample may count for: outliers come in a row of k by accident once in outliers^−k.
static double evidence_most(const struct hypertune_detect *d,
                            const struct hypertune_detect_options *o)
{
    double row = ceil(log(o->mistakes) / log(d->outliers));
    row = fmax(row_least, fmin(row_most, row));
    return o->evidence_least + 1.2 * o->evidence_needed / row;
}

static void evidence_add(struct hypertune_evidence *e, const struct hypertune_detect_options *o,
                         double most, double deviation)
{
    e->sum = fmax(0.0, e->sum + fmin(deviation, most) - o->evidence_least);
    e->streak = deviation > o->evidence_least ? e->streak + 1 : 0;
    e->far = deviation > far_evidence ? e->far + 1 : 0;
}

static bool agree(double a, double b, double noise)
{
    return fabs(a - b) <= agreement * M_SQRT2 * noise;
}

// An outlier alone is never enough, whatever noise came before.
static bool evidence_is_enough(const struct hypertune_detect *d, const struct hypertune_evidence *e,
                               const struct hypertune_detect_options *o, double noise)
{
    return e->sum > o->evidence_needed &&
           (e->far >= 2 || (e->streak >= 2 && agree(sample_ago(d, 0), sample_ago(d, 1), noise)));
}

static void outliers_learn(struct hypertune_detect *d, bool was_outlier)
{
    d->outliers += ((was_outlier ? 1.0 : 0.0) - d->outliers) / outliers_memory;
}

static bool is_between(double value, double a, double b)
{
    return fmin(a, b) <= value && value <= fmax(a, b);
}

// The new level is the mean of the latest samples that agree: the step in which the change came is
// a mixture of both. Of two samples the first may be one even where noise lets them agree: then the
// second alone is the level, as sure as both. The middle of three is the measure where there are
// three, so no outlier is.
static int level_find(const struct hypertune_detect *d, const struct hypertune_evidence *evidence,
                      double noise, double *level)
{
    int row = evidence->far >= 2 ? evidence->far : evidence->streak;
    int most = row < HYPERTUNE_RECENT ? row : HYPERTUNE_RECENT, count = 0;
    double pivot = sample_ago(d, 0), sum = 0.0;
    if (row >= 3) {
        pivot = median_of_three(pivot, sample_ago(d, 1), sample_ago(d, 2));
    }
    for (int ago = 0; ago < most; ago++) {
        if (agree(sample_ago(d, ago), pivot, noise)) {
            sum += sample_ago(d, ago);
            count++;
        }
    }
    bool mixed = row == 2 && fabs(sample_ago(d, 0) - d->level) > mixture_least * noise &&
                 is_between(sample_ago(d, 1), d->level, sample_ago(d, 0));
    *level = mixed ? sample_ago(d, 0) : sum / count;
    return count;
}

static void level_change(struct hypertune_detect *d, double level, double weight)
{
    d->former = d->level;
    d->former_weight = d->weight;
    d->level = level;
    d->weight = weight;
    d->changed = d->samples;
    d->slower = d->faster = (struct hypertune_evidence){0};
}

// Back where it was before the last change, if that is what the new samples say, or if they say
// different things and it lies in their midst: it is known better.
static void level_recall(double former, double former_weight, double noise,
                         struct hypertune_detect *d)
{
    bool near = fabs(former - d->level) <= agreement * noise / sqrt(d->weight);
    if (former_weight > d->weight &&
        (near || is_between(former, sample_ago(d, 0), sample_ago(d, 1)))) {
        double all = former_weight + d->weight;
        d->level = (former * former_weight + d->level * d->weight) / all;
        d->weight = all;
    }
}

static void level_follow(struct hypertune_detect *d, const struct hypertune_detect_options *o,
                         double sample, double noise)
{
    double off = fmax(-follow_most * noise, fmin(follow_most * noise, sample - d->level));
    d->weight = fmin(d->weight + 1.0, o->memory_samples);
    d->level += off / d->weight;
}

// Takes the level that the evidence is for; returns how many samples that is.
static int change(struct hypertune_detect *d, struct hypertune_evidence evidence, double noise)
{
    double level, former = d->former, former_weight = d->former_weight;
    int count = level_find(d, &evidence, noise, &level);
    level_change(d, level, count);
    level_recall(former, former_weight, noise, d);
    return evidence.far >= 2 ? evidence.far : evidence.streak;
}

int hypertune_detect_add(struct hypertune_detect *detect,
                         const struct hypertune_detect_options *options, double slowdown,
                         int micro_batches)
{
    struct hypertune_detect *d = detect;
    double sample = log(slowdown), noise = hypertune_detect_noise(d, options, micro_batches);
    double deviation = (sample - d->level) / (noise * sqrt(1.0 + 1.0 / d->weight));
    // The limit matters, and its logarithms are spent, only where there is evidence.
    double most = fabs(deviation) > options->evidence_least ? evidence_most(d, options) : INFINITY;
    bool suspect = d->slower.far + d->faster.far > 0;
    sample_keep(d, sample, micro_batches, fabs(deviation) <= far_evidence);
    evidence_add(&d->slower, options, most, deviation);
    evidence_add(&d->faster, options, most, -deviation);
    outliers_learn(d, suspect && d->slower.far + d->faster.far == 0);
    if (evidence_is_enough(d, &d->slower, options, noise)) {
        return change(d, d->slower, noise);
    }
    if (evidence_is_enough(d, &d->faster, options, noise)) {
        return change(d, d->faster, noise);
    }
    level_follow(d, options, sample, noise);
    return 0;
}

void hypertune_detect_believe(struct hypertune_detect *detect, double slowdown)
{
    level_change(detect, log(slowdown), 1.0);
}
