// SPDX-License-Identifier: Apache-2.0
#include "trainer/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "stannis/log.h"
#include "trainer/trainer.h"

// How long machines are looked at before anything computes.
static const double rest_s = 2.0;

enum { TEXT_BYTES = 1024 };

// ---- what nodes tell ---------------------------------------------------------------------------

static struct wire_power power_out(const struct energy_node *node, const struct engine_watts *watts)
{
    return (struct wire_power){.source = (int32_t)node->source,
                               .scope = (int32_t)node->scope,
                               .base_w = watts->base_w,
                               .idle_w = watts->idle_w,
                               .busy_w = watts->busy_w,
                               .can_off = watts->can_off,
                               .rest_w = node->idle_w,
                               .joules = node->total.joules,
                               .known_s = node->total.known_s,
                               .gap_s = node->total.gap_s,
                               .gaps = node->total.gaps,
                               .samples = node->total.samples};
}

static struct energy_node power_in(const struct trainer *t, int i, const struct wire_power *heard)
{
    return (struct energy_node){.name = t->nodes.cluster.nodes[i].name,
                                .machine = t->assignment.profile.about[i].machine,
                                .source = (enum energy_source)heard->source,
                                .scope = (enum energy_scope)heard->scope,
                                .idle_w = heard->rest_w,
                                .total = {.joules = heard->joules,
                                          .known_s = heard->known_s,
                                          .gap_s = heard->gap_s,
                                          .gaps = heard->gaps,
                                          .samples = heard->samples}};
}

// To all nodes, as all plan alike.
static enum stn_status share(struct trainer *t, const struct energy_node *own,
                             struct engine_watts watts[])
{
    const struct engine_watts known = engine_power_watts(t->power.own);
    const struct wire_power said = power_out(own, &known);
    struct wire_power *heard = calloc((size_t)t->nodes.size, sizeof(*heard));
    enum stn_status status =
        heard ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", t->nodes.size);
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = comm_all_gather_message(t->nodes.comm, WIRE_POWER, &said, heard);
    }
    for (int i = 0; i < t->nodes.size && !status && heard; i++) {
        t->power.nodes[i] = power_in(t, i, &heard[i]);
        if (watts) {
            watts[i] = (struct engine_watts){.base_w = heard[i].base_w,
                                             .idle_w = heard[i].idle_w,
                                             .busy_w = heard[i].busy_w,
                                             .can_off = heard[i].can_off};
        }
    }
    free(heard);
    return status;
}

// ---- opening -----------------------------------------------------------------------------------

static bool is_first_of_machine(const struct trainer *t)
{
    for (int i = 0; i < t->nodes.rank; i++) {
        if (t->assignment.profile.about[i].machine ==
            t->assignment.profile.about[t->nodes.rank].machine) {
            return false;
        }
    }
    return true;
}

static const char *spec_of(const struct trainer *t, int node)
{
    const char *own = t->nodes.cluster.nodes[node].power;
    return own ? own : t->meta.settings->power;
}

static bool was_asked_for(const struct trainer *t)
{
    for (int i = 0; i < t->nodes.size; i++) {
        if (spec_of(t, i)) {
            return true;
        }
    }
    return false;
}

static enum stn_status open_own(struct trainer *t)
{
    size_t nodes = (size_t)t->nodes.size;
    struct trainer_power *power = &t->power;
    const char *spec = spec_of(t, t->nodes.rank);
    const struct engine_power_config config = {.spec = spec ? spec : "auto",
                                               .devices = t->meta.settings->devices,
                                               .is_first = is_first_of_machine(t)};
    power->nodes = calloc(nodes, sizeof(*power->nodes));
    power->before = calloc(nodes, sizeof(*power->before));
    power->told = calloc(nodes, sizeof(*power->told));
    if (!power->nodes || !power->before || !power->told) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the energy of %zu nodes", nodes);
    }
    return engine_power_open(&config, &power->own);
}

enum stn_status trainer_power_open(struct trainer *t)
{
    bool asked = was_asked_for(t), measured = false;
    t->power.promised_j = NAN;
    enum stn_status status = crew_agree(&t->nodes, open_own(t));
    if (status) {
        return status;
    }
    const struct energy_node own = {.source = engine_power_source(t->power.own), .idle_w = NAN};
    status = share(t, &own, NULL);
    for (int i = 0; i < t->nodes.size && !status; i++) {
        measured = measured || t->power.nodes[i].source == ENERGY_MEASURED;
        t->power.any = t->power.any || t->power.nodes[i].source != ENERGY_UNKNOWN;
    }
    t->power.any = t->power.any || asked;
    if (!status && asked && measured) {
        engine_power_rest(t->power.own, rest_s);
    }
    return status;
}

void trainer_power_close(struct trainer_power *power)
{
    engine_power_close(power->own);
    free(power->told);
    free(power->before);
    free(power->nodes);
    *power = (struct trainer_power){0};
}

// ---- the objective -----------------------------------------------------------------------------

static bool is_alone(const struct trainer *t, int node)
{
    for (int i = 0; i < t->nodes.size; i++) {
        if (i != node &&
            t->assignment.profile.about[i].machine == t->assignment.profile.about[node].machine) {
            return false;
        }
    }
    return true;
}

