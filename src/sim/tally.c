// SPDX-License-Identifier: Apache-2.0
#include "sim/tally.h"

#include <stdlib.h>
#include <string.h>

// ---- phases ------------------------------------------------------------------------------------

// Keeps the list sorted and without doubles. False: it is full.
static bool begin_insert(struct sim_tally *tally, int64_t step)
{
    int at = 0;
    while (at < tally->begin_count && tally->begins[at] < step) {
        at++;
    }
    if (step <= 1 || (at < tally->begin_count && tally->begins[at] == step)) {
        return true;
    }
    if (tally->begin_count == SIM_PHASES_MAX - 1) {
        return false;
    }
    memmove(&tally->begins[at + 1], &tally->begins[at],
            (size_t)(tally->begin_count - at) * sizeof(*tally->begins));
    tally->begins[at] = step;
    tally->begin_count++;
    return true;
}

static void phases_from_loads(struct sim_tally *tally, const struct sim_cluster *cluster)
{
    for (int i = 0; i < cluster->load_count; i++) {
        const struct sim_load *load = &cluster->loads[i];
        if (load->shape == SIM_LOAD_RECORDED) {
            continue; // it is always there
        }
        if (!begin_insert(tally, load->from) ||
            (load->to < INT64_MAX && !begin_insert(tally, load->to + 1))) {
            tally->begin_count = 0; // too many to tell anything
            return;
        }
    }
}

enum stn_status sim_tally_init(struct sim_tally *tally, const struct sim_cluster *cluster,
                               const struct sim_config *config, struct sim_result *result)
{
    *tally = (struct sim_tally){.result = result};
    *result = (struct sim_result){
        .nodes = calloc((size_t)cluster->count, sizeof(*result->nodes)),
        .node_count = cluster->count,
        .lost_node = -1,
    };
    if (result->nodes == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate %d nodes", cluster->count);
    }
    if (config->phase_begins == NULL) {
        phases_from_loads(tally, cluster);
        return STN_OK;
    }
    for (int i = 0; i < config->phase_count; i++) {
        if (!begin_insert(tally, config->phase_begins[i])) {
            return stn_fail(STN_ERR_INVALID, "more than %d phases", SIM_PHASES_MAX);
        }
    }
    return STN_OK;
}

static struct sim_phase *phase_of(struct sim_tally *tally, int64_t step)
{
    struct sim_result *result = tally->result;
    int at = result->phase_count > 0 ? result->phase_count - 1 : 0;
    while (at < tally->begin_count && step >= tally->begins[at]) {
        at++;
    }
    result->phase_count = at + 1;
    struct sim_phase *phase = &result->phases[at];
    if (phase->first_step == 0) {
        phase->first_step = step;
    }
    phase->last_step = step;
    return phase;
}

// ---- what is done ------------------------------------------------------------------------------

void sim_tally_step(struct sim_tally *tally, const struct sim_step *step,
                    const struct plan_share shares[], const bool alive[])
{
    struct sim_result *result = tally->result;
    struct sim_phase *phase = phase_of(tally, step->step);
    phase->images += step->images;
    phase->seconds += step->seconds;
    result->steps++;
    result->images += step->images;
    result->seconds += step->seconds;
    result->exposed_s += step->exposed_s;
    result->replans += step->then == HYPERTUNE_REPLAN;
    result->probes += step->then == HYPERTUNE_PROBE;
    for (int i = 0; i < result->node_count; i++) {
        struct sim_node_result *node = &result->nodes[i];
        if (alive[i]) {
            node->images += plan_share_samples(&shares[i]);
            node->private_images += shares[i].private_range.end - shares[i].private_range.begin;
            node->micro_batches += shares[i].micro_batches;
            node->busy_s += step->node_s[i];
            node->idle_s += step->seconds - step->node_s[i];
            node->spare_s += shares[i].micro_batches == 0 ? step->seconds : 0.0;
        }
    }
}

void sim_tally_pause(struct sim_tally *tally, int64_t step, double seconds, const bool alive[])
{
    tally->result->seconds += seconds;
    phase_of(tally, step)->seconds += seconds;
    for (int i = 0; i < tally->result->node_count; i++) {
        tally->result->nodes[i].idle_s += alive[i] ? seconds : 0.0;
    }
}

static double rate(int64_t images, double seconds)
{
    return seconds > 0.0 ? (double)images / seconds : 0.0;
}

void sim_tally_end(struct sim_tally *tally)
{
    struct sim_result *result = tally->result;
    result->images_per_s = rate(result->images, result->seconds);
    int kept = 0;
    for (int i = 0; i < result->phase_count; i++) {
        struct sim_phase *phase = &result->phases[i];
        phase->images_per_s = rate(phase->images, phase->seconds);
        if (phase->first_step > 0) { // a jump over steps leaves phases without any
            result->phases[kept++] = *phase;
        }
    }
    result->phase_count = kept;
}

void sim_result_fini(struct sim_result *result)
{
    free(result->nodes);
    result->nodes = NULL;
}
