// SPDX-License-Identifier: Apache-2.0
#include "csd/nvme/session.h"

#include <stdlib.h>
#include <string.h>

#include "csd/nvme/session_state.h"

enum {
    CAP_TIMEOUT_SHIFT = 24,
    CAP_CONTIGUOUS = 1 << 16,
    VERSION = 0x00020000,
    CC_ENABLED = 1 | 6 << 16 | 4 << 20, // entries of 64 and 16 bytes
};
static const uint64_t cap_nvm_commands = UINT64_C(1) << 37;

static void set_up_queues(struct nvme_session *s)
{
    s->sqs[0] =
        (struct session_sq){.live = true, .size = RING_ADMIN_ENTRIES, .at = RING_ADMIN_SQ_AT};
    s->cqs[0] = (struct session_cq){
        .live = true, .size = RING_ADMIN_ENTRIES, .at = RING_ADMIN_CQ_AT, .phase = 1, .users = 1};
    for (int i = 0; i < SESSION_REQUESTS; i++) {
        s->requests[i].next = s->free;
        s->free = &s->requests[i];
    }
    struct ring_registers *registers = ring_registers(s->config.memory.base);
    registers->cap =
        (RING_ENTRIES_MAX - 1) | CAP_CONTIGUOUS | 1 << CAP_TIMEOUT_SHIFT | cap_nvm_commands;
    registers->vs = VERSION;
    registers->cc = CC_ENABLED;
    registers->aqa = (RING_ADMIN_ENTRIES - 1) << 16 | (RING_ADMIN_ENTRIES - 1);
    registers->asq = RING_ADMIN_SQ_AT;
    registers->acq = RING_ADMIN_CQ_AT;
    RING_STORE(registers->csts, RING_CSTS_READY);
}

enum stn_status nvme_session_create(const struct nvme_session_config *config,
                                    struct nvme_session **out)
{
    struct nvme_session *s = calloc(1, sizeof(*s));
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a client of the device");
    }
    s->config = *config;
    set_up_queues(s);
    *out = s;
    return STN_OK;
}

void nvme_session_destroy(struct nvme_session *session)
{
    if (session) {
        pthread_mutex_destroy(&session->lock);
        free(session);
    }
}

bool nvme_session_fatal(const struct nvme_session *session)
{
    return session->fatal;
}

void nvme_session_close(struct nvme_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->closed = true;
    pthread_mutex_unlock(&session->lock);
}

bool nvme_session_idle(struct nvme_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool idle = session->in_flight == 0;
    pthread_mutex_unlock(&session->lock);
    return idle;
}

static void interrupt(struct nvme_session *s)
{
    if (ring_take_awake(&ring_sleep_words(s->config.memory.base)->client)) {
        s->config.interrupt(s->config.context);
    }
}

static void fail_for_good(struct nvme_session *s)
{
    s->fatal = true;
    RING_STORE(ring_registers(s->config.memory.base)->csts, RING_CSTS_READY | RING_CSTS_FATAL);
    interrupt(s);
}

// ---- Completions --------------------------------------------------------------------------------

static bool worth_retrying(enum nvme_status status)
{
    return status == NVME_SUCCESS || status == NVME_INTERNAL || status == NVME_NOT_READY;
}

// Room was claimed when the command was taken. With the lock held.
static void post(struct nvme_session *s, const struct nvme_request *r, enum nvme_status status)
{
    struct session_sq *sq = &s->sqs[r->queue];
    struct session_cq *cq = &s->cqs[sq->cq];
    uint32_t *entry = (uint32_t *)(void *)(s->config.memory.base + cq->at +
                                           (uint64_t)cq->tail * sizeof(struct nvme_cqe));
    uint32_t word = (uint32_t)status << 1 | cq->phase | (worth_retrying(status) ? 0 : 1u << 15);
    RING_STORE(entry[0], r->result);
    RING_STORE(entry[1], 0);
    RING_STORE(entry[2], sq->head | (uint32_t)r->queue << 16);
    RING_STORE(entry[3], r->cid | word << 16);
    if (++cq->tail == cq->size) {
        cq->tail = 0;
        cq->phase ^= 1;
    }
}

