// SPDX-License-Identifier: Apache-2.0
// Admin commands, and what Identify tells.
#include <stdio.h>
#include <string.h>

#include "csd/nvme/session_state.h"

enum {
    VERSION = 0x00020000,
    SHARED_SUBSYSTEM = 2, // CMIC: two controllers
    IO_CONTROLLER = 1,    // CNTRLTYPE
    HOST_ID_128 = 1,      // CTRATT
    OACS_NAMESPACES = 8,  // management and attachment
    LOG_OFFSETS = 4,      // LPA: extended data
    SQES = 6 << 4 | 6,    // 64 bytes
    CQES = 4 << 4 | 4,    // 16 bytes
    ONCS = 4 | 8 | 32,    // dataset management, write zeroes, reservations
    WRITE_CACHE_ALL = 7,  // VWC: there is one; flush may name all namespaces
    WRITE_PROTECT = 1,    // NWPC
};

enum nvme_status session_give(const struct nvme_session *session, const struct nvme_sqe *sqe,
                              const void *bytes, uint32_t count)
{
    struct nvme_data data;
    enum nvme_status status =
        nvme_prp_resolve(&session->config.memory, sqe->prp1, sqe->prp2, count, &data);
    if (status == NVME_SUCCESS) {
        nvme_data_scatter(&session->config.memory, &data, 0, count, bytes);
    }
    return status;
}

enum nvme_status session_take(const struct nvme_session *session, const struct nvme_sqe *sqe,
                              uint32_t count, void *out)
{
    struct nvme_data data;
    enum nvme_status status =
        nvme_prp_resolve(&session->config.memory, sqe->prp1, sqe->prp2, count, &data);
    if (status == NVME_SUCCESS) {
        nvme_data_gather(&session->config.memory, &data, 0, count, out);
    }
    return status;
}

// As the specification has texts: padded with spaces, without a zero.
static void put_text(char *out, size_t size, const char *text)
{
    memset(out, ' ', size);
    memcpy(out, text, strnlen(text, size));
}

static void describe_controller(struct nvme_session *s, struct nvme_identify_controller *c)
{
    const struct nvme_subsystem *subsystem = s->config.subsystem;
    *c = (struct nvme_identify_controller){.cmic = SHARED_SUBSYSTEM,
                                           .mdts = NVME_TRANSFER_SHIFT,
                                           .cntlid = s->config.controller,
                                           .version = VERSION,
                                           .ctratt = HOST_ID_128,
                                           .cntrltype = IO_CONTROLLER,
                                           .oacs = OACS_NAMESPACES,
                                           .lpa = LOG_OFFSETS,
                                           .elpe = NVME_ERRORS_KEPT - 1,
                                           .sqes = SQES,
                                           .cqes = CQES,
                                           .maxcmd = SESSION_REQUESTS,
                                           .nn = NVME_NAMESPACES_MAX,
                                           .mnan = NVME_NAMESPACES_MAX,
                                           .oncs = ONCS,
                                           .vwc = WRITE_CACHE_ALL,
                                           .nwpc = WRITE_PROTECT};
    put_text(c->serial, sizeof(c->serial), subsystem->serial);
    put_text(c->model, sizeof(c->model), subsystem->model);
    put_text(c->firmware, sizeof(c->firmware), "1");
    c->tnvmcap[0] = subsystem->blocks_total << NVME_BLOCK_SHIFT;
    c->unvmcap[0] = nvme_blocks_free(subsystem) << NVME_BLOCK_SHIFT;
    snprintf(c->subnqn, sizeof(c->subnqn), "nqn.2014-08.org.nvmexpress:stannis:%s",
             subsystem->serial);
}

static void describe_namespace(const struct nvme_namespace *ns, struct nvme_identify_namespace *out)
{
    *out = (struct nvme_identify_namespace){
        .nsze = ns->blocks,
        .ncap = ns->blocks,
        .nuse = ns->blocks,
        .nmic = ns->tag.attached & NVME_SHARED ? 1 : 0,
        .rescap = 0x7e | 1 << 7, // all six types; registration keys as of 1.3
        .dlfeat = 1 | 1 << 3,    // what is deallocated reads as zeros; write zeroes does it
        .nsattr = ns->tag.write_protect,
    };
    out->nvmcap[0] = ns->blocks << NVME_BLOCK_SHIFT;
    out->lbaf[0] = NVME_BLOCK_SHIFT << 16;
    memcpy(out->nguid, ns->tag.nguid, sizeof(out->nguid));
    memcpy(out->name, ns->tag.name, sizeof(ns->tag.name));
}

static enum nvme_status identify_namespace(struct nvme_session *s, const struct nvme_sqe *sqe,
                                           bool allocated)
{
    struct nvme_identify_namespace out = {0};
    if (!nvme_namespace_valid(sqe->nsid)) {
        return NVME_INVALID_NAMESPACE;
    }
    const struct nvme_namespace *ns = &s->config.subsystem->namespaces[sqe->nsid - 1];
    bool shown = ns->state == NVME_NAMESPACE_READY &&
                 (allocated || (ns->tag.attached & nvme_attached_bit(s->config.controller)));
    if (shown) {
        describe_namespace(ns, &out);
    }
    return session_give(s, sqe, &out, sizeof(out));
}

