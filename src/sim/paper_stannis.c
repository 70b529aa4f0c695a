// SPDX-License-Identifier: Apache-2.0
// Stannis, section V: a server with up to 24 Newport CSDs. Tables I and II, Fig. 6 and 7.
#include <math.h>
#include <stdlib.h>

#include "sim/paper_trial.h"

enum { ENERGIES = 4 };

// What the paper reports, to be predicted.
static const double speedup = 2.7;
static const struct {
    int csds;
    double joules, saving, flops_per_watt;
} energies[ENERGIES] = {{4, 8.30, 0.37, 7.05e6},
                        {8, 6.84, 0.48, 8.18e6},
                        {16, 5.05, 0.62, 10.37e6},
                        {24, 4.02, 0.69, 12.26e6}};

static const char why_past[] =
    "Algorithm 1 ends 20 % above the CSD's step time; the printed batches are past that";
static const char why_rows[] =
    "Table II disagrees with itself: 56 MFLOP over its FLOPS per watt is 7.94, 6.85, 5.40 and 4.57 "
    "J, not 8.30, 6.84, 5.05 and 4.02; the model is nearer to the former";

struct experiment {
    const struct sim_paper_inputs *in;
    const struct sim_device *host, *csd;
    struct sim_paper_calibration is;
    struct sim_paper_report *out;
};

struct pair {
    double host, csd; // images a second
};

static enum stn_status speeds_of(const struct experiment *x, const struct sim_paper_net *net,
                                 struct pair *out)
{
    struct sim_speed *host = NULL, *csd = NULL;
    enum stn_status status = sim_device_require_speed(x->host, net->net, net->batch_host, &host);
    if (status == STN_OK) {
        status = sim_device_require_speed(x->csd, net->net, net->batch_csd, &csd);
    }
    if (status == STN_OK) {
        *out = (struct pair){host->images_per_s, csd->images_per_s};
    }
    return status;
}

// ---- Table I -----------------------------------------------------------------------------------

// Algorithm 1 for one host and one CSD, whose best batch is known.
static enum stn_status tune(const struct sim_paper_net *net, const struct pair *speeds,
                            int *batch_host)
{
    const struct plan_point best = {.micro_batches = net->batch_csd, .speed = speeds->csd};
    const struct plan_node nodes[] = {
        {.name = "host", .curve = {.line = {.each_s = 1.0 / speeds->host}}, .cap = 100000},
        {.name = "csd",
         .kind = 1,
         .curve = {.line = {.each_s = 1.0 / speeds->csd}, .points = &best, .count = 1},
         .cap = 100000}};
    const struct plan_request request = {.cluster = {.nodes = nodes, .count = 2, .micro_batch = 1},
                                         .options = plan_policy_defaults};
    struct plan_node scratch_nodes[2];
    struct plan_offer scratch_offers[2];
    const struct plan_scratch scratch = {scratch_nodes, scratch_offers};
    int split[2];
    enum stn_status status = plan_split_stannis(&request, &scratch, split);
    if (status == STN_OK) {
        *batch_host = split[0];
    }
    return status;
}

static enum stn_status run_table_1(struct experiment *x)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < SIM_PAPER_NETS && status == STN_OK; i++) {
        const struct sim_paper_net *net = &x->in->nets[i];
        struct pair speeds;
        int batch = 0;
        status = speeds_of(x, net, &speeds);
        if (status == STN_OK) {
            status = tune(net, &speeds, &batch);
        }
        if (status == STN_OK) {
            sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Table I", "images", net->batch_host, batch,
                          "%s, host's batch by Algorithm 1", net->label)
                ->why = why_past;
        }
    }
    return status;
}

// ---- speeds ------------------------------------------------------------------------------------

static struct sim_trial trial_of(const struct experiment *x, const struct sim_paper_net *net,
                                 const struct pair *speeds, int csds)
{
    return (struct sim_trial){
        .policy = "static",
        .hosts = 1,
        .csds = csds,
        .host_speed = speeds->host,
        .csd_speed = speeds->csd,
        .batch_host = net->batch_host,
        .batch_csd = net->batch_csd,
        .private_each = x->in->private_images / x->in->stannis_csds,
        .public_images = x->in->public_images,
        .gradient_bytes = 4.0 * net->parameters,
        .link = {.bytes_per_s = x->is.tunnel_bytes_per_s, .through_host = true},
        .server_w = x->is.server_w,
        .csd_w = x->is.csd_w,
    };
}

static enum stn_status run_speedup(const struct experiment *x, const struct sim_paper_net *net,
                                   int csds, struct sim_trial_result *result, double *times)
{
    struct pair speeds;
    enum stn_status status = speeds_of(x, net, &speeds);
    if (status == STN_OK) {
        struct sim_trial trial = trial_of(x, net, &speeds, csds);
        status = sim_trial_run(&trial, result);
    }
    if (status == STN_OK) {
        *times = result->images_per_s / speeds.host;
    }
    return status;
}

static enum stn_status run_speedups(struct experiment *x)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < SIM_PAPER_NETS && status == STN_OK; i++) {
        const struct sim_paper_net *net = &x->in->nets[i];
        struct sim_trial_result result;
        double times;
        status = run_speedup(x, net, x->in->stannis_csds, &result, &times);
        if (status != STN_OK) {
            break;
        }
        sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Fig. 6", "img/s", NAN, result.images_per_s,
                      "%s, %d CSDs", net->label, x->in->stannis_csds);
        sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Fig. 7", "×", i == 0 ? speedup : NAN, times,
                      "%s, %d CSDs against the host alone", net->label, x->in->stannis_csds);
    }
    return status;
}

