// SPDX-License-Identifier: Apache-2.0
#include "plan/greedy.h"

static bool is_better(const struct plan_offer *one, const struct plan_offer *other)
{
    return one->seconds < other->seconds ||
           (one->seconds == other->seconds && one->node < other->node);
}

static void sift_down(struct plan_greedy *greedy, int at)
{
    struct plan_offer *heap = greedy->heap, moved = heap[at];
    for (int child; (child = 2 * at + 1) < greedy->open; at = child) {
        if (child + 1 < greedy->open && is_better(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_better(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static struct plan_offer offer_of(const struct plan_greedy *greedy, int node)
{
    const struct plan_line *line = &greedy->nodes[node].curve.line;
    return (struct plan_offer){plan_line_seconds(line, greedy->split[node] + 1), node};
}

struct plan_greedy plan_greedy_start(const struct plan_cluster *cluster, int split[],
                                     struct plan_offer heap[])
{
    struct plan_greedy greedy = {.nodes = cluster->nodes, .split = split, .heap = heap};
    for (int i = 0; i < cluster->count; i++) {
        if (split[i] < cluster->nodes[i].cap) {
            heap[greedy.open++] = offer_of(&greedy, i);
        }
    }
    for (int at = greedy.open / 2 - 1; at >= 0; at--) {
        sift_down(&greedy, at);
    }
    return greedy;
}

bool plan_greedy_give(struct plan_greedy *greedy)
{
    if (greedy->open == 0) {
        return false;
    }
    int node = greedy->heap[0].node;
    greedy->split[node]++;
    greedy->heap[0] = greedy->split[node] < greedy->nodes[node].cap ? offer_of(greedy, node)
                                                                    : greedy->heap[--greedy->open];
    sift_down(greedy, 0);
    return true;
}
