// SPDX-License-Identifier: Apache-2.0
// Has this node's speed changed? One detector a node, fed with its slowdown: the time of a step
// over the time its profile t(m) = a + c·m foretold. (Where a is 0 that is time per micro-batch, in
// units of c; dividing by a + c·m keeps a change of m from looking like a change of speed.)
// Logarithms throughout, so that twice as slow and twice as fast are equally far away. Pure;
// constant time and memory.
//
// The noise is learned from the run: quantiles of the differences between samples, which neither a
// changed level nor a ramp disturbs; between neighbours, and where the noise is slow, between
// samples further apart. Two CUSUM tests, one for slower and one for faster, gather evidence in
// units of that noise; one sample can never give enough. When there is enough, the samples that
// agree with the latest are the new level at once. Between changes the level is an average with a
// long memory, and outliers move it hardly at all.
#ifndef HYPERTUNE_DETECT_H
#define HYPERTUNE_DETECT_H

#include <stdbool.h>

#include "hypertune/window.h"

struct hypertune_detect_options {
    // In units of the noise: what a sample must exceed to count as evidence. 1 finds shifts of two
    // or more fastest; smaller ones are found too, by the average.
    double evidence_least;
    // Sum of evidence that is a change: normal noise passes 5 once in 50,000 samples. Outliers
    // count for half of it at most, so that a clear step is found with its second sample.
    double evidence_needed;
    // How often outliers in a row may pass for a change. Where this run's own outliers are
    // frequent, each counts for less than half, and more of them are needed.
    double mistakes;
    double noise_first;    // relative, of one sample, until there are some: rather too much
    double noise_least;    // relative: smaller changes are never worth anything
    double memory_samples; // over how many the level averages
};

struct hypertune_detect_options hypertune_detect_defaults(void);

enum { HYPERTUNE_RECENT = 8 };

// One direction of change.
struct hypertune_evidence {
    double sum;
    int streak; // samples in a row that were evidence
    int far;    // and those that no noise explains
};

struct hypertune_detect {
    double level;  // log of the slowdown
    double weight; // samples behind it, at most memory_samples
    double former; // the level before the last change: loads come and go
    double former_weight;
    struct hypertune_evidence slower, faster;
    // Log slowdowns and micro-batches of the latest samples, rings.
    double recent[HYPERTUNE_RECENT];
    int recent_micro_batches[HYPERTUNE_RECENT];
    long samples, changed; // ever; when the level changed
    double outliers;       // part of the samples that were, and led to nothing
    // |differences| of neighbours, and of samples a few steps apart, for one micro-batch.
    struct hypertune_window near, apart;
    double learned; // the noise that they show
};

// `slowdown` to begin with, as sure as `weight` samples.
void hypertune_detect_init(struct hypertune_detect *detect, double slowdown, double weight);

// One more sample, of a step with so many micro-batches. Returns how many samples ago the speed
// changed, the new one included, when that is now certain; else 0.
int hypertune_detect_add(struct hypertune_detect *detect,
                         const struct hypertune_detect_options *options, double slowdown,
                         int micro_batches);

// Takes a sample as the new level without waiting for a second.
void hypertune_detect_believe(struct hypertune_detect *detect, double slowdown);

double hypertune_detect_slowdown(const struct hypertune_detect *detect);
// Relative deviation of one sample of so many micro-batches.
double hypertune_detect_noise(const struct hypertune_detect *detect,
                              const struct hypertune_detect_options *options, int micro_batches);

#endif
