// SPDX-License-Identifier: Apache-2.0
#include "tune/micro_batch.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/setting_mark.h"
#include "bench/micro_batch.h"
#include "crew/nodes.h"
#include "plan/outlook.h"
#include "plan/split.h"
#include "stannis/log.h"

// The trials of all nodes.
struct crew_trials {
    struct wire_trials *heard;          // [nodes] the same as they came
    struct stn_micro_batch_trials *all; // [nodes]
    double *speeds;                     // [nodes] with one size
    struct plan_node *planned;          // [nodes]
    struct plan_offer *heap;            // [nodes]
    int *split;                         // [nodes]
    int nodes;
};

static void crew_trials_fini(struct crew_trials *crew)
{
    free(crew->heard);
    free(crew->all);
    free(crew->speeds);
    free(crew->planned);
    free(crew->heap);
    free(crew->split);
}

static enum stn_status crew_trials_init(struct crew_trials *crew, int nodes)
{
    size_t count = (size_t)nodes;
    *crew = (struct crew_trials){.heard = calloc(count, sizeof(*crew->heard)),
                                 .all = calloc(count, sizeof(*crew->all)),
                                 .speeds = calloc(count, sizeof(*crew->speeds)),
                                 .planned = calloc(count, sizeof(*crew->planned)),
                                 .heap = calloc(count, sizeof(*crew->heap)),
                                 .split = calloc(count, sizeof(*crew->split)),
                                 .nodes = nodes};
    bool complete =
        crew->heard && crew->all && crew->speeds && crew->planned && crew->heap && crew->split;
    return complete ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes);
}

// Fills `speeds` for one size. False: not all nodes have tried it.
static bool find_speeds(struct crew_trials *crew, int micro_batch)
{
    int tried = 0;
    for (int n = 0; n < crew->nodes; n++) {
        const struct stn_micro_batch_trials *own = &crew->all[n];
        for (int k = 0; k < own->count; k++) {
            if (own->at[k].micro_batch == micro_batch) {
                crew->speeds[n] = own->at[k].images_per_second;
                tried++;
            }
        }
    }
    return tried == crew->nodes;
}

double tune_micro_batch_speed(const double speeds[], int nodes, int micro_batch, int batch,
                              const struct plan_scratch *scratch, int split[])
{
    double sum = 0.0;
    for (int n = 0; n < nodes; n++) {
        scratch->nodes[n] = (struct plan_node){
            .kind = n, .curve = {.line = {.each_s = micro_batch / speeds[n]}}, .cap = INT_MAX};
        sum += speeds[n];
    }
    const struct plan_cluster cluster = {
        .nodes = scratch->nodes, .count = nodes, .micro_batch = micro_batch};
    bool planned =
        batch > 0 && plan_split(&cluster, batch / micro_batch, scratch->offers, split) == STN_OK;
    return planned ? plan_outlook_of(&cluster, split, NULL).samples_per_s : sum;
}

// The sizes that all nodes have tried, each with the speed that they have together.
static struct stn_micro_batch_trials add_up(struct crew_trials *crew, int batch)
{
    const struct plan_scratch scratch = {.nodes = crew->planned, .offers = crew->heap};
    struct stn_micro_batch_trials sum = {0};
    for (int i = 0; i < crew->all[0].count; i++) {
        struct stn_micro_batch_trial one = {.micro_batch = crew->all[0].at[i].micro_batch};
        if (find_speeds(crew, one.micro_batch)) {
            one.images_per_second = tune_micro_batch_speed(
                crew->speeds, crew->nodes, one.micro_batch, batch, &scratch, crew->split);
            sum.at[sum.count++] = one;
        }
    }
    for (int i = 1; i < sum.count; i++) {
        bool faster = sum.at[i].images_per_second > sum.at[sum.best].images_per_second;
        sum.best = faster ? i : sum.best;
    }
    return sum;
}

// ---- telling -----------------------------------------------------------------------------------

static_assert((int)WIRE_TRIALS_MAX == (int)STN_MICRO_BATCH_TRIALS, "as many as are tried travel");

static struct wire_trials trials_out(const struct stn_micro_batch_trials *trials)
{
    struct wire_trials said = {.count = trials->count, .best = trials->best};
    for (int i = 0; i < trials->count; i++) {
        said.micro_batch[i] = trials->at[i].micro_batch;
        said.images_per_second[i] = trials->at[i].images_per_second;
    }
    return said;
}

// A message with more trials than there can be counts as none.
static struct stn_micro_batch_trials trials_in(const struct wire_trials *heard)
{
    struct stn_micro_batch_trials trials = {0};
    bool sound = heard->count >= 0 && heard->count <= WIRE_TRIALS_MAX && heard->best >= 0 &&
                 heard->best < WIRE_TRIALS_MAX;
    trials.count = sound ? heard->count : 0;
    trials.best = sound ? heard->best : 0;
    for (int i = 0; i < trials.count; i++) {
        trials.at[i].micro_batch = heard->micro_batch[i];
        trials.at[i].images_per_second = heard->images_per_second[i];
    }
    return trials;
}

// All nodes get node 0's choice.
static enum stn_status agree_on(struct crew *nodes, int batch,
                                struct stn_micro_batch_trials *trials)
{
    if (nodes->size == 1) {
        return STN_OK;
    }
    struct crew_trials crew;
    struct wire_trials said;
    enum stn_status status = crew_agree(nodes, crew_trials_init(&crew, nodes->size));
    if (!status) {
        said = trials_out(trials);
        status = comm_all_gather_message(nodes->comm, WIRE_TRIALS, &said, crew.heard);
    }
    for (int i = 0; i < nodes->size && !status; i++) {
        crew.all[i] = trials_in(&crew.heard[i]);
    }
    if (!status) {
        *trials = add_up(&crew, batch);
        said = trials_out(trials);
        status = comm_broadcast_message(nodes->comm, 0, WIRE_TRIALS, &said);
    }
    if (!status) {
        *trials = trials_in(&said);
    }
    crew_trials_fini(&crew);
    if (!status && trials->count == 0) {
        status = stn_fail(STN_ERR_INVALID, BASE_SETTING
                          "micro-batch auto: no size fits the memory of all nodes; give a number");
    }
    return status;
}

enum stn_status tune_micro_batch_settle(struct settings *settings, struct stn_model_shape shape,
                                        int threads, struct crew *nodes)
{
    if (settings->micro_batch != SETTINGS_AUTO) {
        return STN_OK;
    }
    const struct bench_config bench = {
        .net = settings->net,
        .shape = shape,
        .threads = threads,
        .backend = settings->backend,
        .optimizer = settings->optimizer,
        .memory = settings->memory ? settings->memory : crew_own(nodes)->memory,
        .steps = 1,
    };
    struct stn_micro_batch_trials trials;
    enum stn_status status = bench_micro_batch_choose(&bench, settings->batch, &trials);
    status = crew_agree(nodes, status);
    if (!status) {
        status = agree_on(nodes, settings->batch, &trials);
    }
    if (!status) {
        settings->micro_batch = trials.at[trials.best].micro_batch;
    }
    if (!status && nodes->rank == 0) {
        stn_log(STN_LOG_INFO, "micro-batches of %d are the fastest here (%.1f img/s)",
                settings->micro_batch, trials.at[trials.best].images_per_second);
    }
    return status;
}