// A meter sees a whole machine: it tells a node's watts where the machine has no other.
static enum stn_status take_watts(struct trainer *t, const struct engine_watts watts[])
{
    struct crew_profile *profile = &t->assignment.profile;
    for (int i = 0; i < t->nodes.size; i++) {
        bool tells = t->power.nodes[i].source == ENERGY_MODELLED || is_alone(t, i);
        if (!tells || !(watts[i].busy_w > 0.0)) {
            return stn_fail(STN_ERR_INVALID,
                            BASE_SETTING "objective %s needs the watts of every node, and those of "
                                         "%s are not known: give it power: model:DEVICE in the "
                                         "cluster file%s",
                            t->meta.settings->objective, t->nodes.cluster.nodes[i].name,
                            tells ? ", or " BASE_SETTING
                                    "power with a meter that \"stannis power\" "
                                    "names, and measure its speed"
                                  : "; its machine's meter sees other nodes, too");
        }
        profile->objective.base_w += watts[i].base_w;
        profile->powers[i] = (struct plan_power){
            .idle_w = watts[i].idle_w, .busy_w = watts[i].busy_w, .can_off = watts[i].can_off};
    }
    profile->objective.powers = profile->powers;
    profile->cluster.objective = &profile->objective;
    return STN_OK;
}

enum stn_status trainer_power_settle(struct trainer *t)
{
    const struct settings *s = t->meta.settings;
    bool is_time;
    enum stn_status status = plan_objective_parse(s->objective, s->min_speed,
                                                  &t->assignment.profile.objective, &is_time);
    if (status || is_time || t->nodes.size == 1) {
        return status; // one node computes everything, whatever it is to be good for
    }
    const struct energy_node own = {.source = engine_power_source(t->power.own), .idle_w = NAN};
    struct engine_watts *watts = calloc((size_t)t->nodes.size, sizeof(*watts));
    status = watts ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for watts");
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = share(t, &own, watts);
    }
    if (!status && watts) {
        status = take_watts(t, watts);
    }
    free(watts);
    return status;
}

void trainer_power_promise(struct trainer *t)
{
    const struct plan_cluster *cluster = &t->assignment.profile.cluster;
    t->power.promised_j = NAN;
    if (!cluster->objective || !t->assignment.profile.measured) {
        return;
    }
    struct plan_energy energy = plan_energy_of(cluster, t->assignment.splits.values);
    t->power.promised_j = energy.joules_per_sample;
    if (t->nodes.rank == 0) {
        stn_log(STN_LOG_INFO,
                "planned for " BASE_SETTING "objective %s: %.3g J/image at %.0f "
                "images/s",
                t->meta.settings->objective, energy.joules_per_sample,
                energy.joules_per_sample > 0.0
                    ? energy.joules / energy.joules_per_sample / energy.step_s
                    : 0.0);
    }
}

// ---- telling -----------------------------------------------------------------------------------

static const char *source_word(const struct trainer *t, const struct energy_node nodes[], int i)
{
    if (energy_sum_is_within(nodes, t->nodes.size, i)) {
        return "within";
    }
    return nodes[i].source == ENERGY_MEASURED   ? "measured"
           : nodes[i].source == ENERGY_MODELLED ? "modelled"
                                                : "unknown";
}

static void fill_nodes(const struct trainer *t, const struct energy_node nodes[],
                       struct stn_train_node_energy told[])
{
    for (int i = 0; i < t->nodes.size; i++) {
        const struct energy_node *node = &nodes[i];
        bool known = node->source != ENERGY_UNKNOWN && node->total.known_s > 0.0;
        told[i] = (struct stn_train_node_energy){
            .name = node->name,
            .source = source_word(t, nodes, i),
            .scope = node->source == ENERGY_MEASURED ? energy_scope_name(node->scope) : NULL,
            .joules = known ? node->total.joules : NAN,
            .idle_watts = node->idle_w,
            .known_seconds = node->total.known_s,
            .gap_seconds = node->total.gap_s,
            .samples = node->total.samples};
    }
}

static void tell(struct trainer *t, const struct stn_train_observer *observer,
                 const struct energy_node nodes[], int epoch, double seconds, int64_t images)
{
    char text[TEXT_BYTES];
    struct energy_sum sum = energy_sum_of(nodes, t->nodes.size);
    double operations =
        3.0 * 2.0 * (double)nn_net_cost(t->step.model.engine.net).macs * (double)images;
    energy_sum_text(&sum, nodes, t->nodes.size, seconds, images, text, sizeof(text));
    fill_nodes(t, nodes, t->power.told);
    const struct stn_train_energy told = {
        .epoch = epoch,
        .text = text,
        .joules = sum.joules,
        .above_idle_joules = sum.above_idle_j,
        .is_least = sum.is_least,
        .seconds = seconds,
        .images = images,
        .joules_per_image = images > 0 ? sum.joules / (double)images : NAN,
        .promised_joules_per_image = t->power.promised_j,
        .flops_per_watt = sum.is_least ? NAN : operations / sum.joules,
        .machines = sum.machines,
        .measured = sum.measured,
        .modelled = sum.modelled,
        .nodes = t->nodes.size,
        .node = t->power.told,
    };
    observer->energy(observer->context, &told);
}

// Of the epoch alone: less what it was when the one before it ended.
static void since_before(struct trainer *t, struct energy_node nodes[])
{
    for (int i = 0; i < t->nodes.size; i++) {
        struct energy_total now = nodes[i].total;
        nodes[i].total = energy_total_between(&t->power.before[i].total, &now);
        t->power.before[i].total = now;
    }
}

enum stn_status trainer_power_tell(struct trainer *t, const struct stn_train_observer *observer,
                                   int epoch, double seconds, int64_t images)
{
    if (!t->power.any) {
        return STN_OK;
    }
    double busy_s = t->step.peers.own.compute_seconds + t->power.evaluated_s;
    const struct energy_node own = engine_power_now(t->power.own, busy_s);
    enum stn_status status = share(t, &own, NULL);
    if (!status && epoch > 0) {
        since_before(t, t->power.nodes);
    }
    if (!status && observer->energy) {
        tell(t, observer, t->power.nodes, epoch, seconds, images);
    }
    return status;
}
