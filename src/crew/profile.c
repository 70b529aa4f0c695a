// SPDX-License-Identifier: Apache-2.0
#include "crew/profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Nodes count as of one kind if their speeds differ by less than this: measuring is no more exact.
static const double alike = 0.15;

enum stn_status crew_profile_create(const struct cluster *cluster, int micro_batch,
                                    struct crew_profile *out)
{
    size_t count = (size_t)cluster->count;
    *out = (struct crew_profile){.nodes = calloc(count, sizeof(*out->nodes)),
                                 .about = calloc(count, sizeof(*out->about)),
                                 .powers = calloc(count, sizeof(*out->powers))};
    if (!out->nodes || !out->about || !out->powers) {
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
    free(profile->powers);
    free(profile->about);
    free(profile->nodes);
    *profile = (struct crew_profile){0};
}

// ---- telling -----------------------------------------------------------------------------------

static struct wire_profile profile_out(const struct crew_node_profile *own)
{
    struct wire_profile said = {
        .threads = own->threads,
        .cpus = own->cpus,
        .machine = own->machine,
        .machine_cpus = own->machine_cpus,
        .memory_needed = own->memory_needed,
        .memory_limit = own->memory_limit,
        .fixed_s = own->line.fixed_s,
        .each_s = own->line.each_s,
        .update_s = own->update_s,
        .fixed_error_s = own->fixed_error_s,
        .each_error_s = own->each_error_s,
        .noise = own->noise,
        .samples = own->samples,
        .outliers = own->outliers,
    };
    memcpy(said.doubt, own->doubt, sizeof(said.doubt));
    return said;
}

static struct crew_node_profile profile_in(const struct wire_profile *heard)
{
    struct crew_node_profile about = {
        .threads = heard->threads,
        .cpus = heard->cpus,
        .machine = heard->machine,
        .machine_cpus = heard->machine_cpus,
        .memory_needed = heard->memory_needed,
        .memory_limit = heard->memory_limit,
        .line = {.fixed_s = heard->fixed_s, .each_s = heard->each_s},
        .update_s = heard->update_s,
        .fixed_error_s = heard->fixed_error_s,
        .each_error_s = heard->each_error_s,
        .noise = heard->noise,
        .samples = heard->samples,
        .outliers = heard->outliers,
    };
    memcpy(about.doubt, heard->doubt, sizeof(about.doubt));
    return about;
}

enum stn_status crew_profile_gather(struct crew *nodes, const struct crew_node_profile *own,
                                    struct crew_profile *profile)
{
    const struct wire_profile said = profile_out(own);
    struct wire_profile *heard = calloc((size_t)nodes->size, sizeof(*heard));
    enum stn_status status =
        heard ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    status = crew_agree(nodes, status);
    if (!status) {
        assert(heard); // all nodes have agreed that they have theirs
        status = comm_all_gather_message(nodes->comm, WIRE_PROFILE, &said, heard);
    }
    for (int i = 0; i < nodes->size && !status; i++) {
        profile->about[i] = profile_in(&heard[i]);
    }
    free(heard);
    return status;
}

// ---- using -------------------------------------------------------------------------------------

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
