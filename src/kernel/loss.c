// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy. One plain version serves every backend: logits are small, and sums in
// double of rounded losses are the same whoever computes which.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

// The first of equals. A NaN never wins here: it shows in the loss.
static int argmax(const float *z, int classes)
{
    int best = 0;
    for (int k = 1; k < classes; k++) {
        if (z[k] > z[best])
            best = k;
    }
    return best;
}

// ln Σ exp(z − max); exp cannot overflow, and a NaN or an infinite maximum stays NaN.
static double log_sum_exp(const float *z, int classes, double max)
{
    double sum = exp((double)z[0] - max);
    for (int k = 1; k < classes; k++)
        sum += exp((double)z[k] - max);
    return log(sum);
}

static double row_loss(const float *z, int label, int classes, double smoothing, double max,
                       double lse)
{
    double loss = (1 - smoothing) * (lse - ((double)z[label] - max));
    if (smoothing > 0) { // at 0 a logit of −∞ elsewhere is no loss; 0·∞ would make it one
        double sum = 0;
        for (int k = 0; k < classes; k++)
            sum += lse - ((double)z[k] - max);
        loss += smoothing / classes * sum;
    }
    return loss;
}

static void row_gradient(const float *z, int label, int classes, double smoothing, double max,
                         double lse, float *dz)
{
    for (int k = 0; k < classes; k++) {
        const double target = smoothing / classes + (k == label ? 1 - smoothing : 0);
        dz[k] = (float)(exp((double)z[k] - max - lse) - target);
    }
}

// To 2^-28: sums of such numbers are exact up to 2^25, so they do not depend on who adds which
// first.
static double rounded(double loss)
{
    return ldexp(rint(ldexp(loss, 28)), -28);
}

void kernel_loss_softmax(const float *logits, const int32_t *labels, int n, int rows, int classes,
                         float smoothing, float *dlogits, struct kernel_loss_totals *totals)
{
    for (int r = 0; r < rows; r++) {
        const float *z = logits + (size_t)r * (size_t)classes; // [classes]
        const int label = labels[r];
        assert(label >= 0 && label < classes);
        const int best = argmax(z, classes);
        const double max = (double)z[best];
        const double lse = log_sum_exp(z, classes, max);
        const double loss = row_loss(z, label, classes, (double)smoothing, max, lse);
        totals->loss_sum += rounded(loss);
        totals->correct += best == label && !isnan(loss);
        if (dlogits)
            row_gradient(z, label, classes, (double)smoothing, max, lse,
                         dlogits + (size_t)r * (size_t)classes);
    }
    totals->count += rows;
    if (dlogits)
        memset(dlogits + (size_t)rows * (size_t)classes, 0,
               (size_t)(n - rows) * (size_t)classes * sizeof *dlogits);
}
