// SPDX-License-Identifier: Apache-2.0
#include "hypertune/exact.h"

#include <stdlib.h>

#include "plan/split.h"

struct hypertune_exact {
    struct plan_node *nodes;
    struct plan_offer *heap;
};

enum stn_status hypertune_exact_create(int nodes, struct hypertune_exact **out)
{
    struct hypertune_exact *exact = calloc(1, sizeof(*exact));
    if (exact != NULL) {
        exact->nodes = calloc((size_t)nodes, sizeof(*exact->nodes));
        exact->heap = calloc((size_t)nodes, sizeof(*exact->heap));
    }
    if (exact == NULL || exact->nodes == NULL || exact->heap == NULL) {
        hypertune_exact_destroy(exact);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to split work among %d nodes", nodes);
    }
    *out = exact;
    return STN_OK;
}

void hypertune_exact_destroy(struct hypertune_exact *exact)
{
    if (exact != NULL) {
        free(exact->heap);
        free(exact->nodes);
        free(exact);
    }
}

enum stn_status hypertune_exact_split(void *context, const struct hypertune_load *load, int split[])
{
    struct hypertune_exact *exact = context;
    for (int i = 0; i < load->nodes; i++) {
        exact->nodes[i] = (struct plan_node){
            .curve.line = {.fixed_s = load->fixed_s[i], .each_s = load->each_s[i]},
            .floor = load->least[i],
            .cap = load->most[i],
        };
    }
    const struct plan_cluster cluster = {
        .nodes = exact->nodes, .count = load->nodes, .micro_batch = 1};
    return plan_split(&cluster, load->total, exact->heap, split);
}
