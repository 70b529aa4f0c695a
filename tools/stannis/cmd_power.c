// SPDX-License-Identifier: Apache-2.0
// stannis power: what of this machine's power can be read.
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "energy/sampler.h"
#include "energy/spec.h"
#include "power_view.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_POWER,
    .summary = "Says what of this machine's power can be read.",
    .about = "Each meter with what it reads, its scope (cpu, board or wall) and its watts, or\n"
             "why it cannot be read and how to permit it. A training takes the first that can\n"
             "be read, or the one that --power names; docs/energy.md says more.",
    .examples = "  stannis power\n"
                "  stannis power --power csv:/var/log/meter.csv\n"
                "  stannis power --power 'cmd:/usr/local/bin/plug-watts' --watch 10",
};

// ---- reading -----------------------------------------------------------------------------------

// The meters that can be read, for a while, all at the same time.
static void read_all(struct power_finding findings[], int count, double seconds)
{
    struct energy_sampler *samplers[ENERGY_FINDINGS_MAX] = {NULL};
    struct energy_total begins[ENERGY_FINDINGS_MAX];
    bool any = false;
    for (int i = 0; i < count; i++) {
        struct energy_finding *found = &findings[i].found;
        if (found->meter && energy_sampler_start(found->meter, 0.0, &samplers[i]) != STN_OK) {
            samplers[i] = NULL;
        }
        found->meter = NULL;
        if (samplers[i]) {
            any = true;
            begins[i] = energy_sampler_now(samplers[i]);
        }
    }
    if (any) {
        poll(NULL, 0, (int)(1e3 * seconds));
    }
    for (int i = 0; i < count; i++) {
        if (samplers[i]) {
            struct energy_total end = energy_sampler_now(samplers[i]);
            findings[i].total = energy_total_between(&begins[i], &end);
            findings[i].stopped = energy_sampler_is_dropped(samplers[i]);
            energy_sampler_stop(samplers[i]);
        }
    }
}

// The one that the user names.
static enum stn_status find_one(const char *spec, struct power_finding *out)
{
    struct energy_finding *found = &out->found;
    if (energy_spec_is_none(spec) || energy_spec_model(spec)) {
        return stn_fail(STN_ERR_INVALID, "power %s: is no meter that could be read", spec);
    }
    enum stn_status status = energy_meter_open(spec, NULL, &found->meter);
    if (status != STN_OK) {
        return status;
    }
    found->kind = energy_meter_kind(found->meter);
    found->usable = true;
    found->scope = energy_meter_scope(found->meter);
    snprintf(found->text, sizeof(found->text), "%s", energy_meter_what(found->meter));
    return STN_OK;
}

static enum stn_status find(const char *spec, struct power_finding findings[], int *count)
{
    struct energy_finding found[ENERGY_FINDINGS_MAX];
    if (strcmp(spec, "auto") != 0) {
        *count = 1;
        return find_one(spec, &findings[0]);
    }
    *count = energy_meter_find(NULL, found, ENERGY_FINDINGS_MAX);
    for (int i = 0; i < *count; i++) {
        findings[i].found = found[i];
    }
    return STN_OK;
}

static enum stn_status run(const struct verb_call *call)
{
    struct power_finding findings[ENERGY_FINDINGS_MAX] = {0};
    int count = 0;
    const struct settings *s = &call->settings.values;
    const char *spec = s->power ? s->power : "auto";
    bool any = strcmp(spec, "auto") == 0;
    enum stn_status status = find(spec, findings, &count);
    if (status != STN_OK) {
        return status;
    }
    read_all(findings, count, s->watch);
    if (!any && findings[0].stopped) {
        return stn_fail(STN_ERR_INVALID, "power %s: cannot be read", spec);
    }
    if (s->json) {
        return verb_print_json(power_view_json(findings, count, s->watch));
    }
    power_view_print(findings, count, s->watch, any);
    return STN_OK;
}

const struct verb verb_power = {&command, run, false, NULL, NULL};
