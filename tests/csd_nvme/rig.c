// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <string.h>

void rig_start(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    assert_int_equal(ram_backend_create(RIG_BLOCKS, &rig->ram), STN_OK);
    rig->subsystem.backend = ram_backend_base(rig->ram);
    rig->subsystem.blocks_total = RIG_BLOCKS;
    strcpy(rig->subsystem.serial, "RIG0");
    strcpy(rig->subsystem.model, "memory");
    assert_int_equal(nvme_subsystem_init(&rig->subsystem), STN_OK);
    assert_int_equal(csd_server_start(&rig->subsystem, -1, &rig->server), STN_OK);
}

void rig_stop(struct rig *rig)
{
    csd_server_stop(rig->server);
    nvme_subsystem_fini(&rig->subsystem);
    ram_backend_destroy(rig->ram);
}

struct csd_client *rig_client(struct rig *rig, uint16_t controller)
{
    struct csd_client *client;
    int fd;
    assert_int_equal(csd_server_connect(rig->server, controller, &fd), STN_OK);
    assert_int_equal(csd_client_adopt(fd, "rig", RIG_MEMORY, &client), STN_OK);
    assert_int_equal(csd_client_controller(client), controller);
    return client;
}

struct csd_queue *rig_queue(struct csd_client *client, int depth)
{
    struct csd_queue *queue;
    assert_int_equal(csd_queue_create(client, depth, &queue), STN_OK);
    return queue;
}

uint32_t rig_namespace(struct csd_client *client, const char *name, uint64_t blocks, bool shared)
{
    uint32_t nsid;
    assert_int_equal(csd_namespace_create(client, name, blocks * NVME_BLOCK_BYTES, shared, &nsid),
                     STN_OK);
    return nsid;
}

enum nvme_status rig_call(struct csd_queue *queue, struct nvme_sqe command, void *data,
                          uint32_t bytes)
{
    struct csd_outcome outcome;
    assert_int_equal(csd_queue_call(queue, &command, data, bytes, &outcome), STN_OK);
    return outcome.status;
}

enum nvme_status rig_admin(struct csd_client *client, struct nvme_sqe command,
                           enum csd_direction direction, void *data, uint32_t bytes)
{
    struct csd_outcome outcome;
    assert_int_equal(csd_admin(client, &command, direction, data, bytes, &outcome), STN_OK);
    return outcome.status;
}

uint32_t rig_result(struct csd_client *client, struct nvme_sqe command)
{
    struct csd_outcome outcome;
    assert_int_equal(csd_admin(client, &command, CSD_NO_DATA, NULL, 0, &outcome), STN_OK);
    assert_int_equal(outcome.status, NVME_SUCCESS);
    return outcome.result;
}
