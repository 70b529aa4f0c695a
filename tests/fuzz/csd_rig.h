// SPDX-License-Identifier: Apache-2.0
// A front end without threads for fuzz targets: one session of the host's controller over memory,
// two namespaces of its own and two that it must never reach.
#ifndef FUZZ_CSD_RIG_H
#define FUZZ_CSD_RIG_H

#include "csd/nvme/ring.h"
#include "csd/nvme/session.h"
#include "csd/ram/ram.h"

enum { CSD_RIG_BYTES = 96 << 10, CSD_RIG_BLOCKS = 16 };

struct csd_rig {
    struct nvme_subsystem subsystem;
    struct ram_backend *ram;
    struct nvme_session *session;
    uint8_t *memory; // shared with the device
};

// Made once and reset for each input.
struct csd_rig *csd_rig_begin(void);
// Checks that what is not the client's was not touched nor seen, and ends the session.
void csd_rig_end(struct csd_rig *rig);
// The next command of an input and the queue it is for. False: nothing more is there.
bool csd_rig_next(const uint8_t **data, size_t *size, int *queue, struct nvme_sqe *sqe);
// Puts a command at the tail of a queue and rings.
void csd_rig_submit(struct csd_rig *rig, int queue, const struct nvme_sqe *sqe);
// Lets the device work until it has nothing to do.
void csd_rig_run(struct csd_rig *rig);

#endif
