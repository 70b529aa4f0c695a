// SPDX-License-Identifier: Apache-2.0
#include "report/plan.h"

#include <stdio.h>

#include "report/format.h"
#include "settings/choices.h"

enum { LINE_BYTES = 256 };

struct printer {
    void (*line)(void *context, const char *text);
    void *context;
};

static void print_header(const struct printer *to, const struct stn_plan_info *info)
{
    char line[LINE_BYTES], each[32];
    snprintf(each, sizeof(each), "per %d", info->micro_batch);
    snprintf(line, sizeof(line), "%-12s %9s %9s %12s %12s %6s %10s", "node", "fixed", each, "alone",
             "share", "busy", "memory");
    to->line(to->context, line);
}

static void print_node(const struct printer *to, const struct stn_plan_info *info,
                       const struct stn_plan_node *n)
{
    struct report_text fixed, each, speed, memory;
    char line[LINE_BYTES], alone[48], share[48];
    snprintf(alone, sizeof(alone), "%s img/s",
             report_speed(&speed, info->micro_batch / n->each_seconds));
    snprintf(share, sizeof(share), "%d (%d)", n->micro_batches,
             n->micro_batches * info->micro_batch);
    snprintf(line, sizeof(line), "%-12.32s %9s %9s %12s %12s %4.0f %% %10s%s", n->name,
             report_seconds(&fixed, n->fixed_seconds), report_seconds(&each, n->each_seconds),
             alone, share, 100.0 * n->busy, report_bytes(&memory, n->memory_needed),
             n->doubt      ? "  unsure"
             : n->too_slow ? "  too slow"
                           : "");
    to->line(to->context, line);
}

static void print_cluster(const struct printer *to, const struct stn_plan_info *info)
{
    struct report_text speed, share, uniform, step, total, hidden, uneven;
    char line[LINE_BYTES];
    snprintf(line, sizeof(line),
             "cluster: %s img/s predicted, %s of the sum of nodes; uniform batches would give %s",
             report_speed(&speed, info->images_per_second),
             report_percent(&share, info->efficiency),
             report_speed(&uniform, info->uniform_images_per_second));
    to->line(to->context, line);
    snprintf(line, sizeof(line),
             "steps of %d images in %s (%s); gradients take %s, of which %s behind computing; "
             "waiting for whoever is late %s",
             info->batch, report_seconds(&step, info->step_seconds),
             settings_policy_names[info->policy], report_seconds(&total, info->reduction_seconds),
             report_seconds(&hidden, info->hidden_seconds),
             report_seconds(&uneven, info->uneven_seconds));
    to->line(to->context, line);
}

static void print_notes(const struct printer *to, const struct stn_plan *plan)
{
    char line[LINE_BYTES];
    for (int i = 0; i < stn_plan_info(plan)->nodes; i++) {
        const struct stn_plan_node *n = stn_plan_node(plan, i);
        if (n->doubt) {
            snprintf(line, sizeof(line), "%.32s: unsure: %s", n->name, n->doubt);
            to->line(to->context, line);
        }
        if (n->too_slow) {
            snprintf(line, sizeof(line),
                     "%.32s: left out: one micro-batch of its would take longer than the others "
                     "need for all",
                     n->name);
            to->line(to->context, line);
        }
    }
}

static void print_effort(const struct printer *to, const struct stn_plan_info *info)
{
    const char *how = info->in_turn     ? "in turn, as they ask for more CPUs than there are,"
                      : info->nodes > 1 ? "at the same time, as they will train,"
                                        : "alone";
    struct report_text time;
    char line[LINE_BYTES];
    snprintf(line, sizeof(line), "measured %s in %s", how,
             report_seconds(&time, info->tuning_seconds));
    to->line(to->context, line);
}

void report_plan_print(const struct stn_plan *plan, void (*line)(void *context, const char *text),
                       void *context)
{
    const struct printer to = {line, context};
    const struct stn_plan_info *info = stn_plan_info(plan);
    print_header(&to, info);
    for (int i = 0; i < info->nodes; i++) {
        print_node(&to, info, stn_plan_node(plan, i));
    }
    print_cluster(&to, info);
    print_notes(&to, plan);
    print_effort(&to, info);
}
