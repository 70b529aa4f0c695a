// SPDX-License-Identifier: Apache-2.0
// The host's side of a device: connects, makes queues, submits commands and waits for completions
// without spinning. For the command line, benches, tests and the NBD export.
//
//     csd_client_connect → csd_client_allocate, csd_queue_create … →
//     { csd_queue_submit … csd_queue_ring … csd_queue_reap } … → csd_client_close
//
// A client and its queues belong to one thread at a time; open several for several threads. A
// device that dies is noticed at once, by its end of the connection.
#ifndef CSD_CLIENT_CLIENT_H
#define CSD_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "csd/nvme/spec.h"
#include "csd/nvme/status.h"
#include "stannis/status.h"

struct csd_client;
struct csd_queue;

// `folder` is the device's, as rack/csd.0. `memory_bytes` is for queues and data.
STN_MUST_CHECK enum stn_status csd_client_connect(const char *folder, uint64_t memory_bytes,
                                                  struct csd_client **out);
// Over a connected socket, which is the client's from here on, also when it fails. `name` is for
// messages.
STN_MUST_CHECK enum stn_status csd_client_adopt(int socket, const char *name, uint64_t memory_bytes,
                                                struct csd_client **out);
void csd_client_close(struct csd_client *client); // takes NULL
const char *csd_client_name(const struct csd_client *client);
uint16_t csd_client_controller(const struct csd_client *client);

// A place in the shared memory, whole pages at a page's beginning; lasts as long as the client.
// NULL: there is not so much left.
void *csd_client_allocate(struct csd_client *client, uint64_t bytes);

// What a command came to.
struct csd_outcome {
    enum nvme_status status;
    uint32_t result;
    void *user; // as submitted
};

// One admin command with its data, copied in before and out after as `bytes` and `direction` say.
enum csd_direction { CSD_NO_DATA, CSD_TO_DEVICE, CSD_FROM_DEVICE };
enum { CSD_ADMIN_BYTES_MAX = 4096 };
STN_MUST_CHECK enum stn_status csd_admin(struct csd_client *client, const struct nvme_sqe *command,
                                         enum csd_direction direction, void *data, uint32_t bytes,
                                         struct csd_outcome *out);

// An I/O queue pair; at most `depth` commands in flight. Freed with its client.
STN_MUST_CHECK enum stn_status csd_queue_create(struct csd_client *client, int depth,
                                                struct csd_queue **out);
// Puts a command into the queue: opcode, namespace and words of it are the caller's, id and PRPs
// are made here. `data` is of csd_client_allocate, or NULL. False: `depth` are in flight already.
bool csd_queue_submit(struct csd_queue *queue, const struct nvme_sqe *command, void *data,
                      uint32_t bytes, void *user);
// Tells the device of what was submitted.
void csd_queue_ring(struct csd_queue *queue);
// Takes up to `max` completions, at least one if `wait`; *count says how many.
STN_MUST_CHECK enum stn_status csd_queue_reap(struct csd_queue *queue, bool wait, int max,
                                              struct csd_outcome out[], int *count);
int csd_queue_in_flight(const struct csd_queue *queue);
// One command from submission to completion, with nothing else in flight.
STN_MUST_CHECK enum stn_status csd_queue_call(struct csd_queue *queue,
                                              const struct nvme_sqe *command, void *data,
                                              uint32_t bytes, struct csd_outcome *out);

// "rack/csd.0: WHAT: namespace is write protected", as stn_fail.
enum stn_status csd_client_refused(const struct csd_client *client, const char *what,
                                   enum nvme_status status);

// Commands with a range of blocks.
struct nvme_sqe csd_command(enum nvme_io_opcode opcode, uint32_t nsid, uint64_t first,
                            uint32_t blocks);

#endif
