// SPDX-License-Identifier: Apache-2.0
#include "csd/device/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "csd/device/health.h"
#include "stannis/log.h"

#define MS INT64_C(1000000)

enum { BUFFER_BYTES = NVME_TRANSFER_PAGES * NVME_PAGE_BYTES };

// Work of the flash's own begins when nobody has wanted anything for a moment, and is looked for
// more and more rarely while nobody does.
static const int64_t grace_ns = 20 * MS, rest_min_ns = 1000 * MS, rest_max_ns = 3600 * 1000 * MS;

struct queue {
    struct nvme_request *first, *last;
};

struct store {
    struct nvme_backend base;
    struct flash *flash;
    struct health_about about;
    enum flash_timing_mode timing;
    uint8_t *buffer;
    pthread_t thread;
    int64_t work_at_ns, rest_ns;
    bool was_read_only;
    // Requests that are done, but would not be yet on real flash; the first is due first.
    struct nvme_request *later;

    pthread_mutex_t lock; // of what follows
    pthread_cond_t changed;
    struct queue arrived;
    bool working; // somebody is at the flash, the buffer and the fields above
    bool stopping;
};

// ---- Requests -----------------------------------------------------------------------------------

static enum nvme_status status_of(enum flash_result result)
{
    switch (result) {
    case FLASH_OK: return NVME_SUCCESS;
    case FLASH_NO_NAMESPACE: return NVME_INVALID_NAMESPACE;
    case FLASH_OUT_OF_RANGE: return NVME_LBA_RANGE;
    case FLASH_UNRECOVERED: return NVME_UNRECOVERED_READ;
    case FLASH_READ_ONLY: return NVME_WRITE_FAULT;
    case FLASH_NO_SPACE: return NVME_CAPACITY;
    case FLASH_LOST: return NVME_INTERNAL;
    }
    return NVME_INTERNAL;
}

static enum nvme_status status_of_change(enum stn_status status)
{
    switch (status) {
    case STN_OK: return NVME_SUCCESS;
    case STN_ERR_NO_SPACE: return NVME_NAMESPACE_CAPACITY;
    case STN_ERR_NOT_FOUND: return NVME_INVALID_FIELD;
    default: return NVME_INTERNAL;
    }
}

static enum flash_result read_data(struct store *s, struct nvme_request *r)
{
    uint32_t done = 0;
    enum flash_result result =
        flash_read(s->flash, r->store_id, r->first, (uint32_t)r->count, s->buffer, &done);
    nvme_data_scatter(r->memory, &r->data, 0, done << NVME_BLOCK_SHIFT, s->buffer);
    return result;
}

static enum flash_result write_data(struct store *s, struct nvme_request *r)
{
    nvme_data_gather(r->memory, &r->data, 0, r->data.bytes, s->buffer);
    return flash_write(s->flash, r->store_id, r->first, (uint32_t)r->count, s->buffer, NULL);
}

static enum flash_result trim(struct store *s, struct nvme_request *r)
{
    enum flash_result result = FLASH_OK;
    for (int i = 0; i < r->range_count && result == FLASH_OK; i++) {
        result = flash_trim(s->flash, r->store_id, r->ranges[i].first, r->ranges[i].blocks);
    }
    return result;
}

static enum nvme_status create(struct store *s, struct nvme_request *r)
{
    struct flash_namespace ns = {.units = r->count};
    memcpy(ns.tag, &r->tag, sizeof(r->tag));
    enum stn_status status = flash_namespace_create(s->flash, &ns);
    r->store_id = ns.id;
    return status_of_change(status);
}

static enum nvme_status perform(struct store *s, struct nvme_request *r)
{
    enum flash_result result = FLASH_OK;
    switch (r->op) {
    case NVME_OP_READ: result = read_data(s, r); break;
    case NVME_OP_WRITE: result = write_data(s, r); break;
    case NVME_OP_TRIM: result = trim(s, r); break;
    case NVME_OP_FLUSH: result = flash_flush(s->flash); break;
    case NVME_OP_CREATE: return create(s, r);
    case NVME_OP_DELETE: return status_of_change(flash_namespace_delete(s->flash, r->store_id));
    case NVME_OP_TAG:
        return status_of_change(
            flash_namespace_tag(s->flash, r->store_id, (const uint8_t *)&r->tag));
    case NVME_OP_HEALTH: health_describe(s->flash, &s->about, r->health); return NVME_SUCCESS;
    }
    if (result == FLASH_OK && r->durable) {
        result = flash_flush(s->flash);
    }
    if (result == FLASH_READ_ONLY && !s->was_read_only) {
        s->was_read_only = true;
        stn_log(STN_LOG_WARN, "%s: what was written can still be read",
                flash_result_text(FLASH_READ_ONLY));
    }
    return status_of(result);
}

// Keeps a completion back until the timing model says that it is time.
static void hold_back(struct store *s, struct nvme_request *r, enum nvme_status status, int64_t at)
{
    struct nvme_request **place = &s->later;
    r->due_ns = at;
    r->status = status;
    while (*place && (*place)->due_ns <= at) {
        place = &(*place)->next;
    }
    r->next = *place;
    *place = r;
}

static void complete_due(struct store *s)
{
    int64_t now = s->later ? base_clock_ns() : 0;
    while (s->later && s->later->due_ns <= now) {
        struct nvme_request *r = s->later;
        s->later = r->next;
        nvme_request_complete(r, r->status);
    }
}

