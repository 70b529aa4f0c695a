// SPDX-License-Identifier: Apache-2.0
// Exact: places are compared on a grid so fine that two different ones never share a cell. They
// differ by at least 1/(2·c·d) where sources have c and d samples, so 2·log2(c) + 1 bits do.
#include "plan/mixture.h"

#include <assert.h>

enum { COUNT_BITS_MAX = 40 };

static int grid_bits(const int64_t counts[], int sources)
{
    int64_t most = 1;
    for (int i = 0; i < sources; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    int bits = 0;
    while (INT64_C(1) << bits < most) {
        bits++;
    }
    assert(bits <= COUNT_BITS_MAX);
    return 2 * bits + 1;
}

// How many of a source's places are at `time` or before: ⌊count·time + ½⌋.
static int64_t places_until(int64_t count, plan_wide time, int bits)
{
    return (int64_t)(((plan_wide)count * time + ((plan_wide)1 << (bits - 1))) >> bits);
}

static int64_t sum_until(const int64_t counts[], int sources, plan_wide time, int bits)
{
    int64_t sum = 0;
    for (int i = 0; i < sources; i++) {
        sum += places_until(counts[i], time, bits);
    }
    return sum;
}

struct plan_mixture_cut plan_mixture_find(const int64_t counts[], int sources, int64_t position)
{
    struct plan_mixture_cut cut = {.bits = grid_bits(counts, sources)};
    // Fewer than `position` places until `before`, enough of them until `enough`.
    plan_wide before = 0, enough = (plan_wide)1 << cut.bits;
    assert(position >= 0 && position <= sum_until(counts, sources, enough, cut.bits));
    while (enough - before > 1) {
        plan_wide middle = before + (enough - before) / 2;
        if (sum_until(counts, sources, middle, cut.bits) < position) {
            before = middle;
        } else {
            enough = middle;
        }
    }
    cut.time = enough;
    cut.ties = position - sum_until(counts, sources, before, cut.bits);
    return cut;
}

int64_t plan_mixture_next(struct plan_mixture_cut *cut, int64_t count)
{
    int64_t taken = places_until(count, cut->time - 1, cut->bits);
    if (cut->ties > 0 && places_until(count, cut->time, cut->bits) > taken) {
        cut->ties--;
        taken++;
    }
    return taken;
}

void plan_mixture_at(const int64_t counts[], int sources, int64_t position, int64_t taken[])
{
    struct plan_mixture_cut cut = plan_mixture_find(counts, sources, position);
    for (int i = 0; i < sources; i++) {
        taken[i] = plan_mixture_next(&cut, counts[i]);
    }
}
