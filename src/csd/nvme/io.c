// SPDX-License-Identifier: Apache-2.0
// The NVM command set.
#include "csd/nvme/session_state.h"

enum { FORCE_UNIT_ACCESS = 1 << 30, DEALLOCATE = 4 };

static enum nvme_status check_range(const struct nvme_namespace *ns, uint64_t first, uint64_t count)
{
    return count <= ns->blocks && first <= ns->blocks - count ? NVME_SUCCESS : NVME_LBA_RANGE;
}

static void aim(struct nvme_request *r, const struct nvme_namespace *ns, enum nvme_op op)
{
    r->op = op;
    r->store_id = ns->store_id;
    r->submit = true;
}

static enum nvme_status transfer(struct nvme_session *s, const struct nvme_sqe *sqe,
                                 const struct nvme_namespace *ns, struct nvme_request *r)
{
    bool writes = sqe->opcode == NVME_IO_WRITE;
    struct nvme_subsystem *subsystem = s->config.subsystem;
    r->first = (uint64_t)sqe->cdw11 << 32 | sqe->cdw10;
    r->count = (sqe->cdw12 & 0xffff) + 1;
    if (r->count > NVME_TRANSFER_PAGES) {
        return NVME_INVALID_FIELD;
    }
    enum nvme_status status = check_range(ns, r->first, r->count);
    if (status == NVME_SUCCESS) {
        status = nvme_prp_resolve(r->memory, sqe->prp1, sqe->prp2,
                                  (uint32_t)r->count << NVME_BLOCK_SHIFT, &r->data);
    }
    if (status) {
        return status;
    }
    (writes ? subsystem->writes : subsystem->reads)[s->config.controller - 1]++;
    r->durable = writes && (!subsystem->write_cache || (sqe->cdw12 & (uint32_t)FORCE_UNIT_ACCESS));
    aim(r, ns, writes ? NVME_OP_WRITE : NVME_OP_READ);
    return NVME_SUCCESS;
}

static enum nvme_status write_zeroes(struct nvme_session *s, const struct nvme_sqe *sqe,
                                     const struct nvme_namespace *ns, struct nvme_request *r)
{
    r->first = (uint64_t)sqe->cdw11 << 32 | sqe->cdw10;
    r->count = (sqe->cdw12 & 0xffff) + 1;
    enum nvme_status status = check_range(ns, r->first, r->count);
    if (status) {
        return status;
    }
    r->range_count = 1;
    r->ranges[0] = (struct nvme_dataset_range){.blocks = (uint32_t)r->count, .first = r->first};
    r->durable = !s->config.subsystem->write_cache || (sqe->cdw12 & (uint32_t)FORCE_UNIT_ACCESS);
    aim(r, ns, NVME_OP_TRIM);
    return NVME_SUCCESS;
}

static enum nvme_status manage_dataset(struct nvme_session *s, const struct nvme_sqe *sqe,
                                       const struct nvme_namespace *ns, struct nvme_request *r)
{
    int count = (int)(sqe->cdw10 & 0xff) + 1;
    enum nvme_status status = session_take(
        s, sqe, (uint32_t)count * (uint32_t)sizeof(struct nvme_dataset_range), r->ranges);
    for (int i = 0; i < count && status == NVME_SUCCESS; i++) {
        status = check_range(ns, r->ranges[i].first, r->ranges[i].blocks);
    }
    if (status == NVME_SUCCESS && (sqe->cdw11 & DEALLOCATE)) { // the other attributes are hints
        r->range_count = count;
        r->durable = !s->config.subsystem->write_cache;
        aim(r, ns, NVME_OP_TRIM);
    }
    return status;
}

static enum nvme_status flush(const struct nvme_namespace *ns, struct nvme_request *r)
{
    r->op = NVME_OP_FLUSH;
    r->store_id = ns ? ns->store_id : 0;
    r->submit = true;
    return NVME_SUCCESS;
}

static bool is_reservation(uint8_t opcode)
{
    return opcode == NVME_IO_RESERVATION_REGISTER || opcode == NVME_IO_RESERVATION_REPORT ||
           opcode == NVME_IO_RESERVATION_ACQUIRE || opcode == NVME_IO_RESERVATION_RELEASE;
}

static bool is_known(uint8_t opcode)
{
    return opcode == NVME_IO_FLUSH || opcode == NVME_IO_WRITE || opcode == NVME_IO_READ ||
           opcode == NVME_IO_WRITE_ZEROES || opcode == NVME_IO_DATASET_MANAGEMENT ||
           is_reservation(opcode);
}

enum nvme_status nvme_io_command(struct nvme_session *session, const struct nvme_sqe *sqe,
                                 struct nvme_request *request)
{
    struct nvme_namespace *ns;
    if (!is_known(sqe->opcode)) {
        return NVME_INVALID_OPCODE;
    }
    if (sqe->opcode == NVME_IO_FLUSH && sqe->nsid == (uint32_t)NVME_NSID_ALL) {
        return flush(NULL, request);
    }
    enum nvme_status status = nvme_namespace_active(session->config.subsystem,
                                                    session->config.controller, sqe->nsid, &ns);
    if (status) {
        return status;
    }
    if (is_reservation(sqe->opcode)) {
        return nvme_reservation_command(session, sqe, ns);
    }
    bool writes = sqe->opcode != NVME_IO_READ;
    if (!nvme_reservation_allows(&ns->reservations, session_host(session), writes)) {
        return NVME_RESERVED;
    }
    if (writes && sqe->opcode != NVME_IO_FLUSH && ns->tag.write_protect) {
        return NVME_WRITE_PROTECTED;
    }
    switch (sqe->opcode) {
    case NVME_IO_FLUSH: return flush(ns, request);
    case NVME_IO_WRITE_ZEROES: return write_zeroes(session, sqe, ns, request);
    case NVME_IO_DATASET_MANAGEMENT: return manage_dataset(session, sqe, ns, request);
    default: return transfer(session, sqe, ns, request);
    }
}
