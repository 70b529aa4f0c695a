// SPDX-License-Identifier: Apache-2.0
#include "csd/client/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "csd/client/state.h"

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

void csd_client_close(struct csd_client *client)
{
    if (!client) {
        return;
    }
    if (client->memory) {
        munmap(client->memory, client->bytes);
    }
    for (int i = 0; i < client->queue_count; i++) {
        free(client->queues[i].free);
        free(client->queues[i].users);
    }
    close_fd(client->completions);
    close_fd(client->doorbell);
    close_fd(client->socket);
    free(client->name);
    free(client);
}

// The admin queue's place is fixed; a page of what is free is its data's.
static enum stn_status set_up_admin(struct csd_client *c)
{
    c->allocated = RING_FREE_AT;
    c->scratch = csd_client_allocate(c, NVME_PAGE_BYTES);
    return client_queue_init(c, 0, 1, RING_ADMIN_ENTRIES, c->memory + RING_ADMIN_SQ_AT,
                             c->memory + RING_ADMIN_CQ_AT);
}

enum stn_status csd_client_adopt(int socket, const char *name, uint64_t memory_bytes,
                                 struct csd_client **out)
{
    struct csd_client *c = calloc(1, sizeof(*c));
    char *copy = strdup(name);
    if (!c || !copy) {
        free(c);
        free(copy);
        close(socket);
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for a connection", name);
    }
    *c = (struct csd_client){.name = copy, .socket = socket, .doorbell = -1, .completions = -1};
    uint64_t least = RING_BYTES_MIN - RING_FREE_AT;
    enum stn_status status =
        client_greet(c, NVME_PAGE_BYTES + (memory_bytes > least ? memory_bytes : least));
    if (status == STN_OK) {
        status = set_up_admin(c);
    }
    if (status != STN_OK) {
        csd_client_close(c);
        return status;
    }
    *out = c;
    return STN_OK;
}

const char *csd_client_name(const struct csd_client *client)
{
    return client->name;
}

uint16_t csd_client_controller(const struct csd_client *client)
{
    return client->controller;
}

void *csd_client_allocate(struct csd_client *client, uint64_t bytes)
{
    uint64_t whole = (bytes + NVME_PAGE_BYTES - 1) / NVME_PAGE_BYTES * NVME_PAGE_BYTES;
    if (whole < bytes || whole > client->bytes - client->allocated) {
        return NULL;
    }
    void *place = client->memory + client->allocated;
    client->allocated += whole;
    return place;
}

// What our devices mean by a status whose words leave that open.
static const char *hint_of(enum nvme_status status)
{
    switch (status) {
    case NVME_WRITE_FAULT: return " (the flash is worn out: it can only be read)";
    case NVME_CAPACITY: return " (the disk under the device is full)";
    default: return "";
    }
}

enum stn_status csd_client_refused(const struct csd_client *client, const char *what,
                                   enum nvme_status status)
{
    enum stn_status kind = STN_ERR_INVALID;
    switch (status) {
    case NVME_UNRECOVERED_READ:
    case NVME_WRITE_FAULT:
    case NVME_INTERNAL: kind = STN_ERR_IO; break;
    case NVME_CAPACITY:
    case NVME_NAMESPACE_CAPACITY: kind = STN_ERR_NO_SPACE; break;
    default: break;
    }
    return stn_fail(kind, "%s: %s: %s%s", client->name, what, nvme_status_text(status),
                    hint_of(status));
}

enum stn_status csd_admin(struct csd_client *client, const struct nvme_sqe *command,
                          enum csd_direction direction, void *data, uint32_t bytes,
                          struct csd_outcome *out)
{
    if (bytes > CSD_ADMIN_BYTES_MAX) {
        return stn_fail(STN_ERR_INTERNAL, "an admin command with %u bytes of data", bytes);
    }
    if (direction == CSD_TO_DEVICE) {
        memcpy(client->scratch, data, bytes);
    }
    enum stn_status status = csd_queue_call(&client->queues[0], command,
                                            direction == CSD_NO_DATA ? NULL : client->scratch,
                                            direction == CSD_NO_DATA ? 0 : bytes, out);
    if (status == STN_OK && out->status == NVME_SUCCESS && direction == CSD_FROM_DEVICE) {
        memcpy(data, client->scratch, bytes);
    }
    return status;
}
