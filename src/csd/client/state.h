// SPDX-License-Identifier: Apache-2.0
// A client from inside, for this folder.
#ifndef CSD_CLIENT_STATE_H
#define CSD_CLIENT_STATE_H

#include "csd/client/client.h"
#include "csd/nvme/ring.h"

struct csd_queue {
    struct csd_client *client;
    int id, depth, entries;
    struct nvme_sqe *sq;
    uint32_t *cq; // four words an entry
    uint16_t tail, head;
    uint8_t phase;
    uint8_t *lists; // a page of PRPs for each slot
    uint16_t *free; // slots, which are command ids
    int free_count;
    void **users; // by slot
};

struct csd_client {
    char *name;
    uint16_t controller;
    int socket, doorbell, completions;
    uint8_t *memory;
    uint64_t bytes, allocated;
    uint8_t *scratch; // a page for admin commands' data
    struct csd_queue queues[RING_QUEUES_MAX];
    int queue_count;
};

// Shakes hands over client->socket.
STN_MUST_CHECK enum stn_status client_greet(struct csd_client *client, uint64_t memory_bytes);
// Sets up a queue whose memory is there already.
STN_MUST_CHECK enum stn_status client_queue_init(struct csd_client *client, int id, int depth,
                                                 int entries, void *sq, void *cq);
// Sleeps until a completion came or the device is gone.
STN_MUST_CHECK enum stn_status client_wait(struct csd_queue *queue);

#endif
