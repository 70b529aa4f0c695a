// SPDX-License-Identifier: Apache-2.0
// A trainer among others: being alike, who computes and reduces how much, and what each node did.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/random.h"
#include "base/setting_mark.h"
#include "crew/identity.h"
#include "engine/memory.h"
#include "stannis/log.h"
#include "train/trainer.h"

static double own_cpus(const struct trainer *t)
{
    double paced = rig_paced_cpus();
    return paced > 0.0                 ? paced
           : t->engine.cpu.quota > 0.0 ? t->engine.cpu.quota
                                       : t->engine.threads;
}

// The same where all tensors have the same names and shapes.
static uint64_t network_hash(const struct nn_net *net)
{
    uint64_t hash = 0;
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *tensor = nn_net_tensor(net, i);
        for (const char *c = tensor->name; *c; c++) {
            hash = base_key(hash, (uint64_t)(unsigned char)*c);
        }
        hash = base_key(hash, 256); // "a", "b" is not "ab"
        for (int d = 0; d < tensor->rank; d++) {
            hash = base_key(hash, (uint64_t)tensor->dims[d]);
        }
    }
    return hash;
}

enum stn_status trainer_check_identity(struct trainer *t)
{
    struct wire_identity own;
    const struct crew_subject subject = {
        .network = network_hash(t->engine.net),
        .class_list = t->meta.class_list,
        .mean = t->meta.mean,
        .std = t->meta.std,
        .public_samples = stn_dataset_info(t->sets.public_set)->count[STN_SUBSET_TRAIN]};
    crew_identity_of(&subject, &own);
    enum stn_status status = crew_compare(&t->nodes, &own);
    return status ? status : crew_compare_settings(&t->nodes, t->meta.settings);
}

// ---- who there is ------------------------------------------------------------------------------

// The same for all processes under one kernel, whatever their containers are called.
static uint64_t own_machine(void)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || !fgets(id, sizeof(id), file)) {
        gethostname(id, sizeof(id) - 1);
    }
    if (file) {
        fclose(file);
    }
    uint64_t hash = 0;
    for (const char *c = id; *c; c++) {
        hash = base_key(hash, (uint64_t)(unsigned char)*c);
    }
    return hash;
}

static struct crew_node_profile own_profile(const struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    size_t limit = settings->memory ? settings->memory : crew_own(&t->nodes)->memory;
    return (struct crew_node_profile){
        .threads = t->engine.threads,
        .cpus = own_cpus(t),
        .machine = own_machine(),
        .machine_cpus = t->engine.cpu.affinity,
        .memory_needed = engine_memory_needed(t->engine.net, trainer_state_bytes(t)),
        .memory_limit = limit ? limit : base_memory_limit(),
    };
}

// A node with a fraction of a core waits for its next time slice at every message of a bucket that
// it owns, and everybody with it: docs/decisions/0007 has figures.
static void leave_reducing_to_the_fast(const struct crew_profile *profile, double *weights)
{
    double most = 0.0;
    for (int i = 0; i < profile->cluster.count; i++) {
        most = profile->about[i].cpus > most ? profile->about[i].cpus : most;
    }
    for (int i = 0; i < profile->cluster.count; i++) {
        double cpus = profile->about[i].cpus;
        weights[i] = 2.0 * cpus < most ? 0.0 : cpus;
    }
}

static enum stn_status create_exchange(struct trainer *t, double *weights)
{
    struct nn_net *net = t->engine.net;
    leave_reducing_to_the_fast(&t->profile, weights);
    const struct exchange_config config = {
        .comm = t->nodes.comm,
        .gradients = nn_net_gradient_sums(net),
        .gradient_count = nn_net_parameter_count(net),
        .statistics = nn_net_buffer_sums(net),
        .statistic_count = nn_net_buffer_count(net),
        .exact = t->meta.settings->exact,
        .wire = t->meta.settings->wire == SETTINGS_FP16 ? EXCHANGE_FP16 : EXCHANGE_FP32,
        .weights = weights,
    };
    return exchange_create(&config, &t->exchange);
}

