// SPDX-License-Identifier: Apache-2.0
#include "plan/trade.h"

#include <assert.h>
#include <math.h>

#include "plan/split.h"

// Late enough to know how fast a node is, early enough that all have heard of it before the first
// of them has nothing left to do: no node waits unless one is 1.2 times as late as another.
static const double mark_part = 0.75, kept_part = 0.92;
static const int planned_least = 8;
static const double gain_least = 0.01; // of a step: a node that takes samples has not prepared them

bool plan_trade_takes_part(int planned)
{
    return planned >= planned_least;
}

int plan_trade_mark(int planned)
{
    return plan_trade_takes_part(planned) ? (int)ceil(mark_part * planned) : 0;
}

int plan_trade_kept(int planned)
{
    return plan_trade_takes_part(planned) ? (int)fmin(ceil(kept_part * planned), planned - 1)
                                          : planned;
}

static bool tells(const struct plan_trade_node *node)
{
    return plan_trade_takes_part(node->planned) && node->done > 0 && node->seconds > 0.0 &&
           isfinite(node->seconds);
}

static double latest(const struct plan_node nodes[], const int split[], int count)
{
    double most = 0.0;
    for (int i = 0; i < count; i++) {
        most = fmax(most, plan_line_seconds(&nodes[i].curve.line, split[i]));
    }
    return most;
}

// Nodes that do not tell keep what they have, and their time is not looked at.
static struct plan_node node_of(const struct plan_trade_node *node)
{
    bool open = tells(node);
    return (struct plan_node){
        .curve.line.each_s = open ? node->seconds / node->done : 1e-9,
        .floor = open && node->kept < node->planned ? node->kept : node->planned,
        .cap = open && node->most > node->planned ? node->most : node->planned};
}

void plan_trade(const struct plan_trade_node nodes[], int count, struct plan_node scratch[],
                struct plan_offer heap[], int after[])
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        scratch[i] = node_of(&nodes[i]);
        scratch[i].kind = i;
        after[i] = nodes[i].planned;
        total += nodes[i].planned;
    }
    const struct plan_cluster cluster = {.nodes = scratch, .count = count, .micro_batch = 1};
    double planned_s = latest(scratch, after, count);
    enum stn_status status = plan_split(&cluster, total, heap, after);
    if (status || latest(scratch, after, count) > (1 - gain_least) * planned_s) {
        for (int i = 0; i < count; i++) {
            after[i] = nodes[i].planned;
        }
    }
}

struct plan_trade_gift plan_trade_find(const int planned[], const int after[], int count, int taker,
                                       int i)
{
    for (int j = 0; j < taker; j++) {
        i += after[j] > planned[j] ? after[j] - planned[j] : 0;
    }
    for (int j = 0; j < count; j++) {
        int given = planned[j] > after[j] ? planned[j] - after[j] : 0;
        if (i < given) {
            return (struct plan_trade_gift){j, after[j] + i};
        }
        i -= given;
    }
    assert(false); // as many are taken as are given
    return (struct plan_trade_gift){0};
}
