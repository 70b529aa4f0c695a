// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/arena.h"
#include "plan/share.h"
#include "sim/check.h"
#include "sim/epoch.h"
#include "sim/pilot.h"
#include "sim/sim.h"
#include "sim/tally.h"
#include "sim/world.h"

struct run {
    struct base_arena arena;
    const struct sim_cluster *cluster;
    const struct sim_config *config;
    const struct sim_observer *observer;
    struct sim_world world;
    struct sim_epoch epoch;
    struct sim_tally tally;
    struct sim_result *result;
    struct sim_pilot *pilot;
    struct plan_node *known; // [nodes] what policies know; a lost node has no cap
    bool *alive;             // [nodes]
    int alive_count;
    struct sim_link ring; // as slow as the slowest link of it
    // [nodes] of the step
    struct plan_share *shares;
    struct hypertune_report *reports;
    int *micro_batches;
    double *node_s, *slowdown;
    int64_t step; // the next
    double now_s;
};

struct sim_config sim_defaults(void)
{
    return (struct sim_config){
        .policy = hypertune_policy_find("balanced"),
        .plan = plan_policy_defaults,
        .decide = hypertune_decide_defaults(),
        .paper = hypertune_paper_defaults(),
        .micro_batch = 16,
        .epochs = 1,
        .timeout_s = 30.0,
    };
}

// ---- the exchange ------------------------------------------------------------------------------

static struct sim_link ring_of(const struct run *run)
{
    struct sim_link ring = {.bytes_per_s = INFINITY};
    for (int i = 0; i < run->cluster->count; i++) {
        const struct sim_link *link = &run->cluster->nodes[i].link;
        if (run->alive[i]) {
            ring.latency_s = fmax(ring.latency_s, link->latency_s);
            if (link->bytes_per_s > 0.0) {
                ring.bytes_per_s = fmin(ring.bytes_per_s, link->bytes_per_s);
            }
        }
    }
    return ring;
}

static struct plan_reduction reduction_of(const struct run *run, double window_s)
{
    const struct sim_config *config = run->config;
    return plan_reduction_ring(run->alive_count, config->gradient_bytes, run->ring.bytes_per_s,
                               run->ring.latency_s, window_s);
}

// Gradients can leave once every node is in the last backward pass, until the slowest is done.
static double window_s(const struct run *run, double slowest_s)
{
    double all_sending_s = 0.0;
    for (int i = 0; i < run->cluster->count; i++) {
        const struct plan_line *line = &run->cluster->nodes[i].curve.line;
        int m = run->micro_batches[i];
        if (m > 0) {
            double last_s = run->node_s[i] * line->each_s / plan_line_seconds(line, m);
            all_sending_s = fmax(all_sending_s, run->node_s[i] - run->config->overlap * last_s);
        }
    }
    return slowest_s - all_sending_s;
}

// ---- the plan ----------------------------------------------------------------------------------

static double fastest_each_s(const struct run *run)
{
    double least = INFINITY;
    for (int i = 0; i < run->cluster->count; i++) {
        if (run->alive[i]) {
            least = fmin(least, run->known[i].curve.line.each_s);
        }
    }
    return least;
}

static int cap_of(const struct sim_config *config, const struct sim_node *node)
{
    int most = config->micro_batches > 0 ? config->micro_batches
                                         : PLAN_BATCH_MOST / config->micro_batch + 1;
    return node->cap > 0 && node->cap < most ? node->cap : most;
}

static enum stn_status plan_anew(struct run *run)
{
    run->ring = ring_of(run);
    struct plan_cluster cluster = {
        .nodes = run->known,
        .count = run->cluster->count,
        .micro_batch = run->config->micro_batch,
        .reduction = reduction_of(run, run->config->overlap * fastest_each_s(run)),
        .objective = run->config->objective,
    };
    cluster.reduction.total_s += run->config->step_fixed_s;
    sim_pilot_destroy(run->pilot);
    run->pilot = NULL;
    return sim_pilot_create(run->config, &cluster, sim_epoch_whole(&run->epoch),
                            run->epoch.whole + 1, &run->pilot);
}

// ---- one step ----------------------------------------------------------------------------------

static double compute(struct run *run)
{
    double slowest_s = 0.0;
    for (int i = 0; i < run->cluster->count; i++) {
        int m = run->alive[i] ? run->shares[i].micro_batches : 0;
        run->micro_batches[i] = m;
        run->slowdown[i] = sim_world_slowdown(&run->world, i, run->step);
        double factor = run->slowdown[i] * sim_world_noise(&run->world, i, run->step);
        run->node_s[i] =
            m > 0 ? factor * plan_curve_seconds(&run->cluster->nodes[i].curve, m) : 0.0;
        slowest_s = fmax(slowest_s, run->node_s[i]);
    }
    return slowest_s;
}