static enum stn_status run_curve(struct experiment *x, const struct sim_paper_net *net)
{
    struct sim_paper_curve *curve = sim_paper_add_curve(x->out, net->label);
    enum stn_status status = STN_OK;
    for (int csds = 0; csds <= x->in->stannis_csds && status == STN_OK; csds++) {
        struct sim_trial_result result;
        double times = 0.0;
        status = run_speedup(x, net, csds, &result, &times);
        sim_paper_curve_add(curve, csds, times);
    }
    return status;
}

// ---- Table II ----------------------------------------------------------------------------------

static enum stn_status run_energy(struct experiment *x, const struct pair *speeds, int i)
{
    struct sim_trial trial = trial_of(x, &x->in->nets[0], speeds, energies[i].csds);
    struct sim_trial_result result;
    enum stn_status status = sim_trial_run(&trial, &result);
    if (status != STN_OK) {
        return status;
    }
    double joules = result.energy.joules_per_image;
    sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Table II", "J/img", energies[i].joules, joules,
                  "energy an image, %d CSDs", energies[i].csds)
        ->why = why_rows;
    sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Table II", "%", 100.0 * energies[i].saving,
                  100.0 * (1.0 - joules / x->in->joules_ssd),
                  "saved against the host alone with SSDs, %d CSDs", energies[i].csds)
        ->why = why_rows;
    sim_paper_add(x->out, SIM_PAPER_PREDICTED, "Table II", "MFLOPS/W",
                  1e-6 * energies[i].flops_per_watt,
                  1e-6 * sim_energy_flops_per_watt(&result.energy, x->in->macs),
                  "operations, %d CSDs", energies[i].csds);
    return STN_OK;
}

static enum stn_status run_table_2(struct experiment *x)
{
    struct pair speeds;
    struct sim_trial_result alone;
    enum stn_status status = speeds_of(x, &x->in->nets[0], &speeds);
    if (status == STN_OK) {
        struct sim_trial trial = trial_of(x, &x->in->nets[0], &speeds, 0);
        status = sim_trial_run(&trial, &alone);
    }
    if (status != STN_OK) {
        return status;
    }
    sim_paper_add(x->out, SIM_PAPER_INPUT, "Table II", "MFLOPS/W", 1e-6 * x->in->flops_per_watt,
                  1e-6 * sim_energy_flops_per_watt(&alone.energy, x->in->macs),
                  "operations, host alone");
    for (int i = 0; i < ENERGIES && status == STN_OK; i++) {
        status = run_energy(x, &speeds, i);
    }
    return status;
}

// ---- ours --------------------------------------------------------------------------------------

static enum stn_status run_ours(struct experiment *x)
{
    const struct sim_paper_net *net = &x->in->nets[0];
    struct sim_trial_result result = {0};
    struct pair speeds;
    enum stn_status status = speeds_of(x, net, &speeds);
    if (status == STN_OK) {
        struct sim_trial trial = trial_of(x, net, &speeds, x->in->stannis_csds);
        trial.policy = "balanced";
        trial.ours = true;
        trial.micro_batch = net->batch_csd;
        trial.batch_host = trial.batch_csd = 0;
        status = sim_trial_run(&trial, &result);
    }
    if (status != STN_OK) {
        return status;
    }
    sim_paper_add(x->out, SIM_PAPER_OURS, "Fig. 7", "×", speedup, result.images_per_s / speeds.host,
                  "%s, %d CSDs, balanced, batch %d", net->label, x->in->stannis_csds, result.batch);
    sim_paper_add(x->out, SIM_PAPER_OURS, "Table II", "J/img", energies[ENERGIES - 1].joules,
                  result.energy.joules_per_image, "energy an image, %d CSDs, balanced, batch %d",
                  x->in->stannis_csds, result.batch);
    return STN_OK;
}

// ---- all of it ---------------------------------------------------------------------------------

static enum stn_status prepare(const struct sim_devices *devices,
                               const struct sim_paper_inputs *inputs, struct sim_paper_report *out,
                               struct experiment *x)
{
    struct sim_device *host = NULL, *csd = NULL;
    *x = (struct experiment){.in = inputs, .out = out};
    enum stn_status status = sim_paper_calibrate(devices, inputs, &x->is);
    if (status == STN_OK) {
        status = sim_devices_require(devices, "xeon-4108", "device", &host);
    }
    if (status == STN_OK) {
        status = sim_devices_require(devices, "newport", "device", &csd);
    }
    x->host = host;
    x->csd = csd;
    return status;
}

enum stn_status sim_paper_stannis(const struct sim_devices *devices,
                                  const struct sim_paper_inputs *inputs,
                                  struct sim_paper_report *out)
{
    enum stn_status (*const parts[])(struct experiment *) = {run_table_1, run_speedups, run_table_2,
                                                             run_ours};
    struct experiment x;
    *out = (struct sim_paper_report){.title = "Stannis",
                                     .figure = "Stannis, Fig. 7: speedup, simulated",
                                     .y_label = "times the host alone"};
    enum stn_status status = prepare(devices, inputs, out, &x);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && status == STN_OK; i++) {
        status = parts[i](&x);
    }
    return status;
}

enum stn_status sim_paper_stannis_figure(const struct sim_devices *devices,
                                         const struct sim_paper_inputs *inputs,
                                         struct sim_paper_report *out)
{
    struct experiment x;
    enum stn_status status = prepare(devices, inputs, out, &x);
    for (int i = 0; i < SIM_PAPER_NETS && status == STN_OK; i++) {
        status = run_curve(&x, &inputs->nets[i]);
    }
    return status;
}
