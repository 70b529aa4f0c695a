// SPDX-License-Identifier: Apache-2.0
// A ring of batches between one consumer and the workers. Workers claim single samples, oldest
// batch first, so one batch that is waited for is made by all of them together. All memory is taken
// at creation, but for scratch that grows to the largest picture.
//
//     taken ≤ claiming ≤ asked ≤ taken + depth    sequence numbers; n lives in slot n mod depth
#include "data/loader.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "data/sample.h"
#include "stannis/log.h"

enum { WARNINGS_MAX = 10, BATCH_ALIGN_FLOATS = 16 };

struct outcome {
    enum stn_status status;
    char message[DATA_MESSAGE_BYTES]; // of a failure
};

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_TAKEN };

struct slot {
    struct data_batch batch;
    enum slot_state state;
    int wanted, claimed, done; // samples of the request
    struct outcome *outcomes;  // [micro_batch]
};

struct worker {
    struct data_loader *loader;
    struct data_workspace workspace;
    pthread_t thread;
};

struct data_loader {
    struct data_loader_config config;
    size_t image_floats; // of one sample
    struct base_arena arena;
    float *images; // all slots' images: pages
    size_t images_bytes;
    struct slot *slots; // [depth]

    pthread_mutex_t mutex; // guards what follows, and the slots' states and counts
    pthread_cond_t work,
        ready; // workers wait for work; the consumer for a batch, or for idle workers
    uint64_t asked, claiming, taken;
    int active; // workers that are making a sample
    bool stopping;

    struct worker *workers; // [threads], of which threads_started run
    int threads_started;
    struct data_loader_stats stats; // the consumer's
    int warnings;
};

static struct slot *slot_at(struct data_loader *loader, uint64_t number)
{
    return &loader->slots[number % (uint64_t)loader->config.depth];
}

int data_request_count(const struct data_request *request)
{
    return request->part[DATA_PUBLIC].count + request->part[DATA_PRIVATE].count;
}

static void sample_make(struct data_loader *loader, struct slot *slot, int i,
                        struct data_workspace *workspace)
{
    const struct data_loader_config *config = &loader->config;
    struct data_batch *batch = &slot->batch;
    const struct data_request *request = &batch->request;
    int public_count = request->part[DATA_PUBLIC].count;
    int source = i < public_count ? DATA_PUBLIC : DATA_PRIVATE;
    const struct data_source *from = &config->sources[source];
    uint64_t row = (uint64_t)(source == DATA_PUBLIC ? i : i - public_count);
    struct data_draw draw =
        data_sampler_at(&from->sampler, request->epoch, request->part[source].position + row);
    batch->samples[i] = (struct data_sample_id){draw.sample, source};
    batch->keys[i] = draw.key;
    struct outcome *outcome = &slot->outcomes[i];
    outcome->status = data_sample_load(
        from->dataset, config->subset, draw.sample, config->augment, draw.key, workspace,
        batch->images + (size_t)i * loader->image_floats, &batch->labels[i]);
    if (outcome->status != STN_OK) {
        memcpy(outcome->message, workspace->message, sizeof(outcome->message));
    }
}

// Batches that were kept over a cancel may be claimed already, wholly or in part.
static void claimed_skip(struct data_loader *loader)
{
    while (loader->claiming < loader->asked) {
        const struct slot *slot = slot_at(loader, loader->claiming);
        if (slot->claimed < slot->wanted) {
            return;
        }
        loader->claiming++;
    }
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    struct data_loader *loader = worker->loader;
    pthread_mutex_lock(&loader->mutex);
    for (;;) {
        while (!loader->stopping && loader->claiming == loader->asked) {
            pthread_cond_wait(&loader->work, &loader->mutex);
        }
        if (loader->stopping) {
            break;
        }
        struct slot *slot = slot_at(loader, loader->claiming);
        int i = slot->claimed++;
        claimed_skip(loader);
        loader->active++;
        pthread_mutex_unlock(&loader->mutex);

        sample_make(loader, slot, i, &worker->workspace);

        pthread_mutex_lock(&loader->mutex);
        loader->active--;
        slot->done++;
        if (slot->done == slot->wanted || loader->active == 0) {
            pthread_cond_signal(&loader->ready);
        }
    }
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for the data loader");
}