// A load slows a node down as another process does: the node is ready to run, but does not run.
static void report(struct run *run, const struct sim_step *step)
{
    for (int i = 0; i < run->cluster->count; i++) {
        double cpu_s = run->node_s[i] / fmax(1.0, run->slowdown[i]);
        run->reports[i] = (struct hypertune_report){
            .step = run->alive[i] ? step->step : hypertune_no_step,
            .micro_batches = run->micro_batches[i],
            .compute_s = run->node_s[i],
            .wait_s = step->seconds - run->node_s[i],
            .cpu_s = cpu_s,
            .queue_s = run->node_s[i] - cpu_s,
            .share_cpu_s = run->node_s[i],
            .clock_s = step->begin_s + step->seconds,
        };
    }
}

static struct hypertune_move decide(struct run *run, double step_s)
{
    int64_t batch = (int64_t)sim_pilot_micro_batches(run->pilot) * run->config->micro_batch;
    int64_t left = (sim_epoch_left(&run->epoch) + batch - 1) / batch;
    double begin_s = run->config->clock_s ? run->config->clock_s() : 0.0;
    const struct hypertune_moment moment = {
        .step = run->step, .done = run->epoch.steps, .steps = run->epoch.steps + left};
    struct hypertune_move decision = sim_pilot_step(run->pilot, &moment, run->reports);
    if (run->config->clock_s) {
        double took_s = run->config->clock_s() - begin_s;
        run->result->decide_s += took_s;
        run->result->decide_most = fmax(run->result->decide_most, took_s / step_s);
    }
    return decision;
}

static struct sim_step step_of(const struct run *run, const struct plan_step *work,
                               double slowest_s)
{
    struct plan_reduction reduction = reduction_of(run, window_s(run, slowest_s));
    double exposed_s = plan_reduction_exposed_s(&reduction);
    return (struct sim_step){
        .step = run->step,
        .epoch = run->epoch.number,
        .epoch_position = run->epoch.before + work->end,
        .epoch_samples = run->epoch.before + run->epoch.samples,
        .images = work->end - work->begin,
        .begin_s = run->now_s,
        .seconds = slowest_s + exposed_s + run->config->step_fixed_s,
        .compute_s = slowest_s,
        .exposed_s = exposed_s,
        .micro_batches = run->micro_batches,
        .node_s = run->node_s,
        .slowdown = run->slowdown,
    };
}

static void do_step(struct run *run)
{
    int64_t batch = (int64_t)sim_pilot_micro_batches(run->pilot) * run->config->micro_batch;
    struct plan_step work =
        sim_epoch_step(&run->epoch, batch, run->config->micro_batch, sim_pilot_split(run->pilot));
    plan_share_step(&work, run->shares);
    struct sim_step step = step_of(run, &work, compute(run));
    report(run, &step);
    sim_epoch_advance(&run->epoch, &work);
    struct hypertune_move decision = decide(run, step.seconds);
    step.then = decision.action;
    step.changed_node = decision.node;
    step.gain = decision.gain;
    step.split_next = sim_pilot_split(run->pilot);
    sim_tally_step(&run->tally, &step, run->shares, run->alive);
    if (run->observer && run->observer->step) {
        run->observer->step(run->observer->context, &step);
    }
    if (decision.end_epoch) {
        run->result->unreached += sim_epoch_left(&run->epoch);
        run->epoch.position = run->epoch.samples;
    }
    if (run->config->checkpoint_steps > 0 && run->step % run->config->checkpoint_steps == 0) {
        run->epoch.saved = run->epoch.position;
    }
    run->now_s += step.seconds;
    run->step++;
}

// ---- failures ----------------------------------------------------------------------------------

static bool fails_now(const struct run *run, int node)
{
    return run->alive[node] && run->cluster->nodes[node].fails_at == run->step;
}

static bool somebody_fails(const struct run *run)
{
    for (int i = 0; i < run->cluster->count; i++) {
        if (fails_now(run, i)) {
            return true;
        }
    }
    return false;
}

static void pause_for(struct run *run, double seconds)
{
    sim_tally_pause(&run->tally, run->step, seconds, run->alive);
    run->now_s += seconds;
}

