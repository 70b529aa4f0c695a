// SPDX-License-Identifier: Apache-2.0
#include "crew/profile.h"

#include <math.h>
#include <stdlib.h>

// Nodes of one kind may differ by what measuring does.
static const double alike = 0.15;

enum stn_status crew_profile_create(const struct cluster *cluster, int micro_batch,
                                    struct crew_profile *out)
{
    size_t count = (size_t)cluster->count;
    *out = (struct crew_profile){.nodes = calloc(count, sizeof(*out->nodes)),
                                 .about = calloc(count, sizeof(*out->about))};
    if (!out->nodes || !out->about) {
        crew_profile_fini(out);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %zu nodes", count);
    }
    out->cluster = (struct plan_cluster){
        .nodes = out->nodes, .count = cluster->count, .micro_batch = micro_batch};
    for (int i = 0; i < cluster->count; i++) {
        out->nodes[i] = (struct plan_node){.name = cluster->nodes[i].name, .kind = i};
    }
    return STN_OK;
}

void crew_profile_fini(struct crew_profile *profile)
{
    free(profile->about);
    free(profile->nodes);
    *profile = (struct crew_profile){0};
}

void crew_profile_guess(struct crew_profile *profile)
{
    for (int i = 0; i < profile->cluster.count; i++) {
        profile->nodes[i].curve.line = (struct plan_line){.each_s = 1.0 / profile->about[i].cpus};
    }
}

static bool of_one_kind(const struct crew_node_profile *a, const struct crew_node_profile *b)
{
    double ratio = a->line.each_s / b->line.each_s;
    return a->threads == b->threads && fabs(a->cpus / b->cpus - 1.0) < 0.01 &&
           fabs(ratio - 1.0) < alike;
}

void crew_profile_use_measured(struct crew_profile *profile)
{
    for (int i = 0; i < profile->cluster.count; i++) {
        int kind = 0;
        while (kind < i && !of_one_kind(&profile->about[kind], &profile->about[i])) {
            kind++;
        }
        profile->nodes[i].kind = profile->nodes[kind].kind;
        profile->nodes[i].curve.line = profile->about[i].line;
    }
    profile->measured = true;
}

enum stn_status crew_profile_cap(struct crew_profile *profile, const struct cluster *cluster,
                                 int most)
{
    int micro_batch = profile->cluster.micro_batch;
    for (int i = 0; i < cluster->count; i++) {
        const struct cluster_node *node = &cluster->nodes[i];
        int cap = node->max_batch > 0 ? node->max_batch / micro_batch : most;
        if (cap == 0) {
            return stn_fail(STN_ERR_INVALID,
                            "node %s: max_batch %d is less than a micro-batch (%d)", node->name,
                            node->max_batch, micro_batch);
        }
        profile->nodes[i].cap = cap;
    }
    return STN_OK;
}

void crew_profile_floor(struct crew_profile *profile, const int64_t *counts, int64_t steps)
{
    for (int i = 0; i < profile->cluster.count; i++) {
        profile->nodes[i].floor =
            plan_node_floor(counts[1 + i], steps, profile->cluster.micro_batch);
    }
}