// Posts, and the request is free again. With the lock held.
static void finish(struct nvme_session *s, struct nvme_request *r, enum nvme_status status)
{
    struct session_sq *sq = &s->sqs[r->queue];
    if (r->marked) {
        sq->cids[r->cid / 64] &= ~(UINT64_C(1) << r->cid % 64);
    }
    sq->in_flight--;
    post(s, r, status);
    r->next = s->free;
    s->free = r;
    s->in_flight--;
}

static void remove_sq(struct nvme_session *s, struct session_sq *sq)
{
    sq->live = false;
    sq->deletion = NULL;
    s->cqs[sq->cq].users--;
}

void nvme_request_complete(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_session *s = r->session;
    if (r->done) {
        status = r->done(r, status);
    }
    if (status != NVME_SUCCESS) {
        pthread_mutex_lock(&s->config.subsystem->lock);
        nvme_error_note(s->config.subsystem, r, status);
        pthread_mutex_unlock(&s->config.subsystem->lock);
    }
    pthread_mutex_lock(&s->lock);
    struct session_sq *sq = &s->sqs[r->queue];
    finish(s, r, status);
    if (sq->deletion && sq->in_flight == 0) {
        struct nvme_request *deletion = sq->deletion;
        remove_sq(s, sq);
        finish(s, deletion, NVME_SUCCESS);
    }
    interrupt(s);
    if (s->starved || (s->closed && s->in_flight == 0)) {
        s->starved = false;
        s->config.wake(s->config.context);
    }
    pthread_mutex_unlock(&s->lock); // the session may be gone from here on
}

// ---- Commands -----------------------------------------------------------------------------------

// Is there room for one more completion? A head that was never posted is fatal. With the lock held.
static bool has_room(struct nvme_session *s, int index)
{
    struct session_cq *cq = &s->cqs[index];
    uint32_t head = RING_LOAD(ring_doorbells(s->config.memory.base, index)->cq_head);
    uint32_t posted = (uint32_t)(cq->tail + cq->size - cq->freed) % cq->size;
    uint32_t freed = (head + cq->size - cq->freed) % cq->size;
    if (head >= cq->size || freed > posted) {
        fail_for_good(s);
        return false;
    }
    cq->freed = (uint16_t)head;
    cq->claimed = (uint16_t)(cq->claimed - freed);
    return cq->claimed < cq->size - 1;
}

// The submission queue's tail, or its head if there is nothing to take. With the lock held.
static uint16_t look_at_tail(struct nvme_session *s, int index)
{
    struct session_sq *sq = &s->sqs[index];
    if (!sq->live || sq->deletion || s->fatal || s->closed) {
        return sq->head;
    }
    uint32_t tail = RING_LOAD(ring_doorbells(s->config.memory.base, index)->sq_tail);
    if (tail >= sq->size) {
        fail_for_good(s);
        return sq->head;
    }
    return (uint16_t)tail;
}

// Takes a command from the queue's head: its one copy is made here. NULL: there is none that can be
// taken now. With the lock held.
static struct nvme_request *take(struct nvme_session *s, int index, struct nvme_sqe *sqe)
{
    struct session_sq *sq = &s->sqs[index];
    if (look_at_tail(s, index) == sq->head || !has_room(s, sq->cq)) {
        return NULL;
    }
    struct nvme_request *r = s->free;
    if (!r) {
        s->starved = true;
        return NULL;
    }
    nvme_memory_copy(&s->config.memory, sq->at + (uint64_t)sq->head * sizeof(*sqe), sizeof(*sqe),
                     sqe);
    sq->head = (uint16_t)(sq->head + 1 == sq->size ? 0 : sq->head + 1);
    s->free = r->next;
    s->cqs[sq->cq].claimed++;
    sq->in_flight++;
    s->in_flight++;
    r->alone = s->in_flight == 1;
    r->session = s;
    r->memory = &s->config.memory;
    r->controller = (uint8_t)s->config.controller;
    r->queue = (uint8_t)index;
    r->cid = sqe->cid;
    r->nsid = sqe->nsid;
    r->first = r->count = 0;
    r->result = 0;
    r->done = NULL;
    r->health = NULL;
    r->durable = r->submit = r->held = false;
    return r;
}

