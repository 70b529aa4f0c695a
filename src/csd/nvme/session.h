// SPDX-License-Identifier: Apache-2.0
// One client of a controller: its shared memory, its queues and its commands in flight. What a
// client can do wrong hurts its own session only; a doorbell with an impossible value sets the
// controller's fatal status for it, and nothing is taken from its queues any more.
//
//     create → { run | doze } … → close → (until idle) → destroy
//
// One thread, the front end's, calls these; completions come from the back end's thread.
#ifndef CSD_NVME_SESSION_H
#define CSD_NVME_SESSION_H

#include "csd/nvme/subsystem.h"

struct nvme_session_config {
    struct nvme_subsystem *subsystem;
    uint16_t controller;
    struct nvme_memory memory; // zeros; outlives the session
    // Must not block. `interrupt` wakes the client, `wake` the thread that runs sessions. Called
    // from any thread.
    void (*interrupt)(void *context);
    void (*wake)(void *context);
    void *context;
};

STN_MUST_CHECK enum stn_status nvme_session_create(const struct nvme_session_config *config,
                                                   struct nvme_session **out);
// Takes commands from the queues and starts them, a few rounds of all queues at most; returns
// whether there were any.
bool nvme_session_run(struct nvme_session *session);
// Before the front end sleeps: from here on the client wakes it. False: there is work after all.
bool nvme_session_doze(struct nvme_session *session);
void nvme_session_awake(struct nvme_session *session);
bool nvme_session_fatal(const struct nvme_session *session);
// No more commands are taken. `wake` is called once more when the last one is complete.
void nvme_session_close(struct nvme_session *session);
bool nvme_session_idle(struct nvme_session *session);
void nvme_session_destroy(struct nvme_session *session); // takes NULL

#endif
