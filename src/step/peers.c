// SPDX-License-Identifier: Apache-2.0
#include "step/peers.h"

#include <assert.h>
#include <stdlib.h>

#include "comm/comm.h"

// ---- opening -----------------------------------------------------------------------------------

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

enum stn_status step_peers_open_exchange(const struct settings *settings, const struct crew *nodes,
                                         const struct crew_profile *profile,
                                         struct step_model *model, struct step_peers *out)
{
    struct nn_net *net = model->engine.net;
    size_t count = (size_t)nodes->size;
    double *weights = calloc(count, sizeof(*weights));
    *out = (struct step_peers){.all = calloc(count, sizeof(*out->all))};
    if (!weights || !out->all) {
        free(weights);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %zu nodes", count);
    }
    out->own.threads = profile->about[nodes->rank].threads;
    out->own.cpus = profile->about[nodes->rank].cpus;
    leave_reducing_to_the_fast(profile, weights);
    const struct exchange_config config = {
        .comm = nodes->comm,
        .gradients = nn_net_gradient_sums(net),
        .gradient_count = nn_net_parameter_count(net),
        .statistics = nn_net_buffer_sums(net),
        .statistic_count = nn_net_buffer_count(net),
        .exact = settings->exact,
        .wire = settings->wire == SETTINGS_FP16 ? EXCHANGE_FP16 : EXCHANGE_FP32,
        .weights = weights,
    };
    enum stn_status status = exchange_create(&config, &out->exchange);
    free(weights);
    return status;
}

enum stn_status step_peers_open_policy(struct step_peers *peers, const struct settings *settings,
                                       const struct crew *nodes, const struct crew_profile *profile,
                                       const int first[], const struct crew_hooks *hooks)
{
    enum stn_status status = STN_OK;
    if (nodes->size == 1) {
        return STN_OK;
    }
    crew_vitals_open(&peers->vitals);
    if (crew_trade_wanted(settings)) {
        status = crew_trade_create(nodes->comm, profile->nodes, hooks, &peers->trade);
    }
    if (status || nodes->rank > 0) {
        return status;
    }
    const struct crew_adapt_config adapt = {
        .profile = profile, .first = first, .settings = settings};
    return crew_adapt_create(&adapt, &peers->adapt);
}

void step_peers_close(struct step_peers *peers)
{
    crew_trade_destroy(peers->trade);
    exchange_destroy(peers->exchange);
    crew_adapt_destroy(peers->adapt);
    crew_vitals_close(&peers->vitals);
    free(peers->all);
    *peers = (struct step_peers){0};
}

// ---- the account -------------------------------------------------------------------------------

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

static void take_stock(struct step_peers *peers, const struct crew *nodes)
{
    struct stn_train_node *own = &peers->own;
    struct comm_traffic traffic = comm_traffic(nodes->comm);
    struct exchange_stats exchange = exchange_stats(peers->exchange);
    own->gradient_bytes = traffic.sent_bytes[COMM_GRADIENTS];
    own->statistic_bytes = traffic.sent_bytes[COMM_STATISTICS];
    own->control_bytes = traffic.sent_bytes[COMM_CONTROL];
    own->exchange_seconds = exchange.busy_seconds;
    own->exposed_seconds = exchange.exposed_seconds;
    own->exposed_median_seconds = exchange.exposed_median_seconds;
    own->exposed_p90_seconds = exchange.exposed_p90_seconds;
}

enum stn_status step_peers_gather(struct step_peers *peers, struct crew *nodes, const int split[])
{
    struct wire_totals own, *all = calloc((size_t)nodes->size, sizeof(*all));
    enum stn_status status =
        all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    take_stock(peers, nodes);
    totals_out(&peers->own, &own);
    status = crew_agree(nodes, status);
    if (!status) {
        assert(all); // all have theirs
        status = comm_gather_message(nodes->comm, 0, WIRE_TOTALS, &own, all);
    }
    for (int i = 0; i < nodes->size; i++) {
        if (nodes->rank == 0 && !status) {
            totals_in(&all[i], &peers->all[i]);
        }
        peers->all[i].name = nodes->cluster.nodes[i].name;
        peers->all[i].micro_batches = split[i];
    }
    free(all);
    return status;
}
