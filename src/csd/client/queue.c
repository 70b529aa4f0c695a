// SPDX-License-Identifier: Apache-2.0
// Queue pairs: a slot of the queue is a command id, with a page for its PRP list.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "csd/client/state.h"

enum { ENTRY_WORDS = 4, CONTIGUOUS = 1, INTERRUPTS = 2, EVENTS_MAX = 4 };

enum stn_status client_queue_init(struct csd_client *client, int id, int depth, int entries,
                                  void *sq, void *cq)
{
    struct csd_queue *q = &client->queues[id];
    *q = (struct csd_queue){.client = client,
                            .id = id,
                            .depth = depth,
                            .entries = entries,
                            .sq = sq,
                            .cq = cq,
                            .phase = 1,
                            .free = calloc((size_t)depth, sizeof(*q->free)),
                            .users = calloc((size_t)depth, sizeof(*q->users))};
    client->queue_count = id + 1;
    q->lists = csd_client_allocate(client, (uint64_t)depth * NVME_PAGE_BYTES);
    if (!q->free || !q->users || !q->lists) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for a queue of %d commands", client->name,
                        depth);
    }
    for (int i = 0; i < depth; i++) {
        q->free[q->free_count++] = (uint16_t)(depth - 1 - i);
    }
    return STN_OK;
}

static enum stn_status announce(struct csd_client *c, uint8_t opcode, int id, int entries,
                                const void *place, uint32_t word11)
{
    struct nvme_sqe command = {.opcode = opcode,
                               .prp1 = (uint64_t)((const uint8_t *)place - c->memory),
                               .cdw10 = (uint32_t)id | (uint32_t)(entries - 1) << 16,
                               .cdw11 = word11};
    struct csd_outcome outcome;
    enum stn_status status = csd_admin(c, &command, CSD_NO_DATA, NULL, 0, &outcome);
    if (status == STN_OK && outcome.status != NVME_SUCCESS) {
        status = csd_client_refused(c, "cannot make a queue", outcome.status);
    }
    return status;
}

enum stn_status csd_queue_create(struct csd_client *client, int depth, struct csd_queue **out)
{
    int id = client->queue_count, entries = depth + 1;
    if (id >= RING_QUEUES_MAX || depth < 1 || entries > RING_ENTRIES_MAX) {
        return stn_fail(STN_ERR_INVALID, "%s: at most %d queues of %d commands", client->name,
                        RING_QUEUES_MAX - 1, RING_ENTRIES_MAX - 1);
    }
    void *sq = csd_client_allocate(client, (uint64_t)entries * sizeof(struct nvme_sqe));
    void *cq = csd_client_allocate(client, (uint64_t)entries * sizeof(struct nvme_cqe));
    if (!sq || !cq) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no shared memory for a queue of %d commands",
                        client->name, depth);
    }
    enum stn_status status = client_queue_init(client, id, depth, entries, sq, cq);
    if (status == STN_OK) {
        status = announce(client, NVME_ADMIN_CREATE_CQ, id, entries, cq, CONTIGUOUS | INTERRUPTS);
    }
    if (status == STN_OK) {
        status = announce(client, NVME_ADMIN_CREATE_SQ, id, entries, sq,
                          CONTIGUOUS | (uint32_t)id << 16);
    }
    *out = &client->queues[id];
    return status;
}

// Data that is in one piece, page by page as the specification wants it.
static void aim(const struct csd_queue *q, uint16_t slot, const uint8_t *data, uint32_t bytes,
                struct nvme_sqe *entry)
{
    uint64_t at = (uint64_t)(data - q->client->memory);
    uint32_t first = NVME_PAGE_BYTES - (uint32_t)(at % NVME_PAGE_BYTES);
    entry->prp1 = at;
    if (bytes <= first) {
        return;
    }
    if (bytes <= first + NVME_PAGE_BYTES) {
        entry->prp2 = at + first;
        return;
    }
    uint64_t *list = (uint64_t *)(void *)(q->lists + (size_t)slot * NVME_PAGE_BYTES);
    entry->prp2 = (uint64_t)((uint8_t *)list - q->client->memory);
    for (uint32_t done = first; done < bytes; done += NVME_PAGE_BYTES) {
        *list++ = at + done;
    }
}