// Two commands in flight with one id: the second is refused, and the mark stays the first's.
static bool claim_cid(struct session_sq *sq, uint16_t cid)
{
    uint64_t bit = UINT64_C(1) << cid % 64;
    bool fresh = !(sq->cids[cid / 64] & bit);
    sq->cids[cid / 64] |= bit;
    return fresh;
}

static enum nvme_status interpret(struct nvme_session *s, const struct nvme_sqe *sqe,
                                  struct nvme_request *r)
{
    struct nvme_subsystem *subsystem = s->config.subsystem;
    if (sqe->flags != 0) { // neither fused operations nor scatter-gather lists
        return NVME_INVALID_FIELD;
    }
    pthread_mutex_lock(&subsystem->lock);
    enum nvme_status status =
        r->queue == 0 ? nvme_admin_command(s, sqe, r) : nvme_io_command(s, sqe, r);
    pthread_mutex_unlock(&subsystem->lock);
    return status;
}

static bool start_one(struct nvme_session *s, int index)
{
    struct nvme_sqe sqe;
    pthread_mutex_lock(&s->lock);
    struct nvme_request *r = take(s, index, &sqe);
    if (r) {
        r->marked = claim_cid(&s->sqs[index], r->cid);
    }
    pthread_mutex_unlock(&s->lock);
    if (!r) {
        return false;
    }
    enum nvme_status status = r->marked ? interpret(s, &sqe, r) : NVME_CID_CONFLICT;
    if (status == NVME_SUCCESS && r->submit) {
        s->config.subsystem->backend->submit(s->config.subsystem->backend, r);
    } else if (status != NVME_SUCCESS || !r->held) {
        nvme_request_complete(r, status);
    }
    return true;
}

bool nvme_session_run(struct nvme_session *session)
{
    bool any = false, more = true;
    for (int round = 0; round < SESSION_REQUESTS && more; round++) {
        more = false;
        for (int i = 0; i < RING_QUEUES_MAX; i++) {
            more = start_one(session, i) || more;
        }
        any = any || more;
    }
    return any;
}

// ---- Sleep --------------------------------------------------------------------------------------

// Could a command be taken? *room: one waits for room in a completion queue. With the lock held.
static bool has_work(struct nvme_session *s, bool *room)
{
    bool work = false;
    for (int i = 0; i < RING_QUEUES_MAX; i++) {
        if (look_at_tail(s, i) == s->sqs[i].head) {
            continue;
        }
        if (!has_room(s, s->sqs[i].cq)) {
            *room = true;
        } else if (s->free) {
            work = true;
        } else {
            s->starved = true;
        }
    }
    return work && !s->fatal;
}

bool nvme_session_doze(struct nvme_session *session)
{
    uint32_t *word = &ring_sleep_words(session->config.memory.base)->device;
    bool room = false, again = false;
    pthread_mutex_lock(&session->lock);
    bool work = has_work(session, &room);
    if (!work) {
        ring_fall_asleep(word, room ? RING_ASLEEP_FOR_ROOM : RING_ASLEEP);
        work = has_work(session, &again);
        if (again && !room) {
            ring_fall_asleep(word, RING_ASLEEP_FOR_ROOM);
            work = has_work(session, &again);
        }
    }
    pthread_mutex_unlock(&session->lock);
    if (work) {
        nvme_session_awake(session);
    }
    return !work;
}

void nvme_session_awake(struct nvme_session *session)
{
    RING_STORE(ring_sleep_words(session->config.memory.base)->device, RING_AWAKE);
}
