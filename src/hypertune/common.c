// SPDX-License-Identifier: Apache-2.0
#include "hypertune/common.h"

#include <math.h>
#include <stdbool.h>

// Nodes off by amounts this close, in deviations of their difference, are off for one reason; but
// never if they are this far apart (logarithm).
static const double alike_deviations = 2.5, alike_most = 0.4;
// Weight of the latest in the running mean.
static const double usual_follow = 0.3;

// The node that differs least from how they all have been; −1 if fewer than two tell anything.
static int least_off(const struct hypertune_off nodes[], int count, double usual)
{
    int node = -1, seen = 0;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        double off = fabs(nodes[i].off - usual);
        node = off < least ? i : node;
        least = fmin(least, off);
        seen += isfinite(off);
    }
    return seen < 2 ? -1 : node;
}

static bool are_alike(const struct hypertune_off *a, const struct hypertune_off *b)
{
    double most = fmin(alike_deviations * hypot(a->noise, b->noise), alike_most);
    return fabs(a->off - b->off) <= most;
}

// The mean of those like the one that is least off: where two nodes of three are loaded the third
// shows what is common. Not weighed by noise: the node that is followed most would seem to have
// none.
double hypertune_common_shift(const struct hypertune_off nodes[], int count, double *usual)
{
    int least = least_off(nodes, count, *usual);
    double sum = 0.0, weights = 0.0;
    for (int i = 0; i < count && least >= 0; i++) {
        if (are_alike(&nodes[i], &nodes[least])) {
            sum += nodes[i].off * nodes[i].micro_batches;
            weights += nodes[i].micro_batches;
        }
    }
    double shift = weights > 0.0 ? sum / weights : 0.0;
    *usual += (shift - *usual) * usual_follow;
    return shift;
}