bool csd_queue_submit(struct csd_queue *queue, const struct nvme_sqe *command, void *data,
                      uint32_t bytes, void *user)
{
    if (queue->free_count == 0) {
        return false;
    }
    uint16_t slot = queue->free[--queue->free_count];
    struct nvme_sqe entry = *command;
    entry.cid = slot;
    if (data) {
        aim(queue, slot, data, bytes, &entry);
    }
    queue->users[slot] = user;
    queue->sq[queue->tail] = entry;
    queue->tail = (uint16_t)((queue->tail + 1) % queue->entries);
    return true;
}

static void wake_device(struct csd_client *c)
{
    const uint64_t one = 1;
    while (write(c->doorbell, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

void csd_queue_ring(struct csd_queue *queue)
{
    uint8_t *memory = queue->client->memory;
    RING_STORE(ring_doorbells(memory, queue->id)->sq_tail, (uint32_t)queue->tail);
    if (ring_take_awake(&ring_sleep_words(memory)->device)) {
        wake_device(queue->client);
    }
}

int csd_queue_in_flight(const struct csd_queue *queue)
{
    return queue->depth - queue->free_count;
}

static bool is_posted(const struct csd_queue *q)
{
    return (RING_LOAD(q->cq[q->head * ENTRY_WORDS + 3]) >> 16 & 1) == q->phase;
}

static void take(struct csd_queue *q, struct csd_outcome *out)
{
    uint32_t *entry = &q->cq[q->head * ENTRY_WORDS], word = RING_LOAD(entry[3]);
    uint16_t slot = (uint16_t)(word & 0xffff);
    *out = (struct csd_outcome){.status = (enum nvme_status)nvme_status_of(word >> 16),
                                .result = RING_LOAD(entry[0])};
    if (slot < q->depth) {
        out->user = q->users[slot];
        q->free[q->free_count++] = slot;
    }
    if (++q->head == q->entries) {
        q->head = 0;
        q->phase ^= 1;
    }
}

// Room in the completion queue is what the device may be waiting for.
static void release(struct csd_queue *q)
{
    uint8_t *memory = q->client->memory;
    RING_STORE(ring_doorbells(memory, q->id)->cq_head, (uint32_t)q->head);
    uint32_t *word = &ring_sleep_words(memory)->device;
    if (RING_LOAD(*word) == RING_ASLEEP_FOR_ROOM && ring_take_awake(word)) {
        wake_device(q->client);
    }
}

enum stn_status client_wait(struct csd_queue *queue)
{
    struct csd_client *c = queue->client;
    uint32_t *word = &ring_sleep_words(c->memory)->client;
    struct epoll_event events[EVENTS_MAX];
    while (!is_posted(queue)) {
        ring_fall_asleep(word, RING_ASLEEP);
        if (is_posted(queue)) {
            break;
        }
        if (RING_LOAD(ring_registers(c->memory)->csts) & RING_CSTS_FATAL) {
            return stn_fail(STN_ERR_IO, "%s: the device has stopped serving this client", c->name);
        }
        int count = epoll_wait(c->completions, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
                return stn_fail(STN_ERR_IO, "%s: the device is gone; \"stannis csd ls\" shows more",
                                c->name);
            }
        }
    }
    RING_STORE(*word, RING_AWAKE);
    return STN_OK;
}

enum stn_status csd_queue_reap(struct csd_queue *queue, bool wait, int max,
                               struct csd_outcome out[], int *count)
{
    *count = 0;
    if (wait && !is_posted(queue)) {
        enum stn_status status = client_wait(queue);
        if (status != STN_OK) {
            return status;
        }
    }
    while (*count < max && is_posted(queue)) {
        take(queue, &out[(*count)++]);
    }
    if (*count > 0) {
        release(queue);
    }
    return STN_OK;
}

enum stn_status csd_queue_call(struct csd_queue *queue, const struct nvme_sqe *command, void *data,
                               uint32_t bytes, struct csd_outcome *out)
{
    int count;
    if (!csd_queue_submit(queue, command, data, bytes, NULL)) {
        return stn_fail(STN_ERR_INTERNAL, "%s: a command while others are in flight",
                        queue->client->name);
    }
    csd_queue_ring(queue);
    return csd_queue_reap(queue, true, 1, out, &count);
}

struct nvme_sqe csd_command(enum nvme_io_opcode opcode, uint32_t nsid, uint64_t first,
                            uint32_t blocks)
{
    return (struct nvme_sqe){.opcode = (uint8_t)opcode,
                             .nsid = nsid,
                             .cdw10 = (uint32_t)first,
                             .cdw11 = (uint32_t)(first >> 32),
                             .cdw12 = blocks > 0 ? blocks - 1 : 0};
}
