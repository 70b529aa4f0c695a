// SPDX-License-Identifier: Apache-2.0
#include "sim/sizing.h"

#include <math.h>
#include <stdlib.h>

#include "base/setting_mark.h"
#include "sim/rack.h"

// Undisturbed steps are all alike; enough images that the size of the set bounds no batch.
enum { STEPS = 2, IMAGES = 1000000 };

// The backward pass takes about two thirds of a micro-batch; gradients leave while it runs.
static const double backward_part = 2.0 / 3.0;

static struct sim_rack_part part_of(const struct sim_device *device,
                                    const struct sim_device_net *net, int count)
{
    return (struct sim_rack_part){
        .count = count, .line = net->line, .link = device->link, .power = device->power};
}

static struct sim_config config_of(const struct sim_sizing_config *c)
{
    struct sim_config config = sim_defaults();
    config.policy = c->policy;
    config.plan = plan_policy_defaults;
    config.micro_batch = c->micro_batch;
    config.micro_batches = c->batch / c->micro_batch;
    config.public_samples = IMAGES;
    config.steps = STEPS;
    config.gradient_bytes = c->gradient_bytes;
    config.overlap = backward_part;
    return config;
}

static struct sim_sizing_row row_of(const struct sim_sizing_config *c, const struct sim_rack *rack,
                                    const struct sim_result *result, int csds)
{
    struct sim_sizing_row row = {.csds = csds,
                                 .images_per_s = result->images_per_s,
                                 .ceiling = result->ceiling,
                                 .watts = NAN,
                                 .joules_per_image = NAN,
                                 .flops_per_watt = NAN,
                                 .batch = result->micro_batches * c->micro_batch};
    for (int i = 1; i < result->node_count; i++) {
        row.working += result->nodes[i].micro_batches > 0;
    }
    if (rack->power_host.busy_w > 0.0) {
        struct sim_energy energy = sim_energy_of(result, rack->powers, SIM_WAITING_SLEEPS);
        row.watts = energy.watts;
        row.joules_per_image = energy.joules_per_image;
        row.flops_per_watt = sim_energy_flops_per_watt(&energy, c->flops_per_image);
    }
    return row;
}

static enum stn_status run_rack(const struct sim_sizing_config *c, struct sim_rack *rack,
                                struct sim_result *result)
{
    struct sim_config config = config_of(c);
    struct plan_objective objective;
    if (c->objective) {
        enum stn_status status = sim_energy_objective(&rack->cluster, rack->powers, &rack->arena,
                                                      c->objective, &objective);
        if (status != STN_OK) {
            return status;
        }
        config.objective = &objective;
    }
    return sim_run(&rack->cluster, &config, NULL, result);
}

enum stn_status sim_sizing_row_run(const struct sim_sizing_config *c, int csds,
                                   struct sim_sizing_row *out)
{
    struct sim_device_net *host, *csd;
    enum stn_status status = sim_device_require_net(c->host, c->net, BASE_SETTING "net", &host);
    if (status == STN_OK) {
        status = sim_device_require_net(c->csd, c->net, BASE_SETTING "net", &csd);
    }
    if (status != STN_OK) {
        return status;
    }
    struct sim_rack_config rack_config = {.host = part_of(c->host, host, 1),
                                          .csd = part_of(c->csd, csd, csds),
                                          .micro_batch = c->micro_batch,
                                          .slowdown = 1.0};
    struct sim_rack rack;
    struct sim_result result;
    status = sim_rack_init(&rack, &rack_config);
    if (status != STN_OK) {
        return status;
    }
    status = run_rack(c, &rack, &result);
    if (status == STN_OK) {
        *out = row_of(c, &rack, &result, csds);
        sim_result_fini(&result);
    }
    sim_rack_fini(&rack);
    return status;
}

// Neither the next CSD nor the next few add enough each. (A single one may add little just because
// micro-batches are whole.)
static bool is_knee(const struct sim_sizing *sizing, int i, double knee)
{
    double from = sizing->rows[i].images_per_s;
    for (int k = i + 1; k < sizing->count; k++) {
        if (sizing->rows[k].images_per_s >= from * (1.0 + knee * (k - i))) {
            return false;
        }
    }
    return i + 1 < sizing->count;
}

static void compare(struct sim_sizing *sizing, double knee)
{
    sizing->knee = -1;
    for (int i = 0; i < sizing->count; i++) {
        struct sim_sizing_row *row = &sizing->rows[i];
        row->saved = 1.0 - row->joules_per_image / sizing->alone.joules_per_image;
        row->added = i > 0 ? row->images_per_s / row[-1].images_per_s - 1.0 : 0.0;
        if (sizing->knee < 0 && is_knee(sizing, i, knee)) {
            sizing->knee = row->csds;
        }
    }
}

enum stn_status sim_sizing_check(const struct sim_sizing_config *config)
{
    if (config->least < 0 || config->most < config->least || config->most > SIM_SIZING_CSDS_MAX) {
        return stn_fail(STN_ERR_INVALID, "%d to %d CSDs: must be from 0 to %d, and rising",
                        config->least, config->most, SIM_SIZING_CSDS_MAX);
    }
    return STN_OK;
}

enum stn_status sim_sizing_run(const struct sim_sizing_config *config, struct sim_sizing *out)
{
    enum stn_status status = sim_sizing_check(config);
    if (status != STN_OK) {
        return status;
    }
    *out = (struct sim_sizing){.count = config->most - config->least + 1};
    out->rows = calloc((size_t)out->count, sizeof(*out->rows));
    if (!out->rows) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d rows", out->count);
    }
    // The host alone is what all others are compared with, so it is planned to be as fast as it can
    // be, whatever objective is asked for.
    struct sim_sizing_config alone = *config;
    alone.objective = NULL;
    status = sim_sizing_row_run(&alone, 0, &out->alone);
    for (int i = 0; i < out->count && status == STN_OK; i++) {
        status = sim_sizing_row_run(config, config->least + i, &out->rows[i]);
    }
    if (status != STN_OK) {
        sim_sizing_fini(out);
        return status;
    }
    compare(out, config->knee);
    return STN_OK;
}

void sim_sizing_fini(struct sim_sizing *sizing)
{
    free(sizing->rows);
    *sizing = (struct sim_sizing){0};
}
