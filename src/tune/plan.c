// SPDX-License-Identifier: Apache-2.0
#include "tune/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/setting_mark.h"
#include "plan/outlook.h"
#include "planfile/planfile.h"
#include "stannis/stannis.h"

// ---- splitting ---------------------------------------------------------------------------------

static int micro_batches_of(int batch, int micro_batch)
{
    return (batch + micro_batch - 1) / micro_batch;
}

static struct plan_policy_options options_of(const struct tune_subject *subject)
{
    const struct settings *settings = subject->settings;
    struct plan_policy_options options = plan_policy_defaults;
    options.adjust_s = settings->adjust;
    options.margin = settings->margin;
    options.batch.efficiency = settings->efficiency;
    options.batch.samples = subject->samples;
    bool any_private = subject->samples > subject->counts[0];
    options.batch.private_samples = any_private ? subject->counts + 1 : NULL;
    return options;
}

// The most micro-batches a step may have: those of the batch, or what an automatic batch is limited
// to.
static int most_of(const struct tune_subject *subject, const struct plan_policy_options *options)
{
    int least, most, micro_batch = subject->settings->micro_batch;
    if (subject->settings->batch != SETTINGS_AUTO) {
        return micro_batches_of(subject->settings->batch, micro_batch);
    }
    plan_batch_limits(&options->batch, micro_batch, &least, &most);
    return most;
}

enum stn_status tune_plan_split(const struct tune_subject *subject, struct crew_profile *profile,
                                int *batch, struct crew_splits *out)
{
    const struct settings *settings = subject->settings;
    const struct plan_policy_options options = options_of(subject);
    bool given = settings->batch != SETTINGS_AUTO;
    enum stn_status status =
        crew_profile_cap(profile, subject->cluster, most_of(subject, &options));
    if (status) {
        return status;
    }
    int64_t steps = given ? (subject->samples + settings->batch - 1) / settings->batch : 1;
    if (given) {
        crew_profile_floor(profile, subject->counts, steps);
    }
    const struct plan_request request = {
        .cluster = profile->cluster,
        .micro_batches = given ? micro_batches_of(settings->batch, settings->micro_batch) : 0,
        .options = options,
    };
    status = crew_splits_plan(&request, settings->policy, out);
    if (status || given) {
        *batch = settings->batch;
        return status;
    }
    *batch = crew_splits_sum(out) * settings->micro_batch;
    crew_profile_floor(profile, subject->counts, (subject->samples + *batch - 1) / *batch);
    return STN_OK;
}

double tune_plan_trial(const struct crew_profile *profile, const int split[], double seconds,
                       int step[])
{
    double longest_s = 0.0, least_s = seconds;
    int count = profile->cluster.count;
    for (int i = 0; i < count; i++) {
        if (split[i] > 0) {
            least_s = fmax(least_s, plan_curve_seconds(&profile->nodes[i].curve, 1));
        }
    }
    for (int i = 0; i < count; i++) {
        const struct plan_curve *curve = &profile->nodes[i].curve;
        step[i] = split[i] > 0 ? plan_curve_within(curve, least_s, 1, split[i]) : 0;
        longest_s = fmax(longest_s, plan_curve_seconds(curve, step[i]));
    }
    return longest_s;
}

// ---- describing --------------------------------------------------------------------------------

static double uniform_speed(const struct tune_subject *subject, const struct crew_profile *profile,
                            int batch)
{
    const struct plan_request request = {
        .cluster = profile->cluster,
        .micro_batches = micro_batches_of(batch, profile->cluster.micro_batch),
        .options = options_of(subject),
    };
    struct crew_splits splits;
    if (crew_splits_plan(&request, STN_POLICY_UNIFORM, &splits)) {
        return 0.0;
    }
    double speed = plan_outlook_of(&profile->cluster, splits.values, NULL).samples_per_s;
    crew_splits_fini(&splits);
    return speed;
}