// The step comes to nothing: the others wait for the lost node until the timeout.
static enum stn_status lose_nodes(struct run *run)
{
    bool goes_on = run->config->failure == SIM_FAILURE_RESUME;
    if (goes_on) {
        run->result->repeated += sim_epoch_rewind(&run->epoch);
    }
    for (int i = 0; i < run->cluster->count; i++) {
        if (fails_now(run, i)) {
            run->alive[i] = false;
            run->alive_count--;
            run->known[i].cap = 0;
            run->result->lost_node = i;
            run->result->lost_step = run->step;
            if (goes_on) {
                sim_epoch_lose(&run->epoch, i, &run->result->lost);
            }
        }
    }
    pause_for(run, run->config->timeout_s);
    if (!goes_on || run->alive_count == 0 || sim_epoch_whole(&run->epoch) == 0) {
        run->result->stopped = true;
        return STN_OK;
    }
    pause_for(run, run->config->restart_s);
    return plan_anew(run);
}

// ---- the run -----------------------------------------------------------------------------------

static enum stn_status run_init(struct run *run)
{
    size_t nodes = (size_t)run->cluster->count;
    struct base_arena *arena = &run->arena;
    run->known = base_arena_alloc(arena, nodes * sizeof(*run->known));
    run->alive = base_arena_alloc(arena, nodes * sizeof(*run->alive));
    run->shares = base_arena_alloc(arena, nodes * sizeof(*run->shares));
    run->reports = base_arena_alloc(arena, nodes * sizeof(*run->reports));
    run->micro_batches = base_arena_alloc(arena, nodes * sizeof(*run->micro_batches));
    run->node_s = base_arena_alloc(arena, nodes * sizeof(*run->node_s));
    run->slowdown = base_arena_alloc(arena, nodes * sizeof(*run->slowdown));
    if (!run->known || !run->alive || !run->shares || !run->reports || !run->micro_batches ||
        !run->node_s || !run->slowdown) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate %zu nodes", nodes);
    }
    for (int i = 0; i < run->cluster->count; i++) {
        const struct sim_node *node = &run->cluster->nodes[i];
        run->known[i] = (struct plan_node){.name = node->name,
                                           .kind = node->kind,
                                           .curve = node->curve,
                                           .cap = cap_of(run->config, node)};
        run->alive[i] = true;
        run->result->ceiling += run->config->micro_batch / node->curve.line.each_s;
    }
    run->alive_count = run->cluster->count;
    enum stn_status status = sim_world_init(&run->world, arena, run->cluster, run->config->seed);
    if (status == STN_OK) {
        status = sim_epoch_init(&run->epoch, arena, run->cluster, run->config->public_samples);
    }
    return status == STN_OK ? plan_anew(run) : status;
}

static void remember_splits(struct run *run, bool first)
{
    const int *split = run->pilot ? sim_pilot_split(run->pilot) : NULL;
    for (int i = 0; split && i < run->cluster->count; i++) {
        struct sim_node_result *node = &run->result->nodes[i];
        *(first ? &node->split_first : &node->split_last) = split[i];
    }
}

static bool is_stopped(const struct run *run)
{
    return run->observer && run->observer->stop && run->observer->stop(run->observer->context);
}

static bool is_over(const struct run *run)
{
    const struct sim_config *config = run->config;
    return (config->steps > 0 && run->result->steps >= config->steps) ||
           (config->epochs > 0 && run->result->epochs >= config->epochs);
}

static enum stn_status do_epoch(struct run *run)
{
    enum stn_status status = STN_OK;
    sim_epoch_begin(&run->epoch);
    run->result->lost += run->epoch.gone;
    while (status == STN_OK && sim_epoch_left(&run->epoch) > 0 && !is_over(run)) {
        if (is_stopped(run)) {
            run->result->stopped = true;
            return STN_OK;
        }
        if (somebody_fails(run)) {
            status = lose_nodes(run);
            if (run->result->stopped) {
                return status;
            }
        } else {
            do_step(run);
        }
    }
    run->result->epochs += status == STN_OK && sim_epoch_left(&run->epoch) == 0;
    return status;
}

enum stn_status sim_run(const struct sim_cluster *cluster, const struct sim_config *config,
                        const struct sim_observer *observer, struct sim_result *out)
{
    struct run run = {
        .cluster = cluster, .config = config, .observer = observer, .result = out, .step = 1};
    *out = (struct sim_result){0};
    enum stn_status status = sim_check(cluster, config);
    if (status == STN_OK) {
        status = sim_tally_init(&run.tally, cluster, config, out);
    }
    if (status == STN_OK) {
        status = run_init(&run);
    }
    if (status == STN_OK) {
        out->micro_batches = sim_pilot_micro_batches(run.pilot);
        remember_splits(&run, true);
    }
    while (status == STN_OK && !out->stopped && !is_over(&run)) {
        status = do_epoch(&run);
    }
    remember_splits(&run, false);
    sim_pilot_destroy(run.pilot);
    base_arena_fini(&run.arena);
    if (status != STN_OK) {
        sim_result_fini(out);
        return status;
    }
    sim_tally_end(&run.tally);
    return STN_OK;
}
