// SPDX-License-Identifier: Apache-2.0
// Connections to a device that nbdkit's threads take and put back, since each is one thread's at a
// time.
#ifndef TOOLS_NBDKIT_POOL_H
#define TOOLS_NBDKIT_POOL_H

#include "csd/client/namespaces.h"

enum { POOL_DATA_BYTES = NVME_TRANSFER_PAGES * NVME_PAGE_BYTES };

struct pool;

struct pool_member {
    struct csd_client *client;
    struct csd_queue *queue;
    uint8_t *data; // [POOL_DATA_BYTES] shared with the device
    struct pool_member *next;
};

// Opens the first connection, and finds the namespace.
STN_MUST_CHECK enum stn_status pool_create(const char *device, const char *name, struct pool **out);
void pool_destroy(struct pool *pool); // takes NULL
const struct csd_namespace *pool_namespace(const struct pool *pool);
// NULL: there is none, and another connection failed, which was said.
struct pool_member *pool_take(struct pool *pool);
void pool_put(struct pool *pool, struct pool_member *member);

#endif