static const char *date_now(struct base_arena *arena)
{
    char text[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) {
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    return base_arena_strdup(arena, text);
}

static bool fill_nodes(const struct crew_profile *profile, const int split[],
                       const struct plan_outlook_node *outlook, struct stn_plan *plan)
{
    bool ok = true;
    for (int i = 0; i < plan->info.nodes && ok; i++) {
        const struct crew_node_profile *about = &profile->about[i];
        const struct plan_node *node = &profile->nodes[i];
        plan->node[i] = (struct stn_plan_node){
            .name = base_arena_strdup(&plan->memory, node->name),
            .threads = about->threads,
            .cpus = about->cpus,
            .fixed_seconds = node->curve.line.fixed_s,
            .each_seconds = node->curve.line.each_s,
            .update_seconds = about->update_s,
            .fixed_error = about->fixed_error_s,
            .each_error = about->each_error_s,
            .noise = about->noise,
            .samples = about->samples,
            .outliers = about->outliers,
            .doubt = *about->doubt ? base_arena_strdup(&plan->memory, about->doubt) : NULL,
            .memory_needed = about->memory_needed,
            .memory_limit = about->memory_limit,
            .floor = node->floor,
            .cap = node->cap,
            .micro_batches = split[i],
            .busy = outlook[i].busy,
            .too_slow = split[i] == 0 && outlook[i].too_slow,
        };
        ok = plan->node[i].name && (!*about->doubt || plan->node[i].doubt);
    }
    return ok;
}

static void fill_head(const struct tune_subject *subject, const struct crew_profile *profile,
                      int batch, const struct plan_outlook *outlook, struct stn_plan *plan)
{
    const struct settings *settings = subject->settings;
    const struct plan_reduction *reduction = &profile->cluster.reduction;
    plan->info.net = base_arena_strdup(&plan->memory, settings->net);
    plan->info.date = date_now(&plan->memory);
    plan->info.version = base_arena_strdup(&plan->memory, STN_VERSION);
    plan->info.image_size = settings->image_size;
    plan->info.channels = subject->channels;
    plan->info.classes = subject->classes;
    plan->info.micro_batch = profile->cluster.micro_batch;
    plan->info.batch = batch;
    plan->info.policy = settings->policy;
    plan->info.in_turn = profile->in_turn;
    plan->info.tuning_seconds = profile->seconds;
    plan->info.reduction_seconds = reduction->total_s;
    plan->info.hidden_seconds = reduction->hidden_s;
    plan->info.uneven_seconds = reduction->uneven_s;
    plan->info.step_seconds = outlook->step_s;
    plan->info.images_per_second = outlook->samples_per_s;
    plan->info.ceiling = outlook->ceiling;
    plan->info.efficiency = outlook->efficiency;
    plan->info.uniform_images_per_second = uniform_speed(subject, profile, batch);
}

enum stn_status tune_plan_describe(const struct tune_subject *subject,
                                   const struct crew_profile *profile, int batch, const int split[],
                                   struct stn_plan **out)
{
    int count = profile->cluster.count;
    struct plan_outlook_node *outlook = calloc((size_t)count, sizeof(*outlook));
    struct stn_plan *plan = outlook ? planfile_alloc(count) : NULL;
    bool ok = plan != NULL;
    if (ok) {
        const struct plan_outlook whole = plan_outlook_of(&profile->cluster, split, outlook);
        fill_head(subject, profile, batch, &whole, plan);
        ok = fill_nodes(profile, split, outlook, plan) && plan->info.net && plan->info.date &&
             plan->info.version;
    }
    free(outlook);
    if (!ok) {
        stn_plan_destroy(plan);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a plan of %d nodes", count);
    }
    *out = plan;
    return STN_OK;
}

// ---- using one that was made before ------------------------------------------------------------

static bool same_nodes(const struct stn_plan *plan, const struct cluster *cluster, char *why,
                       size_t bytes)
{
    if (plan->info.nodes != cluster->count) {
        snprintf(why, bytes, "it is for %d nodes, and there are %d", plan->info.nodes,
                 cluster->count);
        return false;
    }
    for (int i = 0; i < plan->info.nodes; i++) {
        const struct stn_plan_node *planned = &plan->node[i];
        const struct cluster_node *here = &cluster->nodes[i];
        if (strcmp(planned->name, here->name) != 0) {
            snprintf(why, bytes, "its node %d is %.40s, and here it is %.40s", i, planned->name,
                     here->name);
            return false;
        }
        if (here->cpus > 0.0 && fabs(planned->cpus / here->cpus - 1.0) > 0.01) {
            snprintf(why, bytes, "its node %.40s had %g CPUs, and here it has %g", planned->name,
                     planned->cpus, here->cpus);
            return false;
        }
    }
    return true;
}

bool tune_plan_fits(const struct stn_plan *plan, const struct tune_subject *subject, char *why,
                    size_t bytes)
{
    const struct settings *settings = subject->settings;
    const struct {
        const char *what;
        int planned, here;
    } numbers[] = {
        {"image size", plan->info.image_size, settings->image_size},
        {"number of channels", plan->info.channels, subject->channels},
        {"number of classes", plan->info.classes, subject->classes},
        {"micro-batch", plan->info.micro_batch,
         settings->micro_batch > 0 ? settings->micro_batch : plan->info.micro_batch},
    };
    if (strcmp(plan->info.net, settings->net) != 0) {
        snprintf(why, bytes, "it is for %.40s, not for %.40s", plan->info.net, settings->net);
        return false;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].planned != numbers[i].here) {
            snprintf(why, bytes, "its %s is %d, and here it is %d", numbers[i].what,
                     numbers[i].planned, numbers[i].here);
            return false;
        }
    }
    return same_nodes(plan, subject->cluster, why, bytes);
}

enum stn_status tune_plan_check(const struct stn_plan *plan, const struct tune_subject *subject,
                                const char *label)
{
    char why[160];
    if (tune_plan_fits(plan, subject, why, sizeof(why))) {
        return STN_OK;
    }
    return stn_fail(STN_ERR_INVALID, BASE_SETTING "plan %s: does not fit: %s; tune again", label,
                    why);
}

void tune_plan_take(const struct stn_plan *plan, struct crew_profile *profile)
{
    for (int i = 0; i < plan->info.nodes; i++) {
        const struct stn_plan_node *node = &plan->node[i];
        struct crew_node_profile *about = &profile->about[i];
        about->line = (struct plan_line){node->fixed_seconds, node->each_seconds};
        about->update_s = node->update_seconds;
        about->fixed_error_s = node->fixed_error;
        about->each_error_s = node->each_error;
        about->noise = node->noise;
        about->samples = node->samples;
        about->outliers = node->outliers;
        snprintf(about->doubt, sizeof(about->doubt), "%s", node->doubt ? node->doubt : "");
    }
    profile->in_turn = plan->info.in_turn;
    profile->seconds = plan->info.tuning_seconds;
    profile->cluster.reduction = (struct plan_reduction){
        plan->info.reduction_seconds, plan->info.hidden_seconds, plan->info.uneven_seconds};
}