static enum nvme_status identify_list(struct nvme_session *s, const struct nvme_sqe *sqe,
                                      bool allocated)
{
    uint32_t list[1024] = {0};
    int count = 0;
    if (sqe->nsid >= 0xfffffffe) {
        return NVME_INVALID_NAMESPACE;
    }
    for (uint32_t id = sqe->nsid + 1; nvme_namespace_valid(id); id++) {
        const struct nvme_namespace *ns = &s->config.subsystem->namespaces[id - 1];
        if (ns->state == NVME_NAMESPACE_READY &&
            (allocated || (ns->tag.attached & nvme_attached_bit(s->config.controller)))) {
            list[count++] = id;
        }
    }
    return session_give(s, sqe, list, sizeof(list));
}

static enum nvme_status identify_descriptors(struct nvme_session *s, const struct nvme_sqe *sqe)
{
    enum { TYPE_NGUID = 2, NGUID_BYTES = 16 };
    uint8_t out[4096] = {TYPE_NGUID, NGUID_BYTES};
    struct nvme_namespace *ns;
    enum nvme_status status =
        nvme_namespace_active(s->config.subsystem, s->config.controller, sqe->nsid, &ns);
    if (status) {
        return status;
    }
    memcpy(out + 4, ns->tag.nguid, NGUID_BYTES);
    return session_give(s, sqe, out, sizeof(out));
}

// Of all controllers from an id on, or of those that a namespace is attached to.
static enum nvme_status identify_controllers(struct nvme_session *s, const struct nvme_sqe *sqe,
                                             bool attached)
{
    struct nvme_controller_list list = {0};
    uint32_t from = sqe->cdw10 >> 16;
    if (attached && !nvme_namespace_valid(sqe->nsid)) {
        return NVME_INVALID_NAMESPACE;
    }
    const struct nvme_namespace *ns =
        attached ? &s->config.subsystem->namespaces[sqe->nsid - 1] : NULL;
    for (unsigned id = 1; id <= NVME_CONTROLLERS; id++) {
        unsigned bit = nvme_attached_bit((uint16_t)id);
        bool in = !ns || (ns->state == NVME_NAMESPACE_READY && (ns->tag.attached & bit));
        if (in && id >= from) {
            list.ids[list.count++] = (uint16_t)id;
        }
    }
    return session_give(s, sqe, &list, sizeof(list));
}

enum nvme_status nvme_identify(struct nvme_session *session, const struct nvme_sqe *sqe)
{
    struct nvme_identify_controller controller;
    switch (sqe->cdw10 & 0xff) {
    case NVME_CNS_NAMESPACE: return identify_namespace(session, sqe, false);
    case NVME_CNS_CONTROLLER:
        describe_controller(session, &controller);
        return session_give(session, sqe, &controller, sizeof(controller));
    case NVME_CNS_ACTIVE_LIST: return identify_list(session, sqe, false);
    case NVME_CNS_DESCRIPTORS: return identify_descriptors(session, sqe);
    case NVME_CNS_ALLOCATED_LIST: return identify_list(session, sqe, true);
    case NVME_CNS_ALLOCATED_NAMESPACE: return identify_namespace(session, sqe, true);
    case NVME_CNS_ATTACHED_CONTROLLERS: return identify_controllers(session, sqe, true);
    case NVME_CNS_CONTROLLERS: return identify_controllers(session, sqe, false);
    default: return NVME_INVALID_FIELD;
    }
}

enum nvme_status nvme_admin_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                    struct nvme_request *request)
{
    switch (sqe->opcode) {
    case NVME_ADMIN_DELETE_SQ: return session_delete_sq(session, sqe, request);
    case NVME_ADMIN_CREATE_SQ: return session_create_sq(session, sqe);
    case NVME_ADMIN_GET_LOG: return nvme_get_log(session, sqe, request);
    case NVME_ADMIN_DELETE_CQ: return session_delete_cq(session, sqe);
    case NVME_ADMIN_CREATE_CQ: return session_create_cq(session, sqe);
    case NVME_ADMIN_IDENTIFY: return nvme_identify(session, sqe);
    case NVME_ADMIN_ABORT: request->result = 1; return NVME_SUCCESS; // it was not aborted
    case NVME_ADMIN_SET_FEATURES: return nvme_set_features(session, sqe, request);
    case NVME_ADMIN_GET_FEATURES: return nvme_get_features(session, sqe, request);
    case NVME_ADMIN_NAMESPACE_MANAGEMENT: return nvme_namespace_management(session, sqe, request);
    case NVME_ADMIN_NAMESPACE_ATTACHMENT: return nvme_namespace_attachment(session, sqe, request);
    default: return NVME_INVALID_OPCODE;
    }
}
