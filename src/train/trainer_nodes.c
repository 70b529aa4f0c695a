// SPDX-License-Identifier: Apache-2.0
// A trainer among others: being alike, who computes and reduces how much, and what each node did.
#include <stdlib.h>

#include "emulate/emulate.h"
#include "train/identity.h"
#include "train/trainer.h"

static double own_cpus(const struct trainer *t)
{
    double paced = emulate_pace_share();
    return paced > 0.0                 ? paced
           : t->engine.cpu.quota > 0.0 ? t->engine.cpu.quota
                                       : t->engine.threads;
}

enum stn_status trainer_check_identity(struct trainer *t)
{
    struct train_identity own;
    int64_t samples = stn_dataset_info(t->sets.public_set)->count[STN_SPLIT_TRAIN];
    enum stn_status status = train_identity_of(&t->meta, t->engine.net, samples, &own);
    status = train_nodes_agree(&t->nodes, status);
    return status ? status : train_nodes_compare(&t->nodes, &own);
}

// The split that was asked for, if no node's max_batch speaks against it, or the policy's.
static enum stn_status settle_split(struct trainer *t, const double *cpus, int micro_batches)
{
    const struct stn_train_config *config = &t->meta.config;
    const struct cluster *cluster = &t->nodes.cluster;
    enum stn_status status =
        train_profile_guess(cluster, cpus, config->micro_batch, micro_batches, &t->profile);
    if (!status && !t->splits.values) {
        status = train_splits_plan(&t->profile.cluster, config->policy, micro_batches, &t->splits);
    }
    int over = status ? -1 : train_splits_over_cap(&t->splits, &t->profile.cluster);
    if (over >= 0) {
        status = stn_fail(STN_ERR_INVALID,
                          "--split %s: node %s may have %d images a step at most (max_batch)",
                          config->split, cluster->nodes[over].name, cluster->nodes[over].max_batch);
    }
    return status;
}

// A node with a fraction of a core waits for its next time slice at every message of a bucket that it
// owns, and everybody with it: docs/decisions/0007 has figures.
static void leave_reducing_to_the_fast(double *cpus, int nodes)
{
    double most = 0.0;
    for (int i = 0; i < nodes; i++) {
        most = cpus[i] > most ? cpus[i] : most;
    }
    for (int i = 0; i < nodes; i++) {
        cpus[i] = 2.0 * cpus[i] < most ? 0.0 : cpus[i];
    }
}

// Everybody's CPUs are known to everybody: the split and who adds up what follow from them.
enum stn_status trainer_open_exchange(struct trainer *t)
{
    struct nn_net *net = t->engine.net;
    int nodes = t->nodes.size, micro_batch = t->meta.config.micro_batch;
    int micro_batches = (t->meta.config.batch + micro_batch - 1) / micro_batch;
    double cpus = own_cpus(t), *weights = calloc((size_t)nodes, sizeof(*weights));
    t->all = calloc((size_t)nodes, sizeof(*t->all));
    enum stn_status status =
        weights && t->all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes);
    status = train_nodes_agree(&t->nodes, status);
    if (!status) {
        status = comm_all_gather(t->nodes.comm, COMM_CONTROL, &cpus, sizeof(cpus), weights);
    }
    if (!status) {
        status = settle_split(t, weights, micro_batches);
    }
    if (!status) {
        leave_reducing_to_the_fast(weights, nodes);
        const struct exchange_config config = {
            .comm = t->nodes.comm,
            .gradients = nn_net_gradient_sums(net),
            .gradient_count = nn_net_parameter_count(net),
            .statistics = nn_net_buffer_sums(net),
            .statistic_count = nn_net_buffer_count(net),
            .exact = t->meta.config.exact,
            .threads = t->engine.threads,
            .wire = t->meta.config.wire == STN_WIRE_FP16 ? EXCHANGE_FP16 : EXCHANGE_FP32,
            .weights = weights,
        };
        status = exchange_create(&config, &t->exchange);
    }
    t->own.threads = t->engine.threads;
    t->own.cpus = cpus;
    free(weights);
    return status;
}

// Private data bind micro-batches to their node.
static void find_floors(const struct trainer *t, int *floors)
{
    int batch = t->meta.config.batch;
    int64_t steps = (t->feed.samples + batch - 1) / batch;
    for (int i = 0; i < t->nodes.size; i++) {
        floors[i] = plan_node_floor(t->sets.counts[STN_SPLIT_TRAIN][1 + i], steps,
                                    t->meta.config.micro_batch);
    }
}

enum stn_status trainer_open_adapt(struct trainer *t)
{
    const struct stn_train_config *config = &t->meta.config;
    if (t->nodes.size == 1) {
        return STN_OK;
    }
    train_vitals_open(&t->vitals);
    if (t->nodes.rank > 0) {
        return STN_OK;
    }
    int *floors = calloc((size_t)t->nodes.size, sizeof(*floors));
    if (!floors) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", t->nodes.size);
    }
    find_floors(t, floors);
    const struct train_adapt_config adapt = {
        .profile = &t->profile,
        .first = train_feed_split_at(&t->feed, t->meta.progress.step),
        .floors = floors,
        .policy = config->policy,
        .fixed = config->split != NULL,
        .options = config->adapt,
        .lr = config->lr,
    };
    enum stn_status status = train_adapt_create(&adapt, &t->adapt);
    free(floors);
    return status;
}

void trainer_end_epoch(struct trainer *t, const struct train_verdict *verdict)
{
    struct train_progress *progress = &t->meta.progress;
    int64_t lost = t->feed.samples - progress->position;
    t->lost += lost;
    progress->samples_seen += lost; // schedules go on as if they had been
    progress->position = t->feed.samples;
    t->meta.config.batch = verdict->batch;
    t->meta.config.lr = t->schedule.base = verdict->lr;
    train_feed_rebatch(&t->feed, verdict->split, verdict->batch, progress->epoch + 1);
    trainer_count_steps(t);
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
    t->own.skipped = data_loader_stats(t->feed.loader).skipped;
    if (t->validation.loader) {
        t->own.skipped += data_loader_stats(t->validation.loader).skipped;
    }
    enum stn_status status =
        comm_gather(t->nodes.comm, COMM_CONTROL, 0, &t->own, sizeof(t->own), t->all);
    const int *split = train_feed_split_at(&t->feed, t->meta.progress.step);
    for (int i = 0; i < t->nodes.size; i++) {
        t->all[i].name = t->nodes.cluster.nodes[i].name; // a pointer of that node's otherwise
        t->all[i].micro_batches = split[i];
    }
    return status;
}
