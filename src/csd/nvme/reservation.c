// SPDX-License-Identifier: Apache-2.0
// Reservations: hosts register with a key, and one of them, or all, may reserve a namespace. They
// do not outlast the power (PTPL is not offered).
#include <string.h>

#include "csd/nvme/session_state.h"

enum {
    IGNORE_KEY = 8,
    PERSIST = 3, // CPTPL: keep it over a power cycle
    REGISTER = 0,
    UNREGISTER = 1,
    REPLACE = 2,
    ACQUIRE = 0,
    PREEMPT = 1,
    PREEMPT_AND_ABORT = 2,
    RELEASE = 0,
    CLEAR = 1,
};

struct keys {
    uint64_t current, other;
};

static int find(const struct nvme_reservations *r, const uint8_t *host)
{
    for (int i = 0; host && i < r->count; i++) {
        if (memcmp(r->registrants[i].host, host, NVME_HOST_ID_BYTES) == 0) {
            return i;
        }
    }
    return -1;
}

static bool held_by_all(const struct nvme_reservations *r)
{
    return r->type == NVME_RESERVED_WRITE_ALL || r->type == NVME_RESERVED_ACCESS_ALL;
}

bool nvme_reservation_allows(const struct nvme_reservations *r, const uint8_t *host, bool writes)
{
    if (r->type == NVME_RESERVED_NOT) {
        return true;
    }
    int index = find(r, host);
    bool writes_only = r->type == NVME_RESERVED_WRITE ||
                       r->type == NVME_RESERVED_WRITE_REGISTRANTS ||
                       r->type == NVME_RESERVED_WRITE_ALL;
    bool holder_only = r->type == NVME_RESERVED_WRITE || r->type == NVME_RESERVED_ACCESS;
    if (writes_only && !writes) {
        return true;
    }
    return index >= 0 && (!holder_only || index == r->holder);
}

static void release(struct nvme_reservations *r)
{
    r->type = NVME_RESERVED_NOT;
    r->holder = -1;
}

static void remove_registrant(struct nvme_reservations *r, int index)
{
    r->count--;
    memmove(&r->registrants[index], &r->registrants[index + 1],
            (size_t)(r->count - index) * sizeof(r->registrants[0]));
    if (index == r->holder || (held_by_all(r) && r->count == 0)) {
        release(r);
    } else if (index < r->holder) {
        r->holder--;
    }
}

static enum nvme_status add_registrant(struct nvme_session *s, struct nvme_reservations *r,
                                       uint64_t key)
{
    if (r->count == NVME_REGISTRANTS_MAX) {
        return NVME_OPERATION_DENIED;
    }
    memcpy(r->registrants[r->count].host, s->host_id, NVME_HOST_ID_BYTES);
    r->registrants[r->count].key = key;
    r->registrants[r->count].controller = s->config.controller;
    r->count++;
    r->generation++;
    return NVME_SUCCESS;
}

static enum nvme_status register_key(struct nvme_session *s, const struct nvme_sqe *sqe,
                                     struct nvme_reservations *r, const struct keys *keys)
{
    int index = find(r, session_host(s));
    uint32_t action = sqe->cdw10 & 7;
    bool ignore = sqe->cdw10 & IGNORE_KEY;
    if (sqe->cdw10 >> 30 == PERSIST || action > REPLACE) {
        return NVME_INVALID_FIELD;
    }
    if (index < 0) {
        return action == REGISTER || (action == REPLACE && ignore)
                   ? add_registrant(s, r, keys->other)
                   : NVME_RESERVED;
    }
    if (action == REGISTER) {
        return r->registrants[index].key == keys->other ? NVME_SUCCESS : NVME_RESERVED;
    }
    if (!ignore && r->registrants[index].key != keys->current) {
        return NVME_RESERVED;
    }
    if (action == REPLACE) {
        r->registrants[index].key = keys->other;
    } else {
        remove_registrant(r, index);
    }
    r->generation++;
    return NVME_SUCCESS;
}

// All but `self` that registered with the key, or all others if every key is meant.
static int remove_with_key(struct nvme_reservations *r, int *self, uint64_t key, bool all)
{
    int removed = 0;
    for (int i = r->count - 1; i >= 0; i--) {
        if (i != *self && (all || r->registrants[i].key == key)) {
            remove_registrant(r, i);
            *self -= i < *self;
            removed++;
        }
    }
    return removed;
}

