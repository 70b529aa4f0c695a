// SPDX-License-Identifier: Apache-2.0
// Set and Get Features: the volatile write cache, the number of queues, the host identifier and
// write protection of a namespace. None is saved by the select field; write protection lasts.
#include <string.h>

#include "csd/nvme/session_state.h"

enum {
    SELECT_CURRENT = 0,
    SELECT_CAPABILITIES = 3,
    CAN_CHANGE = 4,
    OF_NAMESPACE = 2,
    SHORT_ID_BYTES = 8,
};

static const uint32_t save_bit = UINT32_C(1) << 31;

static uint32_t queue_numbers(void)
{
    return (RING_QUEUES_MAX - 2) | (uint32_t)(RING_QUEUES_MAX - 2) << 16;
}

static enum nvme_status get_host_id(struct nvme_session *s, const struct nvme_sqe *sqe, bool now)
{
    uint8_t id[NVME_HOST_ID_BYTES] = {0};
    if (now) {
        memcpy(id, s->host_id, sizeof(id));
    }
    return session_give(s, sqe, id, sqe->cdw11 & 1 ? NVME_HOST_ID_BYTES : SHORT_ID_BYTES);
}

enum nvme_status nvme_get_features(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request)
{
    uint32_t select = sqe->cdw10 >> 8 & 7;
    uint8_t feature = (uint8_t)(sqe->cdw10 & 0xff);
    bool now = select == SELECT_CURRENT, capabilities = select == SELECT_CAPABILITIES;
    if (select > SELECT_CAPABILITIES) {
        return NVME_INVALID_FIELD;
    }
    struct nvme_namespace *ns;
    enum nvme_status status;
    switch (feature) {
    case NVME_FEATURE_WRITE_CACHE:
        request->result = capabilities ? CAN_CHANGE
                          : now        ? session->config.subsystem->write_cache
                                       : 1;
        return NVME_SUCCESS;
    case NVME_FEATURE_QUEUES:
        request->result = capabilities ? CAN_CHANGE : queue_numbers();
        return NVME_SUCCESS;
    case NVME_FEATURE_HOST_ID:
        request->result = capabilities ? CAN_CHANGE : 0;
        return capabilities ? NVME_SUCCESS : get_host_id(session, sqe, now);
    case NVME_FEATURE_WRITE_PROTECT:
        status = nvme_namespace_active(session->config.subsystem, session->config.controller,
                                       sqe->nsid, &ns);
        if (status == NVME_SUCCESS) {
            request->result = capabilities ? CAN_CHANGE | OF_NAMESPACE
                              : now        ? ns->tag.write_protect
                                           : 0;
        }
        return status;
    default: return NVME_INVALID_FIELD;
    }
}

static enum nvme_status set_host_id(struct nvme_session *s, const struct nvme_sqe *sqe)
{
    uint8_t id[NVME_HOST_ID_BYTES] = {0};
    static const uint8_t none[NVME_HOST_ID_BYTES];
    uint32_t bytes = sqe->cdw11 & 1 ? NVME_HOST_ID_BYTES : SHORT_ID_BYTES;
    enum nvme_status status = session_take(s, sqe, bytes, id);
    if (status) {
        return status;
    }
    // It may be given once: registrations hang on it.
    if (s->has_host_id && memcmp(id, s->host_id, sizeof(id)) != 0) {
        return NVME_SEQUENCE;
    }
    if (memcmp(id, none, sizeof(id)) == 0) {
        return NVME_INVALID_FIELD;
    }
    memcpy(s->host_id, id, sizeof(id));
    s->has_host_id = true;
    return NVME_SUCCESS;
}

static enum nvme_status keep_protection(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_subsystem *subsystem = r->session->config.subsystem;
    pthread_mutex_lock(&subsystem->lock);
    struct nvme_namespace *ns = &subsystem->namespaces[r->nsid - 1];
    // If it could not be written down, it does not hold either.
    if (status != NVME_SUCCESS && ns->store_id == r->store_id) {
        ns->tag.write_protect = (uint8_t)r->argument;
    }
    pthread_mutex_unlock(&subsystem->lock);
    return status;
}

static enum nvme_status set_protection(struct nvme_session *s, const struct nvme_sqe *sqe,
                                       struct nvme_request *r)
{
    struct nvme_namespace *ns;
    uint32_t state = sqe->cdw11 & 7;
    enum nvme_status status =
        nvme_namespace_active(s->config.subsystem, s->config.controller, sqe->nsid, &ns);
    if (status) {
        return status;
    }
    if (state > 1) { // until the next power cycle, and for ever: not offered (NWPC)
        return NVME_INVALID_FIELD;
    }
    r->argument = ns->tag.write_protect;
    ns->tag.write_protect = (uint8_t)state;
    session_keep_tag(r, ns, keep_protection);
    return NVME_SUCCESS;
}

enum nvme_status nvme_set_features(struct nvme_session *session, const struct nvme_sqe *sqe,
                                   struct nvme_request *request)
{
    uint8_t feature = (uint8_t)(sqe->cdw10 & 0xff);
    if (sqe->cdw10 & save_bit) {
        return NVME_NOT_SAVEABLE;
    }
    switch (feature) {
    case NVME_FEATURE_WRITE_CACHE:
        session->config.subsystem->write_cache = sqe->cdw11 & 1;
        request->op = NVME_OP_FLUSH; // what is in the cache when it is turned off
        request->submit = !(sqe->cdw11 & 1);
        return NVME_SUCCESS;
    case NVME_FEATURE_QUEUES:
        if ((sqe->cdw11 & 0xffff) == 0xffff || sqe->cdw11 >> 16 == 0xffff) {
            return NVME_INVALID_FIELD;
        }
        request->result = queue_numbers();
        return NVME_SUCCESS;
    case NVME_FEATURE_HOST_ID: return set_host_id(session, sqe);
    case NVME_FEATURE_WRITE_PROTECT: return set_protection(session, sqe, request);
    default: return NVME_INVALID_FIELD;
    }
}
