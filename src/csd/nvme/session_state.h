// SPDX-License-Identifier: Apache-2.0
// A session from inside, for this folder.
#ifndef CSD_NVME_SESSION_STATE_H
#define CSD_NVME_SESSION_STATE_H

#include "csd/nvme/ring.h"
#include "csd/nvme/session.h"

enum { SESSION_REQUESTS = 128 };

struct session_sq {
    bool live;
    int cq;
    uint16_t size, head;
    uint64_t at;
    int in_flight;
    struct nvme_request *deletion; // waits until nothing is in flight; NULL: none
    uint64_t cids[65536 / 64];     // that are in flight
};

struct session_cq {
    bool live;
    uint16_t size, tail, freed; // freed: the client's head as of the last look
    uint16_t claimed;           // entries that are posted and not freed, or will be posted
    uint8_t phase;
    uint64_t at;
    int users; // submission queues
};

struct nvme_session {
    struct nvme_session_config config;
    bool fatal, closed;
    uint8_t host_id[NVME_HOST_ID_BYTES];
    bool has_host_id;

    pthread_mutex_t lock; // of what follows
    struct session_sq sqs[RING_QUEUES_MAX];
    struct session_cq cqs[RING_QUEUES_MAX];
    struct nvme_request *free;
    int in_flight;
    bool starved; // commands wait for a free request
    struct nvme_request requests[SESSION_REQUESTS];
};

// Interprets a command with the subsystem's lock held: what it returns completes it, unless
// request->submit is set.
enum nvme_status nvme_admin_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                    struct nvme_request *request);
enum nvme_status nvme_io_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                 struct nvme_request *request);

// Parts of the above, one file each.
enum nvme_status nvme_identify(struct nvme_session *session, const struct nvme_sqe *sqe);
enum nvme_status nvme_get_log(struct nvme_session *session, const struct nvme_sqe *sqe,
                              struct nvme_request *request);
enum nvme_status nvme_get_features(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request);
enum nvme_status nvme_set_features(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request);
enum nvme_status nvme_namespace_management(struct nvme_session *session, const struct nvme_sqe *sqe,
                                           struct nvme_request *request);
enum nvme_status nvme_namespace_attachment(struct nvme_session *session, const struct nvme_sqe *sqe,
                                           struct nvme_request *request);
enum nvme_status nvme_reservation_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                          struct nvme_namespace *ns);
enum nvme_status session_create_cq(struct nvme_session *session, const struct nvme_sqe *sqe);
enum nvme_status session_create_sq(struct nvme_session *session, const struct nvme_sqe *sqe);
enum nvme_status session_delete_cq(struct nvme_session *session, const struct nvme_sqe *sqe);
enum nvme_status session_delete_sq(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request);

// Between our memory and a command's data pointer, at once: for structures of admin commands.
enum nvme_status session_give(const struct nvme_session *session, const struct nvme_sqe *sqe,
                              const void *bytes, uint32_t count);
enum nvme_status session_take(const struct nvme_session *session, const struct nvme_sqe *sqe,
                              uint32_t count, void *out);

// Has the back end keep a namespace's tag as it is now.
static inline void session_keep_tag(struct nvme_request *request, const struct nvme_namespace *ns,
                                    enum nvme_status (*done)(struct nvme_request *request,
                                                             enum nvme_status status))
{
    request->op = NVME_OP_TAG;
    request->store_id = ns->store_id;
    request->tag = ns->tag;
    request->done = done;
    request->submit = true;
}

static inline const uint8_t *session_host(const struct nvme_session *session)
{
    return session->has_host_id ? session->host_id : NULL;
}

#endif
