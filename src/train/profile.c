// SPDX-License-Identifier: Apache-2.0
#include "train/profile.h"

#include <stdlib.h>

enum stn_status train_profile_guess(const struct cluster *cluster, const double *cpus,
                                    int micro_batch, int micro_batches, struct train_profile *out)
{
    int count = cluster->count;
    *out = (struct train_profile){.nodes = calloc((size_t)count, sizeof(*out->nodes))};
    if (!out->nodes) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", count);
    }
    out->cluster =
        (struct plan_cluster){.nodes = out->nodes, .count = count, .micro_batch = micro_batch};
    for (int i = 0; i < count; i++) {
        const struct cluster_node *node = &cluster->nodes[i];
        int cap = node->max_batch > 0 ? node->max_batch / micro_batch : micro_batches;
        if (cap == 0) {
            train_profile_fini(out);
            return stn_fail(STN_ERR_INVALID,
                            "node %s: max_batch %d is less than a micro-batch (%d)", node->name,
                            node->max_batch, micro_batch);
        }
        out->nodes[i] = (struct plan_node){
            .name = node->name, .kind = i, .curve.line.each_s = 1.0 / cpus[i], .cap = cap};
    }
    return STN_OK;
}

void train_profile_fini(struct train_profile *profile)
{
    free(profile->nodes);
    *profile = (struct train_profile){0};
}