static enum stn_status source_check(const struct data_loader_config *config,
                                    const struct data_source *source)
{
    const struct stn_dataset_info *first = &config->sources[DATA_PUBLIC].dataset->info;
    const struct stn_dataset_info *info = &source->dataset->info;
    if (source->sampler.count > (uint64_t)info->count[config->subset]) {
        return stn_fail(
            STN_ERR_INTERNAL, "data loader: an order of %llu samples for a subset of %lld",
            (unsigned long long)source->sampler.count, (long long)info->count[config->subset]);
    }
    if (info->channels != first->channels || info->image_size != first->image_size) {
        return stn_fail(STN_ERR_INTERNAL,
                        "data loader: images of %d × %d pixels in %d channels cannot be mixed with "
                        "%d × %d in %d",
                        info->image_size, info->image_size, info->channels, first->image_size,
                        first->image_size, first->channels);
    }
    return STN_OK;
}

static enum stn_status config_check(const struct data_loader_config *config)
{
    if (config->micro_batch < 1 || config->threads < 1 || config->depth < 2) {
        return stn_fail(STN_ERR_INVALID,
                        "data loader: micro-batch %d, %d threads, depth %d; at least 1, 1 and 2",
                        config->micro_batch, config->threads, config->depth);
    }
    enum stn_status status = source_check(config, &config->sources[DATA_PUBLIC]);
    if (status == STN_OK && config->sources[DATA_PRIVATE].dataset) {
        status = source_check(config, &config->sources[DATA_PRIVATE]);
    }
    return status;
}

static enum stn_status slots_create(struct data_loader *loader)
{
    size_t depth = (size_t)loader->config.depth, g = (size_t)loader->config.micro_batch;
    size_t floats = (g * loader->image_floats + BATCH_ALIGN_FLOATS - 1) / BATCH_ALIGN_FLOATS *
                    BATCH_ALIGN_FLOATS;
    loader->images_bytes = depth * floats * sizeof(float);
    loader->images = base_pages_alloc(loader->images_bytes);
    loader->slots = base_arena_alloc(&loader->arena, depth * sizeof(*loader->slots));
    if (!loader->images || !loader->slots) {
        return fail_memory();
    }
    for (size_t i = 0; i < depth; i++) {
        struct slot *slot = &loader->slots[i];
        slot->batch.images = loader->images + i * floats;
        slot->batch.labels = base_arena_alloc(&loader->arena, g * sizeof(*slot->batch.labels));
        slot->batch.samples = base_arena_alloc(&loader->arena, g * sizeof(*slot->batch.samples));
        slot->batch.keys = base_arena_alloc(&loader->arena, g * sizeof(*slot->batch.keys));
        slot->outcomes = base_arena_alloc(&loader->arena, g * sizeof(*slot->outcomes));
        if (!slot->batch.labels || !slot->batch.samples || !slot->batch.keys || !slot->outcomes) {
            return fail_memory();
        }
    }
    return STN_OK;
}

// Makes a first sample for nothing: the scratch that it needs is taken now, not when the worker
// gets its first turn, which may be in the middle of a step. A failure is not told here: the sample
// that really needs it will fail, too.
static void worker_prepare(struct data_loader *loader, struct worker *worker)
{
    worker->loader = loader;
    data_workspace_init(&worker->workspace);
    for (int source = 0; source < DATA_SOURCES; source++) {
        if (loader->config.sources[source].sampler.count > 0) {
            struct data_request *request = &loader->slots[0].batch.request;
            *request = (struct data_request){0};
            request->part[source].count = 1;
            sample_make(loader, &loader->slots[0], 0, &worker->workspace);
        }
    }
}

