// SPDX-License-Identifier: Apache-2.0
#include "sim/check.h"

#include <math.h>
#include <stddef.h>

// Sums over 100,000 nodes must fit, and an epoch's mixture takes counts of up to 2^40.
static const int64_t samples_most = INT64_C(1) << 40;
static const int micro_batches_most = 100000000;

static bool is_from(double value, double least)
{
    return isfinite(value) && value >= least;
}

static bool is_count(int64_t value)
{
    return value >= 0 && value <= samples_most;
}

static enum stn_status check_node(const struct sim_node *node, int i, int count)
{
    const char *name = node->name ? node->name : "?";
    const struct plan_line *line = &node->curve.line;
    const struct sim_noise *noise = &node->noise;
    if (!is_from(line->fixed_s, 0.0) || !is_from(line->each_s, 1e-12)) {
        return stn_fail(STN_ERR_INVALID,
                        "node %d (%s): %g s and %g s per micro-batch are no speed: expected 0 or "
                        "more, and more than 0",
                        i, name, line->fixed_s, line->each_s);
    }
    if (!is_from(noise->relative, 0.0) || noise->relative > 1.0 || !is_from(noise->memory, 0.0) ||
        noise->memory >= 1.0 || !is_from(noise->spikes, 0.0) || noise->spikes > 1.0 ||
        (noise->spikes > 0.0 && !is_from(noise->spike_factor, 1.0))) {
        return stn_fail(STN_ERR_INVALID,
                        "node %d (%s): noise %g with memory %g, %g spikes of %g: expected parts of "
                        "1, a memory below 1, and spikes of 1 or more",
                        i, name, noise->relative, noise->memory, noise->spikes,
                        noise->spike_factor);
    }
    if (!is_from(node->link.bytes_per_s, 0.0) || !is_from(node->link.latency_s, 0.0)) {
        return stn_fail(STN_ERR_INVALID, "node %d (%s): a link of %g bytes/s and %g s is none", i,
                        name, node->link.bytes_per_s, node->link.latency_s);
    }
    if (!is_count(node->private_samples) || node->cap < 0 || node->fails_at < 0) {
        return stn_fail(STN_ERR_INVALID,
                        "node %d (%s): private samples, cap and the step in which it fails must "
                        "not be negative",
                        i, name);
    }
    if (node->kind < 0 || node->kind >= count) {
        return stn_fail(STN_ERR_INVALID, "node %d (%s): is of kind %d, which is no node's number",
                        i, name, node->kind);
    }
    return STN_OK;
}

static enum stn_status check_recorded(const struct sim_load *load, int i)
{
    if (load->recorded == NULL || load->to == INT64_MAX) {
        return stn_fail(STN_ERR_INVALID, "load %d: nothing is recorded", i);
    }
    for (int64_t k = 0; k <= load->to - load->from; k++) {
        if (!is_from(load->recorded[k], 1e-6)) {
            return stn_fail(STN_ERR_INVALID,
                            "load %d: slowdown %g in step %lld: expected more than 0", i,
                            load->recorded[k], (long long)(load->from + k));
        }
    }
    return STN_OK;
}

static enum stn_status check_load(const struct sim_load *load, int i, int nodes)
{
    if (load->node < 0 || load->node >= nodes) {
        return stn_fail(STN_ERR_INVALID, "load %d: there is no node %d", i, load->node);
    }
    if (load->from < 1 || load->to < load->from) {
        return stn_fail(STN_ERR_INVALID,
                        "load %d: steps %lld to %lld: expected 1 or more, and an end not before "
                        "the beginning",
                        i, (long long)load->from, (long long)load->to);
    }
    if (load->shape == SIM_LOAD_RECORDED) {
        return check_recorded(load, i);
    }
    if (!is_from(load->slowdown, 1.0)) {
        return stn_fail(STN_ERR_INVALID, "load %d: slowdown %g: expected 1 or more", i,
                        load->slowdown);
    }
    if (load->shape == SIM_LOAD_RAMP && load->to == INT64_MAX) {
        return stn_fail(STN_ERR_INVALID, "load %d: a ramp needs an end", i);
    }
    if (load->shape == SIM_LOAD_ON_OFF &&
        (load->on_steps < 1 || load->on_steps > load->period_steps)) {
        return stn_fail(STN_ERR_INVALID, "load %d: on for %lld of every %lld steps is impossible",
                        i, (long long)load->on_steps, (long long)load->period_steps);
    }
    return STN_OK;
}

static enum stn_status check_config(const struct sim_config *config)
{
    if (config->policy == NULL || config->micro_batch < 1 || config->micro_batches < 0 ||
        config->micro_batches > micro_batches_most) {
        return stn_fail(STN_ERR_INVALID,
                        "simulation: %d micro-batches of %d samples: expected 1 sample or more",
                        config->micro_batches, config->micro_batch);
    }
    if ((config->epochs < 1 && config->steps < 1) || config->steps < 0 || config->epochs < 0) {
        return stn_fail(STN_ERR_INVALID, "simulation: no end: give a number of epochs or steps");
    }
    if (!is_from(config->gradient_bytes, 0.0) || !is_from(config->overlap, 0.0) ||
        config->overlap > 1.0 || !is_from(config->step_fixed_s, 0.0) ||
        !is_from(config->timeout_s, 0.0) || !is_from(config->restart_s, 0.0) ||
        config->checkpoint_steps < 0) {
        return stn_fail(STN_ERR_INVALID,
                        "simulation: bytes, seconds and steps must not be negative, and the "
                        "overlap a part of 1");
    }
    return STN_OK;
}

enum stn_status sim_check(const struct sim_cluster *cluster, const struct sim_config *config)
{
    enum stn_status status = check_config(config);
    if (status == STN_OK && cluster->count < 1) {
        status = stn_fail(STN_ERR_INVALID, "simulation: there are no nodes");
    }
    double samples = is_count(config->public_samples) ? (double)config->public_samples : NAN;
    for (int i = 0; status == STN_OK && i < cluster->count; i++) {
        status = check_node(&cluster->nodes[i], i, cluster->count);
        samples += (double)cluster->nodes[i].private_samples;
    }
    for (int i = 0; status == STN_OK && i < cluster->load_count; i++) {
        status = check_load(&cluster->loads[i], i, cluster->count);
    }
    if (status == STN_OK && !(samples >= 1.0 && samples <= (double)samples_most)) {
        status = stn_fail(STN_ERR_INVALID, "simulation: %g samples in an epoch: expected 1 to 2^40",
                          samples);
    }
    return status;
}
