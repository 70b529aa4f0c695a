// SPDX-License-Identifier: Apache-2.0
#include "csd/ram/ram.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NAMESPACES_MAX = 64, OPS = NVME_OP_HEALTH + 1 };

struct ram_backend {
    struct nvme_backend base;
    struct {
        uint8_t *bytes; // NULL: deleted
        uint64_t blocks;
    } namespaces[NAMESPACES_MAX]; // [id − 1]
    uint32_t count;               // ids given out
    enum nvme_status failures[OPS];
    struct nvme_health health;
    uint64_t flushes;
};

static uint8_t *place(struct ram_backend *ram, uint32_t id, uint64_t block)
{
    return ram->namespaces[id - 1].bytes + (block << NVME_BLOCK_SHIFT);
}

// Untouched memory reads as zeros and takes no room.
static void *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static enum nvme_status create(struct ram_backend *ram, struct nvme_request *r)
{
    if (ram->count == NAMESPACES_MAX) {
        return NVME_NO_NAMESPACE_ID;
    }
    uint8_t *bytes = map(r->count << NVME_BLOCK_SHIFT);
    if (!bytes) {
        return NVME_NAMESPACE_CAPACITY;
    }
    ram->namespaces[ram->count].bytes = bytes;
    ram->namespaces[ram->count].blocks = r->count;
    r->store_id = ++ram->count;
    return NVME_SUCCESS;
}

bool ram_backend_make(struct ram_backend *ram, uint64_t blocks, int count)
{
    struct nvme_request request = {.count = blocks};
    bool well = true;
    for (int i = 0; i < count && well; i++) {
        well = create(ram, &request) == NVME_SUCCESS;
    }
    return well;
}

static void delete_namespace(struct ram_backend *ram, uint32_t id)
{
    munmap(ram->namespaces[id - 1].bytes, ram->namespaces[id - 1].blocks << NVME_BLOCK_SHIFT);
    ram->namespaces[id - 1].bytes = NULL;
}

static enum nvme_status perform(struct ram_backend *ram, struct nvme_request *r)
{
    switch (r->op) {
    case NVME_OP_READ:
        nvme_data_scatter(r->memory, &r->data, 0, r->data.bytes, place(ram, r->store_id, r->first));
        ram->health.units_read += r->count;
        break;
    case NVME_OP_WRITE:
        nvme_data_gather(r->memory, &r->data, 0, r->data.bytes, place(ram, r->store_id, r->first));
        ram->health.units_written += r->count;
        break;
    case NVME_OP_TRIM:
        for (int i = 0; i < r->range_count; i++) {
            memset(place(ram, r->store_id, r->ranges[i].first), 0,
                   (size_t)r->ranges[i].blocks << NVME_BLOCK_SHIFT);
            ram->health.units_trimmed += r->ranges[i].blocks;
        }
        break;
    case NVME_OP_CREATE: return create(ram, r);
    case NVME_OP_DELETE: delete_namespace(ram, r->store_id); break;
    case NVME_OP_FLUSH: ram->flushes++; break;
    case NVME_OP_TAG: break; // memory forgets it anyway
    case NVME_OP_HEALTH: *r->health = ram->health; break;
    }
    ram->flushes += r->durable;
    return NVME_SUCCESS;
}

static void submit(struct nvme_backend *base, struct nvme_request *request)
{
    struct ram_backend *ram = (struct ram_backend *)base;
    enum nvme_status status = ram->failures[request->op];
    nvme_request_complete(request, status == NVME_SUCCESS ? perform(ram, request) : status);
}

enum stn_status ram_backend_create(uint64_t blocks, struct ram_backend **out)
{
    struct ram_backend *ram = calloc(1, sizeof(*ram));
    if (!ram) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a device in memory");
    }
    ram->base.submit = submit;
    ram->health = (struct nvme_health){.version = NVME_HEALTH_VERSION,
                                       .size = sizeof(ram->health),
                                       .profile = "memory",
                                       .media = "memory",
                                       .units_total = blocks};
    *out = ram;
    return STN_OK;
}

void ram_backend_destroy(struct ram_backend *ram)
{
    for (uint32_t id = 1; ram && id <= ram->count; id++) {
        if (ram->namespaces[id - 1].bytes) {
            delete_namespace(ram, id);
        }
    }
    free(ram);
}

struct nvme_backend *ram_backend_base(struct ram_backend *ram)
{
    return &ram->base;
}

void ram_backend_fail(struct ram_backend *ram, enum nvme_op op, enum nvme_status status)
{
    ram->failures[op] = status;
}

uint8_t *ram_backend_bytes(struct ram_backend *ram, uint32_t store_id)
{
    return ram->namespaces[store_id - 1].bytes;
}

uint64_t ram_backend_flushes(const struct ram_backend *ram)
{
    return ram->flushes;
}
