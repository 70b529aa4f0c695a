// SPDX-License-Identifier: Apache-2.0
#include "trainer/assignment.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/random.h"
#include "base/setting_mark.h"
#include "stannis/log.h"
#include "trainer/trainer.h"
#include "tune/plan.h"

// ---- what is known of the nodes ----------------------------------------------------------------

static double own_cpus(const struct trainer *t)
{
    const struct engine *engine = &t->step.model.engine;
    double paced = rig_paced_cpus();
    return paced > 0.0 ? paced : engine->cpu.quota > 0.0 ? engine->cpu.quota : engine->threads;
}

// The same for all processes under one kernel, whatever their containers are called.
static uint64_t own_machine(void)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || !fgets(id, sizeof(id), file)) {
        gethostname(id, sizeof(id) - 1);
    }
    if (file) {
        fclose(file);
    }
    uint64_t hash = 0;
    for (const char *c = id; *c; c++) {
        hash = base_key(hash, (uint64_t)(unsigned char)*c);
    }
    return hash;
}

static struct crew_node_profile own_profile(const struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    size_t limit = settings->memory ? settings->memory : crew_own(&t->nodes)->memory;
    return (struct crew_node_profile){
        .threads = t->step.model.engine.threads,
        .cpus = own_cpus(t),
        .machine = own_machine(),
        .machine_cpus = t->step.model.engine.cpu.affinity,
        .memory_needed = step_model_memory(&t->step.model),
        .memory_limit = limit ? limit : base_memory_limit(),
    };
}

enum stn_status trainer_assignment_open(struct trainer *t)
{
    struct crew_profile *profile = &t->assignment.profile;
    const struct crew_node_profile own = own_profile(t);
    enum stn_status status =
        crew_profile_create(&t->nodes.cluster, t->meta.settings->micro_batch, profile);
    status = crew_agree(&t->nodes, status);
    return status ? status : crew_profile_gather(&t->nodes, &own, profile);
}

void trainer_assignment_fini(struct trainer_assignment *assignment)
{
    stn_plan_destroy(assignment->plan);
    crew_splits_fini(&assignment->splits);
    crew_profile_fini(&assignment->profile);
    *assignment = (struct trainer_assignment){0};
}

struct tune_subject trainer_subject(const struct trainer *t)
{
    return (struct tune_subject){
        .settings = t->meta.settings,
        .cluster = &t->nodes.cluster,
        .channels = t->meta.channels,
        .classes = t->meta.classes,
        .counts = t->data.sets.counts[STN_SUBSET_TRAIN],
        .samples = t->meta.train_samples,
    };
}

// ---- who computes what -------------------------------------------------------------------------

// A split that the user gave, if no node's max_batch speaks against it.
static enum stn_status check_given(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    const struct cluster *cluster = &t->nodes.cluster;
    int micro_batches = (settings->batch + settings->micro_batch - 1) / settings->micro_batch;
    crew_profile_guess(&t->assignment.profile);
    enum stn_status status = crew_profile_cap(&t->assignment.profile, cluster, micro_batches);
    int over =
        status ? -1 : crew_splits_over_cap(&t->assignment.splits, &t->assignment.profile.cluster);
    if (over >= 0) {
        status =
            stn_fail(STN_ERR_INVALID,
                     BASE_SETTING "split %s: node %s may have %d images a step at most (max_batch)",
                     settings->split, cluster->nodes[over].name, cluster->nodes[over].max_batch);
    }
    return status;
}

// The plan's own split where it was made for this batch and policy, else one from its speeds.
static enum stn_status split_by_plan(struct trainer *t, int *batch)
{
    const struct settings *settings = t->meta.settings;
    const struct stn_plan *plan = t->assignment.plan;
    const struct stn_plan_info *info = stn_plan_info(plan);
    const struct tune_subject subject = trainer_subject(t);
    tune_plan_take(plan, &t->assignment.profile);
    crew_profile_use_measured(&t->assignment.profile);
    enum stn_status status =
        tune_plan_split(&subject, &t->assignment.profile, batch, &t->assignment.splits);
    bool as_planned = !t->assignment.profile.cluster.objective; // the file's is of a short step
    if (!status && as_planned && info->batch == settings->batch &&
        info->policy == settings->policy) {
        for (int i = 0; i < info->nodes; i++) {
            t->assignment.splits.values[i] = stn_plan_node(plan, i)->micro_batches;
        }
        int over = crew_splits_over_cap(&t->assignment.splits, &t->assignment.profile.cluster);
        if (over >= 0) {
            status =
                stn_fail(STN_ERR_INVALID,
                         BASE_SETTING "plan %s: gives node %s more than its max_batch; tune again",
                         settings->plan, t->nodes.cluster.nodes[over].name);
        }
    }
    return status;
}

// Where the batch was the tuner's to choose, the learning rate goes with it.
static void adopt_batch(const struct trainer *t, int batch, struct settings *resolved)
{
    if (resolved->batch == SETTINGS_AUTO) {
        double lr = resolved->lr * batch / SETTINGS_BATCH_USUAL;
        if (t->nodes.rank == 0) {
            stn_log(STN_LOG_INFO, "a batch of %d; with it the learning rate is %.4g (%g for %d)",
                    batch, lr, resolved->lr, SETTINGS_BATCH_USUAL);
        }
        resolved->lr = lr;
    }
    resolved->batch = batch;
}

// Node 0's plan, from measurements, for people.
static enum stn_status tell_plan(struct trainer *t)
{
    const struct stn_train_observer *observer = t->observer;
    struct stn_plan *plan = NULL;
    const struct tune_subject subject = trainer_subject(t);
    enum stn_status status = STN_OK;
    if (t->assignment.profile.measured && t->nodes.rank == 0) {
        status = tune_plan_describe(&subject, &t->assignment.profile, t->meta.settings->batch,
                                    t->assignment.splits.values, &plan);
    }
    stn_plan_destroy(t->assignment.plan);
    t->assignment.plan = plan;
    if (plan && observer && observer->tuned) {
        observer->tuned(observer->context, plan);
    }
    return status;
}

static bool tunes(const struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    return settings->tune_always ||
           (settings->tune && (t->nodes.size > 1 || settings->batch == SETTINGS_AUTO));
}

enum stn_status trainer_assignment_settle(struct trainer *t, struct settings *resolved)
{
    if (t->assignment.splits.values) {
        return check_given(t);
    }
    int batch = t->meta.settings->batch;
    enum stn_status status = STN_OK;
    if (t->assignment.plan) {
        status = trainer_power_settle(t);
        status = status ? status : split_by_plan(t, &batch);
    } else {
        const struct tune_subject subject = trainer_subject(t);
        status = tunes(t) ? trainer_measure(t) : STN_OK;
        if (!status && !t->assignment.profile.measured) {
            crew_profile_guess(&t->assignment.profile);
        }
        status = status ? status : trainer_power_settle(t);
        if (!status) {
            status =
                tune_plan_split(&subject, &t->assignment.profile, &batch, &t->assignment.splits);
        }
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = crew_splits_spread(&t->nodes, &t->assignment.splits, &batch);
    }
    if (!status) {
        adopt_batch(t, batch, resolved);
        trainer_power_promise(t);
        status = tell_plan(t);
    }
    return status;
}
