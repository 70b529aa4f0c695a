// SPDX-License-Identifier: Apache-2.0
#include "cluster.h"

#include <math.h>

#include "cmocka_all.h"

void cluster_init(struct cluster *cluster, int nodes, uint64_t seed)
{
    *cluster = (struct cluster){.nodes = nodes, .total = 16 * nodes, .noise = 0.02};
    cluster->random = base_random_from(seed);
    for (int i = 0; i < nodes; i++) {
        cluster->each_s[i] = 0.01;
        cluster->slowdown[i] = 1.0;
        cluster->most[i] = cluster->total;
    }
}

struct plan_cluster cluster_known(struct cluster *cluster)
{
    for (int i = 0; i < cluster->nodes; i++) {
        cluster->known[i] =
            (struct plan_node){.curve.line = {cluster->fixed_s[i], cluster->each_s[i]},
                               .floor = cluster->least[i],
                               .cap = cluster->most[i]};
    }
    return (struct plan_cluster){
        .nodes = cluster->known, .count = cluster->nodes, .micro_batch = 1};
}

void cluster_begin_with(struct cluster *cluster, const struct hypertune_decide_options *options)
{
    const struct plan_cluster known = cluster_known(cluster);
    const struct hypertune_decide_config config = {
        .cluster = &known, .micro_batches = cluster->total, .options = *options};
    assert_int_equal(hypertune_decide_create(&config, &cluster->decide), STN_OK);
    cluster->decision.split = hypertune_decide_split(cluster->decide);
}

void cluster_begin(struct cluster *cluster)
{
    const struct hypertune_decide_options options = hypertune_decide_defaults();
    cluster_begin_with(cluster, &options);
}

void cluster_end(struct cluster *cluster)
{
    hypertune_decide_destroy(cluster->decide);
}

static double true_s(const struct cluster *c, int node)
{
    int m = c->decision.split[node];
    return m > 0 ? c->slowdown[node] * (c->fixed_s[node] + c->each_s[node] * m) : 0.0;
}

static double slowest_true_s(const struct cluster *c)
{
    double most = 0.0;
    for (int i = 0; i < c->nodes; i++) {
        most = fmax(most, true_s(c, i));
    }
    return most;
}

void cluster_compute(struct cluster *cluster)
{
    double last_s = 0.0;
    for (int i = 0; i < cluster->nodes; i++) {
        double noise = exp(cluster->noise * base_random_normal(&cluster->random));
        cluster->reports[i] = (struct hypertune_report){
            .step = cluster->silent[i] ? hypertune_no_step : cluster->step,
            .micro_batches = cluster->decision.split[i],
            .compute_s = true_s(cluster, i) * noise,
        };
        last_s = fmax(last_s, cluster->reports[i].compute_s);
    }
    for (int i = 0; i < cluster->nodes; i++) {
        struct hypertune_report *report = &cluster->reports[i];
        report->wait_s = last_s - report->compute_s + cluster->exchange_s;
        cluster->clock_s[i] += last_s + cluster->exchange_s;
        report->clock_s = cluster->clock_s[i];
    }
}

static void check_split(const struct cluster *c)
{
    int sum = 0;
    for (int i = 0; i < c->nodes; i++) {
        assert_in_range(c->decision.split[i], c->least[i], c->most[i]);
        sum += c->decision.split[i];
    }
    assert_int_equal(sum, c->total);
}

void cluster_decide(struct cluster *cluster)
{
    cluster->decision = hypertune_decide_step(cluster->decide, cluster->step, cluster->reports);
    cluster->step++;
    cluster->replans += cluster->decision.action == HYPERTUNE_REPLAN;
    cluster->probes += cluster->decision.action == HYPERTUNE_PROBE;
    check_split(cluster);
}

void cluster_step(struct cluster *cluster)
{
    cluster_compute(cluster);
    cluster_decide(cluster);
}

void cluster_steps(struct cluster *cluster, int steps)
{
    for (int i = 0; i < steps; i++) {
        cluster_step(cluster);
    }
}

static double work_until(const struct cluster *c, double seconds)
{
    double work = 0.0;
    for (int i = 0; i < c->nodes; i++) {
        double m = (seconds / c->slowdown[i] - c->fixed_s[i]) / c->each_s[i];
        work += fmax(c->least[i], fmin(c->most[i], m));
    }
    return work;
}

double cluster_efficiency(const struct cluster *cluster)
{
    double low = 0.0, high = slowest_true_s(cluster);
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2.0;
        if (work_until(cluster, middle) < cluster->total) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high / slowest_true_s(cluster);
}

void cluster_assert_efficiency(const struct cluster *cluster, double least)
{
    double efficiency = cluster_efficiency(cluster);
    if (efficiency < least) {
        print_error("step %lld: %g of the water level, expected %g\n", (long long)cluster->step,
                    efficiency, least);
        fail();
    }
}
