// SPDX-License-Identifier: Apache-2.0
#include "plan/share.h"

#include <assert.h>
#include <stdbool.h>

#include "plan/mixture.h"

static int64_t range_count(struct plan_range range)
{
    return range.end - range.begin;
}

static int64_t micro_batches_of(int64_t samples, int micro_batch)
{
    return (samples + micro_batch - 1) / micro_batch;
}

int64_t plan_share_samples(const struct plan_share *share)
{
    return range_count(share->public_range) + range_count(share->private_range);
}

// ---- what the step holds -----------------------------------------------------------------------

// Fills the private ranges; returns the public one.
static struct plan_range sources_find(const struct plan_step *step, struct plan_share shares[])
{
    struct plan_mixture_cut from = plan_mixture_find(step->counts, 1 + step->nodes, step->begin);
    struct plan_mixture_cut to = plan_mixture_find(step->counts, 1 + step->nodes, step->end);
    struct plan_range all;
    all.begin = plan_mixture_next(&from, step->counts[0]);
    all.end = plan_mixture_next(&to, step->counts[0]);
    for (int i = 0; i < step->nodes; i++) {
        shares[i].private_range.begin = plan_mixture_next(&from, step->counts[1 + i]);
        shares[i].private_range.end = plan_mixture_next(&to, step->counts[1 + i]);
    }
    return all;
}

// ---- in proportion -----------------------------------------------------------------------------

// While micro-batches are handed out, a node that keeps to its private samples has public_range
// set to this.
static const struct plan_range closed = {-1, -1};

static bool is_open(const struct plan_share *share)
{
    return share->public_range.begin != closed.begin;
}

// `total` micro-batches for the open nodes, of whose split `weight` is the sum.
struct quota {
    const struct plan_step *step;
    const struct plan_share *shares;
    int64_t total, weight;
};

static int64_t quota_floor(const struct quota *quota, int i)
{
    return quota->total * quota->step->split[i] / quota->weight;
}

static int64_t quota_remainder(const struct quota *quota, int i)
{
    return quota->total * quota->step->split[i] % quota->weight;
}

static int remainders_from(const struct quota *quota, int64_t least)
{
    int count = 0;
    for (int i = 0; i < quota->step->nodes; i++) {
        count += is_open(&quota->shares[i]) && quota_remainder(quota, i) >= least;
    }
    return count;
}

// The least remainder that is rounded up, when `left` of them can be.
static int64_t remainder_least(const struct quota *quota, int64_t left)
{
    int64_t enough = 0, few = quota->weight; // so many have `enough` or more, too few have `few`
    while (few - enough > 1) {
        int64_t middle = enough + (few - enough) / 2;
        if (remainders_from(quota, middle) >= left) {
            enough = middle;
        } else {
            few = middle;
        }
    }
    return enough;
}

static void hand_out(const struct plan_step *step, int64_t total, struct plan_share shares[])
{
    struct quota quota = {.step = step, .shares = shares, .total = total};
    for (int i = 0; i < step->nodes; i++) {
        quota.weight += is_open(&shares[i]) ? step->split[i] : 0;
    }
    if (quota.weight == 0) { // all that is left has been kept
        assert(total == 0);
        quota.weight = 1;
    }
    int64_t left = total;
    for (int i = 0; i < step->nodes; i++) {
        left -= is_open(&shares[i]) ? quota_floor(&quota, i) : 0;
    }
    int64_t least = left > 0 ? remainder_least(&quota, left) : quota.weight;
    int64_t ties = left - remainders_from(&quota, least + 1);
    for (int i = 0; i < step->nodes; i++) {
        if (!is_open(&shares[i])) {
            continue;
        }
        int64_t remainder = quota_remainder(&quota, i);
        bool tie = remainder == least && ties > 0;
        ties -= tie;
        shares[i].micro_batches = (int)quota_floor(&quota, i) + (remainder > least || tie);
    }
}

// ---- private samples first ---------------------------------------------------------------------

// Closes nodes whose private samples exceed what they were handed; returns these samples' number.
static int64_t close_overfull(const struct plan_step *step, struct plan_share shares[])
{
    int64_t kept = 0;
    for (int i = 0; i < step->nodes; i++) {
        int64_t own = range_count(shares[i].private_range);
        if (is_open(&shares[i]) && own > (int64_t)shares[i].micro_batches * step->micro_batch) {
            shares[i].public_range = closed;
            kept += own;
        }
    }
    return kept;
}

static int64_t fill(struct plan_share *share, int micro_batch, struct plan_range left)
{
    int64_t room = 0;
    if (is_open(share)) {
        room = (int64_t)share->micro_batches * micro_batch - range_count(share->private_range);
    }
    int64_t count = room < range_count(left) ? room : range_count(left);
    share->public_range = (struct plan_range){left.begin, left.begin + count};
    share->micro_batches = (int)micro_batches_of(plan_share_samples(share), micro_batch);
    return count;
}

void plan_share_step(const struct plan_step *step, struct plan_share shares[])
{
    for (int i = 0; i < step->nodes; i++) {
        shares[i] = (struct plan_share){0};
    }
    struct plan_range left = sources_find(step, shares);
    int64_t samples = step->end - step->begin, kept;
    do {
        hand_out(step, micro_batches_of(samples, step->micro_batch), shares);
        kept = close_overfull(step, shares);
        samples -= kept;
    } while (kept > 0);
    for (int i = 0; i < step->nodes; i++) {
        left.begin += fill(&shares[i], step->micro_batch, left);
    }
    assert(range_count(left) == 0);
}

// ---- micro-batches -----------------------------------------------------------------------------

struct plan_share plan_share_micro_batch(const struct plan_share *share, int micro_batch, int k)
{
    const int64_t counts[2] = {range_count(share->public_range), range_count(share->private_range)};
    int64_t samples = counts[0] + counts[1], from[2], to[2];
    int64_t begin = (int64_t)k * micro_batch, end = begin + micro_batch;
    if (counts[1] > 0) {
        begin = samples * k / share->micro_batches;
        end = samples * (k + 1) / share->micro_batches;
    }
    plan_mixture_at(counts, 2, begin, from);
    plan_mixture_at(counts, 2, end < samples ? end : samples, to);
    return (struct plan_share){
        .public_range = {share->public_range.begin + from[0], share->public_range.begin + to[0]},
        .private_range = {share->private_range.begin + from[1], share->private_range.begin + to[1]},
        .micro_batches = 1,
    };
}
