// SPDX-License-Identifier: Apache-2.0
// The line t(m) = a + c·m through measured step times, with error bars, and a judgement on whether
// to believe it. Times are disturbed now and then by whatever else runs: some are off by a lot,
// always upwards. Such samples are found and left out; when there are too many, the fit says so.
//
// A repeated median (up to half of the samples may be anything) gives the first line and the scale
// of the noise, which is taken as a part of the time; then least squares with Tukey's biweight on
// that scale, where samples more than 4.7 scales away have no weight. a ≥ 0 and c > 0 hold always.
// Pure.
//
//     measuring:  do { measure fit.next micro-batches; plan_fit_samples(…); } while (fit.verdict ==
//                 PLAN_FIT_MORE);
#ifndef PLAN_FIT_H
#define PLAN_FIT_H

#include "plan/curve.h"

enum { PLAN_FIT_SAMPLES_MAX = 256 };

struct plan_sample {
    int micro_batches; // ≥ 1
    double seconds;    // > 0
};

struct plan_fit_options {
    int top;           // largest m to measure
    int target;        // m at which the prediction must be precise; 0: top
    double precision;  // relative standard error of the prediction there
    double tolerable;  // what of it will do at samples_most
    double noise;      // relative scale of the samples above which they are disturbed
    double outliers;   // part of the samples left out above which they are disturbed
    int samples_least; // per m
    int samples_most;  // in all; then it is good or unsure
    // What is known of a beforehand, and how well: the line is drawn to it. An error of 0: nothing
    // is.
    double fixed_s, fixed_error_s;
};

// m = 1, 4 or 5, and 8; 2 % at 8, in the end 4 %; noise up to 10 %, a quarter left out; 3 for each
// m and 36 in all.
extern const struct plan_fit_options plan_fit_defaults;

enum plan_fit_verdict {
    PLAN_FIT_GOOD,
    PLAN_FIT_MORE,   // measure `next`
    PLAN_FIT_UNSURE, // enough samples, but disturbed, or not on a line
};

struct plan_fit {
    struct plan_line line;
    double noise;         // relative scale of what is left over
    double fixed_error_s; // standard errors
    double each_error_s;
    double covariance; // of the two
    int samples, outliers;
    enum plan_fit_verdict verdict;
    const char *why; // in words, static; NULL when good
    int next;        // m to measure next, 0: none
};

// `count` may be 0: then there is only `next`. Of more than PLAN_FIT_SAMPLES_MAX the last are
// taken.
void plan_fit_samples(const struct plan_sample samples[], int count,
                      const struct plan_fit_options *options, struct plan_fit *out);

// Standard error of the predicted time of m micro-batches.
double plan_fit_error_s(const struct plan_fit *fit, int micro_batches);

#endif