// Everybody's CPUs are known to everybody: who adds up what follows from them.
enum stn_status trainer_open_exchange(struct trainer *t)
{
    size_t nodes = (size_t)t->nodes.size;
    const struct crew_node_profile own = own_profile(t);
    double *weights = calloc(nodes, sizeof(*weights));
    t->all = calloc(nodes, sizeof(*t->all));
    enum stn_status status =
        weights && t->all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %zu nodes", nodes);
    if (!status) {
        status = crew_profile_create(&t->nodes.cluster, t->meta.settings->micro_batch, &t->profile);
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = crew_profile_gather(&t->nodes, &own, &t->profile);
    }
    if (!status) {
        assert(weights); // everybody has its own
        status = create_exchange(t, weights);
    }
    t->own.threads = own.threads;
    t->own.cpus = own.cpus;
    free(weights);
    return status;
}

// ---- who computes what -------------------------------------------------------------------------

// A split that the user gave, if no node's max_batch speaks against it.
static enum stn_status check_given(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    const struct cluster *cluster = &t->nodes.cluster;
    int micro_batches = (settings->batch + settings->micro_batch - 1) / settings->micro_batch;
    crew_profile_guess(&t->profile);
    enum stn_status status = crew_profile_cap(&t->profile, cluster, micro_batches);
    int over = status ? -1 : crew_splits_over_cap(&t->splits, &t->profile.cluster);
    if (over >= 0) {
        status =
            stn_fail(STN_ERR_INVALID,
                     BASE_SETTING "split %s: node %s may have %d images a step at most (max_batch)",
                     settings->split, cluster->nodes[over].name, cluster->nodes[over].max_batch);
    }
    return status;
}

// The plan's own split where it was made for this batch and policy, else one from its speeds.
static enum stn_status split_by_plan(struct trainer *t, int *batch)
{
    const struct settings *settings = t->meta.settings;
    const struct stn_plan *plan = t->plan;
    const struct stn_plan_info *info = stn_plan_info(plan);
    const struct tune_subject subject = trainer_subject(t);
    tune_plan_take(plan, &t->profile);
    crew_profile_use_measured(&t->profile);
    enum stn_status status = tune_plan_split(&subject, &t->profile, batch, &t->splits);
    if (!status && info->batch == settings->batch && info->policy == settings->policy) {
        for (int i = 0; i < info->nodes; i++) {
            t->splits.values[i] = stn_plan_node(plan, i)->micro_batches;
        }
        int over = crew_splits_over_cap(&t->splits, &t->profile.cluster);
        if (over >= 0) {
            status =
                stn_fail(STN_ERR_INVALID,
                         BASE_SETTING "plan %s: gives node %s more than its max_batch; tune again",
                         settings->plan, t->nodes.cluster.nodes[over].name);
        }
    }
    return status;
}

// Where the batch was the tuner's to choose, the learning rate goes with it.
static void adopt_batch(const struct trainer *t, int batch, struct settings *resolved)
{
    if (resolved->batch == SETTINGS_AUTO) {
        double lr = resolved->lr * batch / SETTINGS_BATCH_USUAL;
        if (t->nodes.rank == 0) {
            stn_log(STN_LOG_INFO, "a batch of %d; with it the learning rate is %.4g (%g for %d)",
                    batch, lr, resolved->lr, SETTINGS_BATCH_USUAL);
        }
        resolved->lr = lr;
    }
    resolved->batch = batch;
}

// Node 0's plan, from measurements, for people.
static enum stn_status tell_plan(struct trainer *t)
{
    const struct stn_train_observer *observer = t->observer;
    struct stn_plan *plan = NULL;
    const struct tune_subject subject = trainer_subject(t);
    enum stn_status status = STN_OK;
    if (t->profile.measured && t->nodes.rank == 0) {
        status = tune_plan_describe(&subject, &t->profile, t->meta.settings->batch,
                                    t->splits.values, &plan);
    }
    stn_plan_destroy(t->plan);
    t->plan = plan;
    if (plan && observer && observer->tuned) {
        observer->tuned(observer->context, plan);
    }
    return status;
}

static bool tunes(const struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    return settings->tune_always ||
           (settings->tune && (t->nodes.size > 1 || settings->batch == SETTINGS_AUTO));
}