static enum nvme_status preempt(struct nvme_reservations *r, int self, enum nvme_reservation type,
                                uint64_t key)
{
    bool every = held_by_all(r) && key == 0;
    bool takes = every || (r->type != NVME_RESERVED_NOT && !held_by_all(r) &&
                           r->registrants[r->holder].key == key);
    if (key == 0 && !every) {
        return NVME_INVALID_FIELD;
    }
    if (remove_with_key(r, &self, key, every) == 0 && !takes) {
        return NVME_RESERVED;
    }
    r->generation++;
    if (takes) {
        r->type = type;
        r->holder = held_by_all(r) ? -1 : self;
    }
    return NVME_SUCCESS;
}

static enum nvme_status acquire(struct nvme_session *s, const struct nvme_sqe *sqe,
                                struct nvme_reservations *r, const struct keys *keys)
{
    int self = find(r, session_host(s));
    uint32_t action = sqe->cdw10 & 7, type = sqe->cdw10 >> 8 & 0xff;
    if ((sqe->cdw10 & IGNORE_KEY) || action > PREEMPT_AND_ABORT || type < NVME_RESERVED_WRITE ||
        type > NVME_RESERVED_ACCESS_ALL) {
        return NVME_INVALID_FIELD;
    }
    if (self < 0 || r->registrants[self].key != keys->current) {
        return NVME_RESERVED;
    }
    if (action != ACQUIRE) { // commands are done in order: there is nothing to abort
        return preempt(r, self, (enum nvme_reservation)type, keys->other);
    }
    bool mine = held_by_all(r) || r->holder == self;
    if (r->type != NVME_RESERVED_NOT) {
        return mine && r->type == type ? NVME_SUCCESS : NVME_RESERVED;
    }
    r->type = (enum nvme_reservation)type;
    r->holder = held_by_all(r) ? -1 : self;
    return NVME_SUCCESS;
}

static enum nvme_status give_up(struct nvme_session *s, const struct nvme_sqe *sqe,
                                struct nvme_reservations *r, const struct keys *keys)
{
    int self = find(r, session_host(s));
    uint32_t action = sqe->cdw10 & 7, type = sqe->cdw10 >> 8 & 0xff;
    if ((sqe->cdw10 & IGNORE_KEY) || action > CLEAR) {
        return NVME_INVALID_FIELD;
    }
    if (self < 0 || r->registrants[self].key != keys->current) {
        return NVME_RESERVED;
    }
    if (action == CLEAR) {
        release(r);
        r->count = 0;
        r->generation++;
        return NVME_SUCCESS;
    }
    if (r->type == NVME_RESERVED_NOT || (r->holder != self && !held_by_all(r))) {
        return NVME_SUCCESS; // nothing to release
    }
    if (r->type != type) {
        return NVME_INVALID_FIELD;
    }
    release(r);
    return NVME_SUCCESS;
}

static enum nvme_status report(struct nvme_session *s, const struct nvme_sqe *sqe,
                               const struct nvme_reservations *r)
{
    struct {
        struct nvme_reservation_status head;
        struct nvme_registrant registrants[NVME_REGISTRANTS_MAX];
    } out = {.head = {.generation = r->generation, .type = (uint8_t)r->type}};
    uint64_t bytes = ((uint64_t)sqe->cdw10 + 1) * 4;
    if (!(sqe->cdw11 & 1)) { // host identifiers have 128 bits here
        return NVME_HOST_ID_FORMAT;
    }
    out.head.registrants[0] = (uint8_t)r->count;
    for (int i = 0; i < r->count; i++) {
        struct nvme_registrant *to = &out.registrants[i];
        to->cntlid = r->registrants[i].controller;
        to->holder = i == r->holder || held_by_all(r);
        to->key = r->registrants[i].key;
        memcpy(to->host_id, r->registrants[i].host, NVME_HOST_ID_BYTES);
    }
    uint64_t there = sizeof(out.head) + (size_t)r->count * sizeof(out.registrants[0]);
    return session_give(s, sqe, &out, (uint32_t)(bytes < there ? bytes : there));
}

enum nvme_status nvme_reservation_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                          struct nvme_namespace *ns)
{
    struct nvme_reservations *r = &ns->reservations;
    struct keys keys = {0};
    if (sqe->opcode == NVME_IO_RESERVATION_REPORT) {
        return report(session, sqe, r);
    }
    if (!session->has_host_id) {
        return NVME_OPERATION_DENIED; // reservations are of hosts, and this one has no name
    }
    uint32_t bytes = sqe->opcode == NVME_IO_RESERVATION_RELEASE ? 8 : 16;
    enum nvme_status status = session_take(session, sqe, bytes, &keys);
    if (status) {
        return status;
    }
    switch (sqe->opcode) {
    case NVME_IO_RESERVATION_REGISTER: return register_key(session, sqe, r, &keys);
    case NVME_IO_RESERVATION_ACQUIRE: return acquire(session, sqe, r, &keys);
    default: return give_up(session, sqe, r, &keys);
    }
}