// Signals are for the program's own threads: workers block them all.
static enum stn_status workers_start(struct data_loader *loader)
{
    int threads = loader->config.threads;
    loader->workers = calloc((size_t)threads, sizeof(*loader->workers));
    if (!loader->workers) {
        return fail_memory();
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    while (loader->threads_started < threads && !error) {
        struct worker *worker = &loader->workers[loader->threads_started];
        worker_prepare(loader, worker);
        error = pthread_create(&worker->thread, NULL, worker_run, worker);
        if (error) {
            data_workspace_fini(&worker->workspace);
        }
        loader->threads_started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? stn_fail(STN_ERR_INTERNAL, "data loader: cannot start a thread: %s",
                            strerror(error))
                 : STN_OK;
}

enum stn_status data_loader_create(const struct data_loader_config *config,
                                   struct data_loader **out)
{
    *out = NULL;
    enum stn_status status = config_check(config);
    if (status != STN_OK) {
        return status;
    }
    struct data_loader *loader = calloc(1, sizeof(*loader));
    if (!loader) {
        return fail_memory();
    }
    const struct stn_dataset_info *info = &config->sources[DATA_PUBLIC].dataset->info;
    size_t size = (size_t)info->image_size;
    loader->config = *config;
    loader->image_floats = (size_t)info->channels * size * size;
    pthread_mutex_init(&loader->mutex, NULL); // with default attributes these cannot fail
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    status = slots_create(loader);
    if (status == STN_OK) {
        status = workers_start(loader);
    }
    if (status != STN_OK) {
        data_loader_destroy(loader);
        return status;
    }
    *out = loader;
    return STN_OK;
}

void data_loader_destroy(struct data_loader *loader)
{
    if (!loader) {
        return;
    }
    pthread_mutex_lock(&loader->mutex);
    loader->stopping = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
    for (int i = 0; i < loader->threads_started; i++) {
        pthread_join(loader->workers[i].thread, NULL);
        data_workspace_fini(&loader->workers[i].workspace);
    }
    free(loader->workers);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->mutex);
    base_pages_free(loader->images, loader->images_bytes);
    base_arena_fini(&loader->arena);
    free(loader);
}

static bool request_equal(const struct data_request *a, const struct data_request *b)
{
    bool equal = a->epoch == b->epoch;
    for (int i = 0; i < DATA_SOURCES; i++) {
        equal = equal && a->part[i].position == b->part[i].position &&
                a->part[i].count == b->part[i].count;
    }
    return equal;
}

static bool request_is_later(const struct data_request *a, const struct data_request *b)
{
    return a->epoch != b->epoch ? a->epoch > b->epoch
                                : a->part[DATA_PUBLIC].position > b->part[DATA_PUBLIC].position;
}

// The slot to make a request in, of those that are free: where a cancelled one has left the same
// samples; else one that has nothing; else the one whose samples lie furthest ahead, as requests
// come in order.
static struct slot *slot_choose(struct data_loader *loader, struct slot *first,
                                const struct data_request *request)
{
    struct slot *best = first;
    for (int i = 0; i < loader->config.depth; i++) {
        struct slot *slot = &loader->slots[i];
        if (slot->state != SLOT_FREE) {
            continue;
        }
        if (slot->claimed > 0 && request_equal(&slot->batch.request, request)) {
            return slot;
        }
        if (best->claimed > 0 &&
            (slot->claimed == 0 || request_is_later(&slot->batch.request, &best->batch.request))) {
            best = slot;
        }
    }
    return best;
}

static void slot_ask(struct slot *slot, const struct data_request *request)
{
    if (slot->claimed == 0 || !request_equal(&slot->batch.request, request)) {
        slot->batch.request = *request;
        slot->wanted = data_request_count(request);
        slot->claimed = slot->done = 0;
    }
    slot->state = SLOT_FILLING;
}

bool data_loader_request(struct data_loader *loader, struct data_request request)
{
    assert(data_request_count(&request) >= 1 &&
           data_request_count(&request) <= loader->config.micro_batch);
    for (int source = 0; source < DATA_SOURCES; source++) {
        int count = request.part[source].count;
        assert(count == 0 || (count > 0 && loader->config.sources[source].sampler.count > 0));
    }
    pthread_mutex_lock(&loader->mutex);
    struct slot *slot = slot_at(loader, loader->asked);
    bool free_slot = slot->state == SLOT_FREE;
    if (free_slot) {
        struct slot *chosen = slot_choose(loader, slot, &request), other = *slot;
        *slot = *chosen; // slots that are free may change places
        *chosen = other;
        slot_ask(slot, &request);
        loader->asked++;
        claimed_skip(loader);
        pthread_cond_broadcast(&loader->work);
    }
    pthread_mutex_unlock(&loader->mutex);
    return free_slot;
}

static void slot_wait(struct data_loader *loader, struct slot *slot)
{
    pthread_mutex_lock(&loader->mutex);
    if (slot->done < slot->wanted) {
        int64_t begin = base_clock_ns();
        while (slot->done < slot->wanted) {
            pthread_cond_wait(&loader->ready, &loader->mutex);
        }
        loader->stats.wait_ns += base_clock_ns() - begin;
    }
    loader->taken++;
    slot->state = SLOT_TAKEN;
    pthread_mutex_unlock(&loader->mutex);
}

static void sample_move(struct data_loader *loader, struct data_batch *batch, int to, int from)
{
    size_t floats = loader->image_floats;
    memcpy(batch->images + (size_t)to * floats, batch->images + (size_t)from * floats,
           floats * sizeof(float));
    batch->labels[to] = batch->labels[from];
    batch->samples[to] = batch->samples[from];
    batch->keys[to] = batch->keys[from];
}

// A picture that cannot be read may be skipped; a machine out of memory may not.
static bool may_skip(const struct data_loader *loader, enum stn_status status)
{
    return loader->config.skip_bad && status != STN_ERR_NO_MEMORY;
}

// Bad samples are left out and the others close ranks, or the first bad one fails the batch.
static enum stn_status batch_finish(struct data_loader *loader, struct slot *slot)
{
    struct data_batch *batch = &slot->batch;
    batch->count = 0;
    for (int i = 0; i < slot->wanted; i++) {
        const struct outcome *outcome = &slot->outcomes[i];
        if (outcome->status == STN_OK) {
            if (batch->count != i) {
                sample_move(loader, batch, batch->count, i);
            }
            batch->count++;
        } else if (!may_skip(loader, outcome->status)) {
            return stn_fail(outcome->status, "%s", outcome->message);
        } else {
            loader->stats.skipped++;
            if (loader->warnings < WARNINGS_MAX) {
                loader->warnings++;
                stn_log(STN_LOG_WARN, "skipping %s%s", outcome->message,
                        loader->warnings == WARNINGS_MAX ? " (further ones are only counted)" : "");
            }
        }
    }
    size_t empty = (size_t)(loader->config.micro_batch - batch->count) * loader->image_floats;
    memset(batch->images + (size_t)batch->count * loader->image_floats, 0, empty * sizeof(float));
    return STN_OK;
}

enum stn_status data_loader_next(struct data_loader *loader, struct data_batch **out)
{
    *out = NULL;
    if (loader->taken == loader->asked) { // only this thread changes either of them
        return stn_fail(STN_ERR_INTERNAL, "data loader: a batch was taken that was not asked for");
    }
    struct slot *slot = slot_at(loader, loader->taken);
    slot_wait(loader, slot);
    enum stn_status status = batch_finish(loader, slot);
    if (status != STN_OK) {
        data_loader_release(loader, &slot->batch);
        return status;
    }
    *out = &slot->batch;
    return STN_OK;
}

void data_loader_release(struct data_loader *loader, struct data_batch *batch)
{
    struct slot *slot = (struct slot *)batch; // its first member
    pthread_mutex_lock(&loader->mutex);
    assert(slot->state == SLOT_TAKEN);
    slot->state = SLOT_FREE;
    slot->claimed = 0; // nothing of it is left
    pthread_mutex_unlock(&loader->mutex);
}

void data_loader_cancel(struct data_loader *loader)
{
    pthread_mutex_lock(&loader->mutex);
    loader->claiming = loader->asked; // nothing left to claim
    while (loader->active > 0) {
        pthread_cond_wait(&loader->ready, &loader->mutex);
    }
    for (int i = 0; i < loader->config.depth; i++) {
        if (loader->slots[i].state == SLOT_FILLING) {
            loader->slots[i].state = SLOT_FREE;
        }
    }
    loader->asked = loader->claiming = loader->taken;
    pthread_mutex_unlock(&loader->mutex);
}

struct data_loader_stats data_loader_stats(const struct data_loader *loader)
{
    return loader->stats;
}
