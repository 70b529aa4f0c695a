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

void cluster_begin(struct cluster *cluster)
{
    assert_int_equal(hypertune_exact_create(cluster->nodes, &cluster->exact), STN_OK);
    const struct hypertune_decide_config config = {
        .load = {.nodes = cluster->nodes,
                 .total = cluster->total,
                 .fixed_s = cluster->fixed_s,
                 .each_s = cluster->each_s,
                 .least = cluster->least,
                 .most = cluster->most},
        .split = hypertune_exact_split,
        .split_context = cluster->exact,
        .options = hypertune_decide_defaults(),
    };
    assert_int_equal(hypertune_decide_create(&config, &cluster->decide), STN_OK);
    cluster->decision.split = hypertune_decide_split(cluster->decide);
}

void cluster_end(struct cluster *cluster)
{
    hypertune_decide_destroy(cluster->decide);
    hypertune_exact_destroy(cluster->exact);
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
