// SPDX-License-Identifier: Apache-2.0
// A front end over memory with its server's thread, and clients of both controllers.
#ifndef TESTS_CSD_NVME_RIG_H
#define TESTS_CSD_NVME_RIG_H

#include "cmocka_all.h"
#include "csd/client/namespaces.h"
#include "csd/nvme/ring.h"
#include "csd/ram/ram.h"
#include "csd/server/server.h"

enum { RIG_BLOCKS = 4096, RIG_MEMORY = 4 << 20 };

struct rig {
    struct ram_backend *ram;
    struct nvme_subsystem subsystem;
    struct csd_server *server;
};

void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);
struct csd_client *rig_client(struct rig *rig, uint16_t controller);
struct csd_queue *rig_queue(struct csd_client *client, int depth);
uint32_t rig_namespace(struct csd_client *client, const char *name, uint64_t blocks, bool shared);

// One command; its status.
enum nvme_status rig_call(struct csd_queue *queue, struct nvme_sqe command, void *data,
                          uint32_t bytes);
enum nvme_status rig_admin(struct csd_client *client, struct nvme_sqe command,
                           enum csd_direction direction, void *data, uint32_t bytes);
// The result word of an admin command that succeeds.
uint32_t rig_result(struct csd_client *client, struct nvme_sqe command);

#endif
