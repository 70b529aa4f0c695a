// SPDX-License-Identifier: Apache-2.0
// Making and deleting I/O queues.
#include <string.h>

#include "csd/nvme/session_state.h"

enum { CONTIGUOUS = 1, INTERRUPTS = 2 };

static int queue_id(const struct nvme_sqe *sqe)
{
    uint32_t id = sqe->cdw10 & 0xffff;
    return id >= 1 && id < RING_QUEUES_MAX ? (int)id : 0;
}

// Entries, place and flags, as both kinds of queue have them.
static enum nvme_status check_place(const struct nvme_session *s, const struct nvme_sqe *sqe,
                                    uint64_t entry_bytes, uint32_t *entries)
{
    *entries = (sqe->cdw10 >> 16) + 1;
    if (*entries < 2 || *entries > RING_ENTRIES_MAX) {
        return NVME_QUEUE_SIZE;
    }
    if (!(sqe->cdw11 & CONTIGUOUS)) {
        return NVME_INVALID_FIELD;
    }
    if (sqe->prp1 % NVME_PAGE_BYTES != 0) {
        return NVME_PRP_OFFSET;
    }
    return nvme_memory_holds(&s->config.memory, sqe->prp1, *entries * entry_bytes)
               ? NVME_SUCCESS
               : NVME_INVALID_FIELD;
}

enum nvme_status session_create_cq(struct nvme_session *session, const struct nvme_sqe *sqe)
{
    int id = queue_id(sqe);
    uint32_t entries;
    if (id == 0 || session->cqs[id].live) {
        return NVME_QUEUE_ID;
    }
    enum nvme_status status = check_place(session, sqe, sizeof(struct nvme_cqe), &entries);
    if (status) {
        return status;
    }
    if (!(sqe->cdw11 & INTERRUPTS) || sqe->cdw11 >> 16 != 0) { // one vector, and it is on
        return NVME_INVALID_FIELD;
    }
    pthread_mutex_lock(&session->lock);
    session->cqs[id] =
        (struct session_cq){.live = true, .size = (uint16_t)entries, .at = sqe->prp1, .phase = 1};
    RING_STORE(ring_doorbells(session->config.memory.base, id)->cq_head, 0u);
    pthread_mutex_unlock(&session->lock);
    return NVME_SUCCESS;
}

enum nvme_status session_create_sq(struct nvme_session *session, const struct nvme_sqe *sqe)
{
    int id = queue_id(sqe);
    uint32_t entries, cq = sqe->cdw11 >> 16;
    if (id == 0 || session->sqs[id].live) {
        return NVME_QUEUE_ID;
    }
    if (cq == 0 || cq >= RING_QUEUES_MAX || !session->cqs[cq].live) {
        return NVME_CQ_INVALID;
    }
    enum nvme_status status = check_place(session, sqe, sizeof(struct nvme_sqe), &entries);
    if (status) {
        return status;
    }
    pthread_mutex_lock(&session->lock);
    memset(&session->sqs[id], 0, sizeof(session->sqs[id]));
    session->sqs[id].live = true;
    session->sqs[id].cq = (int)cq;
    session->sqs[id].size = (uint16_t)entries;
    session->sqs[id].at = sqe->prp1;
    session->cqs[cq].users++;
    RING_STORE(ring_doorbells(session->config.memory.base, id)->sq_tail, 0u);
    pthread_mutex_unlock(&session->lock);
    return NVME_SUCCESS;
}

enum nvme_status session_delete_cq(struct nvme_session *session, const struct nvme_sqe *sqe)
{
    int id = queue_id(sqe);
    if (id == 0 || !session->cqs[id].live) {
        return NVME_QUEUE_ID;
    }
    pthread_mutex_lock(&session->lock);
    enum nvme_status status = session->cqs[id].users > 0 ? NVME_QUEUE_DELETION : NVME_SUCCESS;
    session->cqs[id].live = status != NVME_SUCCESS;
    pthread_mutex_unlock(&session->lock);
    return status;
}

enum nvme_status session_delete_sq(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request)
{
    int id = queue_id(sqe);
    if (id == 0 || !session->sqs[id].live || session->sqs[id].deletion) {
        return NVME_QUEUE_ID;
    }
    struct session_sq *sq = &session->sqs[id];
    pthread_mutex_lock(&session->lock);
    if (sq->in_flight > 0) {
        sq->deletion = request;
        request->held = true;
    } else {
        sq->live = false;
        session->cqs[sq->cq].users--;
    }
    pthread_mutex_unlock(&session->lock);
    return NVME_SUCCESS;
}
