// SPDX-License-Identifier: Apache-2.0
#include "trainer/trainer.h"

#include "base/random.h"
#include "crew/identity.h"
#include "tune/micro_batch.h"

// ---- being alike -------------------------------------------------------------------------------

// The same where all tensors have the same names and shapes.
static uint64_t network_hash(const struct nn_net *net)
{
    uint64_t hash = 0;
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *tensor = nn_net_tensor(net, i);
        for (const char *c = tensor->name; *c; c++) {
            hash = base_key(hash, (uint64_t)(unsigned char)*c);
        }
        hash = base_key(hash, 256); // "a", "b" is not "ab"
        for (int d = 0; d < tensor->rank; d++) {
            hash = base_key(hash, (uint64_t)tensor->dims[d]);
        }
    }
    return hash;
}

static enum stn_status check_identity(struct trainer *t)
{
    struct wire_identity own;
    const struct crew_subject subject = {
        .network = network_hash(t->step.model.engine.net),
        .class_list = t->meta.class_list,
        .mean = t->meta.mean,
        .std = t->meta.std,
        .public_samples = stn_dataset_info(t->data.sets.public_set)->count[STN_SUBSET_TRAIN]};
    crew_identity_of(&subject, &own);
    enum stn_status status = crew_compare(&t->nodes, &own);
    return status ? status : crew_compare_settings(&t->nodes, t->meta.settings);
}

// ---- the parts ---------------------------------------------------------------------------------

// What needs no other node but to agree whether it went well.
static enum stn_status open_model(struct trainer *t, const struct stn_model_info *model,
                                  struct settings *resolved)
{
    const struct stn_model_shape shape = {stn_dataset_info(t->data.sets.public_set)->image_size,
                                          t->meta.channels, t->meta.classes};
    enum stn_status status = crew_agree(&t->nodes, trainer_resolve_plan(t, resolved));
    if (!status) {
        int threads = step_model_threads(resolved, &t->nodes);
        status = tune_micro_batch_settle(resolved, shape, threads, &t->nodes);
    }
    if (!status) {
        status = trainer_resolve_sizes(t, model, resolved);
    }
    if (!status) {
        status = step_model_open(resolved, &t->nodes, model, shape, &t->step.model);
    }
    if (!status) {
        status = step_model_begin(&t->step.model, t->resumed, resolved->seed);
    }
    return crew_agree(&t->nodes, status);
}

static enum stn_status open_exchange(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    enum stn_status status = trainer_assignment_open(t);
    if (!status) {
        status = step_peers_open_exchange(settings, &t->nodes, &t->assignment.profile,
                                          &t->step.model, &t->step.peers);
    }
    if (!status) {
        status = trainer_output_open(settings, &t->nodes, &t->output);
        t->step.audit = t->output.audit;
    }
    if (!status && !t->step.hooks) {
        status = rig_open(settings->interfere, &t->nodes.cluster, t->nodes.rank, &t->rig);
        t->step.hooks = rig_hooks(t->rig);
    }
    return crew_agree(&t->nodes, status);
}

// Which node computes what; from here on all is known. Measuring leaves weights as they come.
static enum stn_status open_split(struct trainer *t, struct settings *resolved)
{
    enum stn_status status = trainer_assignment_settle(t, resolved);
    if (!status) {
        step_course_begin(&t->step.course, resolved, t->meta.train_samples, &t->meta.progress);
        status = step_model_begin(&t->step.model, t->resumed, resolved->seed);
    }
    status = crew_agree(&t->nodes, status);
    return status ? status : step_model_spread(&t->step.model, &t->nodes);
}

static enum stn_status open_feeds(struct trainer *t)
{
    const struct trainer_reading reading = trainer_reading(t);
    return crew_agree(&t->nodes, trainer_data_read(&t->data, &reading));
}

static enum stn_status open_policy(struct trainer *t)
{
    struct crew_profile *profile = &t->assignment.profile;
    const struct crew_feed *feed = &t->data.train;
    if (t->nodes.size > 1 && t->nodes.rank == 0) {
        crew_profile_floor(profile, t->data.sets.counts[STN_SUBSET_TRAIN],
                           (feed->samples + feed->batch - 1) / feed->batch);
    }
    const int *first = crew_feed_split_at(feed, t->meta.progress.step);
    enum stn_status status = step_peers_open_policy(&t->step.peers, t->meta.settings, &t->nodes,
                                                    profile, first, t->step.hooks);
    return crew_agree(&t->nodes, status);
}

// ---- all of it ---------------------------------------------------------------------------------

static enum stn_status open_all(struct trainer *t, const struct settings *wish,
                                struct settings *resolved)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = trainer_resolve_wish(t, wish, resolved);
    if (!status) {
        status = engine_find_model(resolved->net, &model);
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = trainer_data_open(&t->nodes, t->resumed, &t->meta, &t->data);
        status = crew_agree(&t->nodes, status);
    }
    if (!status) {
        status = open_model(t, model, resolved);
    }
    if (!status) {
        status = check_identity(t);
    }
    if (!status) {
        status = open_exchange(t);
    }
    if (!status) {
        status = trainer_power_open(t);
    }
    if (!status) {
        status = open_split(t, resolved);
    }
    if (!status) {
        status = open_feeds(t);
    }
    if (!status) {
        status = open_policy(t);
    }
    return status ? status : trainer_gather_nodes(t);
}

enum stn_status trainer_open(struct comm *comm, const struct settings *wish,
                             const struct stn_train_observer *observer,
                             const struct crew_hooks *hooks, struct settings *resolved,
                             struct trainer *out)
{
    *out = (struct trainer){.observer = observer,
                            .step = {.nodes = &out->nodes,
                                     .settings = resolved,
                                     .observer = observer,
                                     .hooks = hooks,
                                     .feed = &out->data.train,
                                     .progress = &out->meta.progress}};
    enum stn_status status = crew_open(comm, wish, &out->nodes);
    return status ? status : open_all(out, wish, resolved);
}

void trainer_close(struct trainer *t)
{
    rig_close(t->rig);
    trainer_output_close(&t->output);
    trainer_data_close(&t->data);
    step_peers_close(&t->step.peers);
    trainer_power_close(&t->power);
    trainer_assignment_fini(&t->assignment);
    step_model_close(&t->step.model);
    checkpoint_close(t->resumed);
    crew_close(&t->nodes);
    *t = (struct trainer){0};
}

struct trainer_reading trainer_reading(const struct trainer *t)
{
    return (struct trainer_reading){.nodes = &t->nodes,
                                    .settings = t->meta.settings,
                                    .splits = &t->assignment.splits,
                                    .threads = t->step.model.engine.threads,
                                    .abreast = nn_net_abreast(t->step.model.engine.net)};
}

enum stn_status trainer_gather_nodes(struct trainer *t)
{
    t->step.peers.own.skipped = trainer_data_skipped(&t->data);
    return step_peers_gather(&t->step.peers, &t->nodes,
                             crew_feed_split_at(&t->data.train, t->meta.progress.step));
}