enum stn_status trainer_settle_split(struct trainer *t, struct settings *resolved)
{
    if (t->splits.values) {
        return check_given(t);
    }
    int batch = t->meta.settings->batch;
    enum stn_status status = STN_OK;
    if (t->plan) {
        status = split_by_plan(t, &batch);
    } else {
        const struct tune_subject subject = trainer_subject(t);
        status = tunes(t) ? trainer_tune(t) : STN_OK;
        if (!status && !t->profile.measured) {
            crew_profile_guess(&t->profile);
        }
        if (!status) {
            status = tune_plan_split(&subject, &t->profile, &batch, &t->splits);
        }
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = crew_splits_spread(&t->nodes, &t->splits, &batch);
    }
    if (!status) {
        adopt_batch(t, batch, resolved);
        status = tell_plan(t);
    }
    return status;
}

static enum stn_status open_trade(struct trainer *t)
{
    if (!crew_trade_wanted(t->meta.settings)) {
        return STN_OK;
    }
    return crew_trade_create(t->nodes.comm, t->profile.nodes, t->hooks, &t->trade);
}

enum stn_status trainer_open_adapt(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    if (t->nodes.size == 1) {
        return STN_OK;
    }
    crew_vitals_open(&t->vitals);
    enum stn_status status = open_trade(t);
    if (status || t->nodes.rank > 0) {
        return status;
    }
    int64_t steps = (t->feed.samples + settings->batch - 1) / settings->batch;
    crew_profile_floor(&t->profile, t->sets.counts[STN_SUBSET_TRAIN], steps);
    const struct crew_adapt_config adapt = {
        .profile = &t->profile,
        .first = crew_feed_split_at(&t->feed, t->meta.progress.step),
        .settings = settings,
    };
    return crew_adapt_create(&adapt, &t->adapt);
}

void trainer_end_epoch(struct trainer *t, const struct crew_verdict *verdict)
{
    struct checkpoint_progress *progress = &t->meta.progress;
    int64_t lost = t->feed.samples - progress->position;
    t->lost += lost;
    progress->samples_seen += lost; // schedules go on as if they had been
    progress->position = t->feed.samples;
    progress->batch = verdict->batch;
    progress->lr = t->schedule.base = verdict->lr;
    crew_feed_rebatch(&t->feed, verdict->split, verdict->batch, progress->epoch + 1);
    trainer_count_steps(t);
}

// Both structs call these the same.
#define COPY(of, type, name) to->name = from->name;
static void totals_out(const struct stn_train_node *from, struct wire_totals *to)
{
    WIRE_TOTALS(wire_totals, COPY, )
}

static void totals_in(const struct wire_totals *from, struct stn_train_node *to)
{
    WIRE_TOTALS(wire_totals, COPY, )
}
#undef COPY

static enum stn_status gather_totals(struct trainer *t)
{
    struct wire_totals own, *all = calloc((size_t)t->nodes.size, sizeof(*all));
    enum stn_status status =
        all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", t->nodes.size);
    totals_out(&t->own, &own);
    status = crew_agree(&t->nodes, status);
    if (!status) {
        assert(all); // all have theirs
        status = comm_gather_message(t->nodes.comm, 0, WIRE_TOTALS, &own, all);
    }
    for (int i = 0; i < t->nodes.size && t->nodes.rank == 0 && !status; i++) {
        totals_in(&all[i], &t->all[i]);
    }
    free(all);
    return status;
}

enum stn_status trainer_gather_nodes(struct trainer *t)
{
    struct comm_traffic traffic = comm_traffic(t->nodes.comm);
    t->own.gradient_bytes = traffic.sent_bytes[COMM_GRADIENTS];
    t->own.statistic_bytes = traffic.sent_bytes[COMM_STATISTICS];
    t->own.control_bytes = traffic.sent_bytes[COMM_CONTROL];
    struct exchange_stats exchange = exchange_stats(t->exchange);
    t->own.exchange_seconds = exchange.busy_seconds;
    t->own.exposed_seconds = exchange.exposed_seconds;
    t->own.exposed_median_seconds = exchange.exposed_median_seconds;
    t->own.exposed_p90_seconds = exchange.exposed_p90_seconds;
    t->own.skipped = data_loader_stats(t->feed.loader).skipped;
    if (t->validation.loader) {
        t->own.skipped += data_loader_stats(t->validation.loader).skipped;
    }
    enum stn_status status = gather_totals(t);
    const int *split = crew_feed_split_at(&t->feed, t->meta.progress.step);
    for (int i = 0; i < t->nodes.size; i++) {
        t->all[i].name = t->nodes.cluster.nodes[i].name;
        t->all[i].micro_batches = split[i];
    }
    return status;
}