static void handle(struct store *s, struct nvme_request *r)
{
    enum nvme_status status = perform(s, r);
    bool data = r->op == NVME_OP_READ || r->op == NVME_OP_WRITE || r->op == NVME_OP_FLUSH;
    int64_t ready = s->timing == FLASH_TIMING_ENFORCED && data ? flash_ready_ns(s->flash) : 0;
    if (ready > base_clock_ns()) {
        hold_back(s, r, status, ready);
    } else {
        nvme_request_complete(r, status);
    }
}

// ---- The thread ---------------------------------------------------------------------------------

static void sleep_until(struct store *s, int64_t at_ns)
{
    struct timespec until = {.tv_sec = at_ns / (1000 * MS), .tv_nsec = at_ns % (1000 * MS)};
    pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

// When there is something to do without a request.
static int64_t next_time(const struct store *s)
{
    bool held = s->later && s->later->due_ns < s->work_at_ns;
    return held ? s->later->due_ns : s->work_at_ns;
}

// What arrived, or NULL when it is time for something else. *stop: nothing will come any more.
static struct nvme_request *next_requests(struct store *s, bool *stop)
{
    pthread_mutex_lock(&s->lock);
    int64_t at = next_time(s);
    s->working = false;
    while (s->working || (!s->arrived.first && !s->stopping && base_clock_ns() < at)) {
        sleep_until(s, at);
        at = next_time(s);
    }
    s->working = true;
    struct nvme_request *first = s->arrived.first;
    s->arrived = (struct queue){NULL, NULL};
    *stop = s->stopping && !first;
    pthread_mutex_unlock(&s->lock);
    return first;
}

static void work(struct store *s)
{
    bool more = false;
    int64_t now = base_clock_ns();
    if (now < s->work_at_ns) {
        return;
    }
    if (flash_work(s->flash, &more) == FLASH_OK && more) {
        return; // at once again, unless a request comes first
    }
    s->work_at_ns = now + s->rest_ns;
    s->rest_ns = 2 * s->rest_ns < rest_max_ns ? 2 * s->rest_ns : rest_max_ns;
}

static void *serve(void *context)
{
    struct store *s = context;
    bool stop = false;
    prctl(PR_SET_NAME, "csd-back");
    while (!stop) {
        struct nvme_request *r = next_requests(s, &stop);
        if (r) {
            s->rest_ns = rest_min_ns;
            s->work_at_ns = base_clock_ns() + grace_ns;
        }
        while (r) {
            struct nvme_request *next = r->next;
            complete_due(s);
            handle(s, r);
            r = next;
        }
        complete_due(s);
        if (!stop) {
            work(s);
        }
    }
    while (s->later) {
        s->later->due_ns = 0;
        complete_due(s);
    }
    return NULL;
}

// A read that a client waits for with nothing else in flight is done here and now if the flash is
// free: that saves two changes of thread.
static bool take_flash(struct store *s, const struct nvme_request *r)
{
    bool here = r->op == NVME_OP_READ && r->alone && s->timing != FLASH_TIMING_ENFORCED &&
                !s->working && !s->arrived.first;
    if (here) {
        s->working = true;
        s->rest_ns = rest_min_ns;
        s->work_at_ns = base_clock_ns() + grace_ns;
    }
    return here;
}

static void give_back_flash(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->working = false;
    bool wanted = s->arrived.first || s->stopping;
    pthread_mutex_unlock(&s->lock);
    if (wanted) {
        pthread_cond_signal(&s->changed);
    }
}

static void submit(struct nvme_backend *base, struct nvme_request *request)
{
    struct store *s = (struct store *)base;
    request->next = NULL;
    pthread_mutex_lock(&s->lock);
    bool here = take_flash(s, request), first = !s->arrived.first;
    if (!here && first) {
        s->arrived.first = request;
    } else if (!here) {
        s->arrived.last->next = request;
    }
    if (!here) {
        s->arrived.last = request;
    }
    pthread_mutex_unlock(&s->lock);
    if (here) {
        enum nvme_status status = perform(s, request);
        give_back_flash(s);
        nvme_request_complete(request, status);
    } else if (first) {
        pthread_cond_signal(&s->changed);
    }
}

// ---- Lifetime -----------------------------------------------------------------------------------

static enum stn_status init_locks(struct store *s)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a device's back end");
    }
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (error == 0) {
        error = pthread_mutex_init(&s->lock, NULL);
    }
    return error == 0 ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for a device's back end");
}

enum stn_status store_start(struct flash *flash, const struct store_about *about,
                            struct store **out)
{
    struct store *s = calloc(1, sizeof(*s));
    uint8_t *buffer = malloc(BUFFER_BYTES);
    if (!s || !buffer) {
        free(s);
        free(buffer);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a device's back end");
    }
    s->base.submit = submit;
    s->flash = flash;
    s->buffer = buffer;
    s->timing = about->timing;
    s->rest_ns = rest_min_ns;
    s->work_at_ns = base_clock_ns() + grace_ns;
    s->working = true; // until the thread waits for the first time
    health_about_init(about->profile, about->media, about->flash_profile, about->timing, &s->about);
    enum stn_status status = init_locks(s);
    if (status == STN_OK && pthread_create(&s->thread, NULL, serve, s) != 0) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
        status = stn_fail(STN_ERR_NO_MEMORY, "cannot start a device's back end");
    }
    if (status != STN_OK) {
        free(buffer);
        free(s);
        return status;
    }
    *out = s;
    return STN_OK;
}

struct nvme_backend *store_backend(struct store *store)
{
    return &store->base;
}

void store_stop(struct store *store)
{
    if (!store) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_mutex_unlock(&store->lock);
    pthread_cond_signal(&store->changed);
    pthread_join(store->thread, NULL);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->changed);
    free(store->buffer);
    free(store);
}
