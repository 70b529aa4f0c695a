// SPDX-License-Identifier: Apache-2.0
// nbdkit's plug-in for a public namespace of a device: `stannis csd nbd` starts nbdkit with it. A
// client's connection has a pool of connections to the device.
#define NBDKIT_API_VERSION 2
#include <errno.h>
#include <nbdkit-plugin.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "stannis/log.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

enum { DEALLOCATE = 4, ZEROES_MAX = 65536, FORCE_UNIT_ACCESS = 1 << 30 };

static char *device, *name;

static void say(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    if (level == STN_LOG_ERROR) {
        nbdkit_error("%s", line);
    } else {
        nbdkit_debug("%s", line);
    }
}

static void plugin_load(void)
{
    stn_log_set_sink(say, NULL);
}

static void plugin_unload(void)
{
    free(device);
    free(name);
}

static int plugin_config(const char *key, const char *value)
{
    char **to = strcmp(key, "device") == 0 ? &device : strcmp(key, "namespace") == 0 ? &name : NULL;
    if (!to) {
        nbdkit_error("unknown parameter %s: device=FOLDER and namespace=NAME are known", key);
        return -1;
    }
    free(*to);
    *to = strdup(value);
    return *to ? 0 : -1;
}

static int plugin_config_complete(void)
{
    if (!device || !name) {
        nbdkit_error("device=FOLDER and namespace=NAME are needed");
        return -1;
    }
    return 0;
}

static void *plugin_open(int readonly)
{
    struct pool *pool;
    (void)readonly;
    return pool_create(device, name, &pool) == STN_OK ? pool : NULL;
}

static void plugin_close(void *handle)
{
    pool_destroy(handle);
}

static int64_t plugin_get_size(void *handle)
{
    return (int64_t)(pool_namespace(handle)->blocks * NVME_BLOCK_BYTES);
}

static int plugin_block_size(void *handle, uint32_t *minimum, uint32_t *preferred,
                             uint32_t *maximum)
{
    (void)handle;
    *minimum = *preferred = NVME_BLOCK_BYTES;
    *maximum = POOL_DATA_BYTES;
    return 0;
}

static int plugin_can_write(void *handle)
{
    return !pool_namespace(handle)->write_protected;
}

static int plugin_yes(void *handle)
{
    (void)handle;
    return 1;
}

static int plugin_can_fua(void *handle)
{
    (void)handle;
    return NBDKIT_FUA_NATIVE;
}

static int error_of(enum nvme_status status)
{
    switch (status) {
    case NVME_LBA_RANGE: return EINVAL;
    case NVME_CAPACITY: return ENOSPC;
    case NVME_WRITE_PROTECTED:
    case NVME_RESERVED: return EPERM;
    default: return EIO;
    }
}

// One command; 0, or −1 with nbdkit's error set.
static int call(struct pool_member *m, const char *what, const struct nvme_sqe *command,
                uint32_t bytes)
{
    struct csd_outcome outcome;
    if (csd_queue_call(m->queue, command, bytes ? m->data : NULL, bytes, &outcome) != STN_OK) {
        nbdkit_set_error(EIO);
        return -1;
    }
    if (outcome.status != NVME_SUCCESS) {
        enum stn_status said = csd_client_refused(m->client, what, outcome.status);
        (void)said;
        nbdkit_set_error(error_of(outcome.status));
        return -1;
    }
    return 0;
}

// Accesses of at most `most` bytes each, until all is done.
static int each(void *handle, enum nvme_io_opcode opcode, uint8_t *in, const uint8_t *out,
                uint64_t count, uint64_t offset, bool durable, uint64_t most)
{
    struct pool *pool = handle;
    struct pool_member *m = pool_take(pool);
    int result = m ? 0 : -1;
    for (uint64_t done = 0; done < count && result == 0;) {
        uint64_t bytes = count - done < most ? count - done : most;
        uint32_t moved = in || out ? (uint32_t)bytes : 0;
        struct nvme_sqe command =
            csd_command(opcode, pool_namespace(pool)->nsid, (offset + done) / NVME_BLOCK_BYTES,
                        (uint32_t)(bytes / NVME_BLOCK_BYTES));
        command.cdw12 |= durable ? (uint32_t)FORCE_UNIT_ACCESS : 0;
        if (out) {
            memcpy(m->data, out + done, bytes);
        }
        result = call(m, opcode == NVME_IO_READ ? "read" : "write", &command, moved);
        if (in && result == 0) {
            memcpy(in + done, m->data, bytes);
        }
        done += bytes;
    }
    if (m) {
        pool_put(pool, m);
    }
    return result;
}

static int plugin_pread(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t flags)
{
    (void)flags;
    return each(handle, NVME_IO_READ, buffer, NULL, count, offset, false, POOL_DATA_BYTES);
}

static int plugin_pwrite(void *handle, const void *buffer, uint32_t count, uint64_t offset,
                         uint32_t flags)
{
    return each(handle, NVME_IO_WRITE, NULL, buffer, count, offset, flags & NBDKIT_FLAG_FUA,
                POOL_DATA_BYTES);
}

static int plugin_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    return each(handle, NVME_IO_WRITE_ZEROES, NULL, NULL, count, offset, flags & NBDKIT_FLAG_FUA,
                (uint64_t)ZEROES_MAX * NVME_BLOCK_BYTES);
}

static int plugin_flush(void *handle, uint32_t flags)
{
    struct pool *pool = handle;
    struct pool_member *m = pool_take(pool);
    (void)flags;
    if (!m) {
        return -1;
    }
    const struct nvme_sqe command = csd_command(NVME_IO_FLUSH, pool_namespace(pool)->nsid, 0, 0);
    int result = call(m, "flush", &command, 0);
    pool_put(pool, m);
    return result;
}

static int plugin_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct pool *pool = handle;
    struct pool_member *m = pool_take(pool);
    if (!m) {
        return -1;
    }
    const struct nvme_dataset_range range = {.first = offset / NVME_BLOCK_BYTES,
                                             .blocks = count / NVME_BLOCK_BYTES};
    const struct nvme_sqe command = {.opcode = NVME_IO_DATASET_MANAGEMENT,
                                     .nsid = pool_namespace(pool)->nsid,
                                     .cdw11 = DEALLOCATE};
    memcpy(m->data, &range, sizeof(range));
    int result = call(m, "trim", &command, sizeof(range));
    pool_put(pool, m);
    return result == 0 && (flags & NBDKIT_FLAG_FUA) ? plugin_flush(handle, 0) : result;
}

static struct nbdkit_plugin plugin = {
    .name = "stannis",
    .longname = "A namespace of a Stannis CSD",
    .load = plugin_load,
    .unload = plugin_unload,
    .config = plugin_config,
    .config_complete = plugin_config_complete,
    .config_help = "device=FOLDER     the device, as rack/csd.0\n"
                   "namespace=NAME    a public namespace of it",
    .open = plugin_open,
    .close = plugin_close,
    .get_size = plugin_get_size,
    .block_size = plugin_block_size,
    .can_write = plugin_can_write,
    .can_flush = plugin_yes,
    .can_trim = plugin_yes,
    .can_zero = plugin_yes,
    .can_fast_zero = plugin_yes,
    .can_multi_conn = plugin_yes,
    .can_fua = plugin_can_fua,
    .pread = plugin_pread,
    .pwrite = plugin_pwrite,
    .flush = plugin_flush,
    .trim = plugin_trim,
    .zero = plugin_zero,
};

struct nbdkit_plugin *plugin_init(void); // nbdkit looks it up by name
NBDKIT_REGISTER_PLUGIN(plugin)
