// SPDX-License-Identifier: Apache-2.0
// For bench/csd_speed: 4 KiB random reads a second of the front end alone (over plain memory) and
// of a whole device on flash in memory, each with its server's thread. Prints one JSON object.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csd/client/namespaces.h"
#include "csd/device/device.h"
#include "csd/load/load.h"
#include "csd/media/memory.h"
#include "csd/ram/ram.h"
#include "csd/server/server.h"

enum { BLOCKS = 16384, MEMORY = 1 << 21, FILL_BLOCKS = 64, DEVICE_BYTES = 128 << 20 };

// A connection to either.
struct target {
    struct csd_server *server;
    struct csd_device *device;
};

static int connect_to(const struct target *t)
{
    int fd = -1;
    enum stn_status status = t->device ? csd_device_connect(t->device, NVME_CONTROLLER_HOST, &fd)
                                       : csd_server_connect(t->server, NVME_CONTROLLER_HOST, &fd);
    if (status != STN_OK) {
        exit(1);
    }
    return fd;
}

static void must(enum stn_status status)
{
    if (status != STN_OK) {
        exit(1);
    }
}

// A namespace, written full.
static uint32_t prepare(const struct target *t)
{
    struct csd_client *client;
    struct csd_queue *queue;
    uint32_t nsid;
    must(csd_client_adopt(connect_to(t), "bench", MEMORY, &client));
    must(csd_namespace_create(client, "bench", (uint64_t)BLOCKS * NVME_BLOCK_BYTES, true, &nsid));
    must(csd_queue_create(client, 1, &queue));
    uint8_t *data = csd_client_allocate(client, FILL_BLOCKS * NVME_BLOCK_BYTES);
    memset(data, 0x5a, FILL_BLOCKS * NVME_BLOCK_BYTES);
    for (uint64_t at = 0; at < BLOCKS; at += FILL_BLOCKS) {
        struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, at, FILL_BLOCKS);
        struct csd_outcome outcome;
        must(csd_queue_call(queue, &write, data, FILL_BLOCKS * NVME_BLOCK_BYTES, &outcome));
    }
    csd_client_close(client);
    return nsid;
}

static void measure(const struct target *t, uint32_t nsid, const char *name, double seconds)
{
    static const int depths[] = {1, 32};
    for (int i = 0; i < 2; i++) {
        struct load_result result;
        const struct load_config config = {.socket = connect_to(t),
                                           .nsid = nsid,
                                           .blocks = BLOCKS,
                                           .random = true,
                                           .block_bytes = NVME_BLOCK_BYTES,
                                           .depth = depths[i],
                                           .seconds = seconds,
                                           .seed = 1};
        must(load_run(&config, &result));
        printf("\"%s_qd%d\": %.0f", name, depths[i], (double)result.accesses / result.seconds);
        printf("%s", i == 0 ? ", " : "");
    }
}

static void measure_front(double seconds)
{
    struct ram_backend *ram;
    static struct nvme_subsystem subsystem;
    struct target t = {NULL, NULL};
    must(ram_backend_create(BLOCKS, &ram));
    subsystem.backend = ram_backend_base(ram);
    subsystem.blocks_total = BLOCKS;
    must(nvme_subsystem_init(&subsystem));
    must(csd_server_start(&subsystem, -1, &t.server));
    measure(&t, prepare(&t), "front", seconds);
    csd_server_stop(t.server);
    nvme_subsystem_fini(&subsystem);
    ram_backend_destroy(ram);
}

static void measure_device(double seconds)
{
    struct csd_profile profile;
    struct target t = {NULL, NULL};
    struct csd_device_parts parts = {
        .profile = "newport", .media = "memory", .serial = "bench", .listener = -1};
    must(csd_profile_find("newport", &profile));
    profile.flash.ecc = FLASH_ECC_CRC;
    profile.flash.error_rate = profile.flash.error_rate_worn = 0;
    must(flash_profile_fit(&profile.flash, DEVICE_BYTES, "newport"));
    must(media_memory_create(&profile.flash.geometry, &parts.medium));
    must(flash_format(parts.medium, &profile.flash));
    must(flash_keys_open(NULL, true, &parts.keys));
    must(csd_device_start(&parts, &t.device));
    measure(&t, prepare(&t), "device", seconds);
    must(csd_device_close(t.device));
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    printf("{");
    measure_front(seconds);
    printf(", ");
    measure_device(seconds);
    printf("}\n");
    return 0;
}
