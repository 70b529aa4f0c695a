// SPDX-License-Identifier: Apache-2.0
#include "csd_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/random.h"
#include "target.h"

enum {
    ENTRIES = 64,
    SQ_AT = RING_FREE_AT,
    CQ_AT = RING_FREE_AT + NVME_PAGE_BYTES,
    DATA_AT = CQ_AT + NVME_PAGE_BYTES,
    LISTS_AT = 64 << 10,
    ROUNDS = 64
};

// In each block of the private namespace and of the one that is detached, and nowhere else. They
// are drawn anew for each process and only compared after mixing, so that a fuzzer cannot learn
// them from comparisons and write them itself.
static uint64_t canaries[2];

static void wake(void *context)
{
    (void)context;
}

static void add(struct csd_rig *rig, uint8_t nsid, uint8_t attached)
{
    struct nvme_tag tag = {.version = NVME_TAG_VERSION, .nsid = nsid, .attached = attached};
    fuzz_check(nvme_subsystem_add(&rig->subsystem, nsid, CSD_RIG_BLOCKS, &tag) == STN_OK);
}

// A back end of four namespaces, made through the requests that a front end would make.
static void make_namespaces(struct csd_rig *rig)
{
    fuzz_check(ram_backend_make(rig->ram, CSD_RIG_BLOCKS, 4));
    for (uint32_t id = 3; id <= 4; id++) {
        for (int block = 0; block < CSD_RIG_BLOCKS; block++) {
            memcpy(ram_backend_bytes(rig->ram, id) + (size_t)block * NVME_BLOCK_BYTES,
                   &canaries[id - 3], sizeof(canaries[0]));
        }
    }
    add(rig, 1, NVME_SHARED | NVME_ATTACHED_HOST | NVME_ATTACHED_ENGINE);
    add(rig, 2, NVME_SHARED | NVME_ATTACHED_HOST);
    add(rig, 3, NVME_ATTACHED_ENGINE);               // private
    add(rig, 4, NVME_SHARED | NVME_ATTACHED_ENGINE); // public, but detached from the host
}

struct csd_rig *csd_rig_begin(void)
{
    static struct csd_rig rig;
    if (!rig.memory) {
        fuzz_check(getrandom(canaries, sizeof(canaries), 0) == (ssize_t)sizeof(canaries));
        rig.memory = aligned_alloc(NVME_PAGE_BYTES, CSD_RIG_BYTES);
    }
    if (!rig.memory) {
        abort();
    }
    memset(rig.memory, 0, CSD_RIG_BYTES);
    for (uint64_t at = LISTS_AT; at < CSD_RIG_BYTES; at += sizeof(at)) { // lists of good pages
        uint64_t page = DATA_AT + at / sizeof(at) % 8 * NVME_PAGE_BYTES;
        memcpy(rig.memory + at, &page, sizeof(page));
    }
    fuzz_check(ram_backend_create(1 << 8, &rig.ram) == STN_OK);
    rig.subsystem.backend = ram_backend_base(rig.ram);
    rig.subsystem.blocks_total = 1 << 8;
    fuzz_check(nvme_subsystem_init(&rig.subsystem) == STN_OK);
    make_namespaces(&rig);
    const struct nvme_session_config config = {.subsystem = &rig.subsystem,
                                               .controller = NVME_CONTROLLER_HOST,
                                               .memory = {rig.memory, CSD_RIG_BYTES},
                                               .interrupt = wake,
                                               .wake = wake};
    fuzz_check(nvme_session_create(&config, &rig.session) == STN_OK);
    struct nvme_sqe cq = {.opcode = NVME_ADMIN_CREATE_CQ,
                          .cid = 1,
                          .prp1 = CQ_AT,
                          .cdw10 = 1 | (ENTRIES - 1) << 16,
                          .cdw11 = 3};
    struct nvme_sqe sq = {.opcode = NVME_ADMIN_CREATE_SQ,
                          .cid = 2,
                          .prp1 = SQ_AT,
                          .cdw10 = 1 | (ENTRIES - 1) << 16,
                          .cdw11 = 1 | 1 << 16};
    csd_rig_submit(&rig, 0, &cq);
    csd_rig_submit(&rig, 0, &sq);
    csd_rig_run(&rig);
    return &rig;
}

bool csd_rig_next(const uint8_t **data, size_t *size, int *queue, struct nvme_sqe *sqe)
{
    if (*size <= sizeof(*sqe)) {
        return false;
    }
    *queue = **data & 1;
    memcpy(sqe, *data + 1, sizeof(*sqe));
    *data += 1 + sizeof(*sqe);
    *size -= 1 + sizeof(*sqe);
    return true;
}

void csd_rig_submit(struct csd_rig *rig, int queue, const struct nvme_sqe *sqe)
{
    struct ring_doorbells *bell = ring_doorbells(rig->memory, queue);
    uint32_t tail = bell->sq_tail % ENTRIES;
    memcpy(rig->memory + (queue ? SQ_AT : RING_ADMIN_SQ_AT) + tail * sizeof(*sqe), sqe,
           sizeof(*sqe));
    RING_STORE(bell->sq_tail, (tail + 1) % ENTRIES);
}

void csd_rig_run(struct csd_rig *rig)
{
    // The client takes all completions at once, so that the queues do not fill up.
    for (int round = 0; round < ROUNDS && nvme_session_run(rig->session); round++) {
    }
    if (nvme_session_doze(rig->session)) {
        nvme_session_awake(rig->session);
    }
}

// What a client reads lies at a multiple of four.
static bool holds(const uint8_t *bytes, size_t size, uint64_t canary)
{
    uint64_t wanted = base_mix(canary), word;
    for (size_t at = 0; at + sizeof(word) <= size; at += 4) {
        memcpy(&word, bytes + at, sizeof(word));
        if (base_mix(word) == wanted) {
            return true;
        }
    }
    return false;
}

// Is it still the namespace that it was, and not the host's? Management commands may delete any,
// and attach a shared one.
static bool is_out_of_reach(const struct csd_rig *rig, uint32_t id)
{
    const struct nvme_namespace *ns = &rig->subsystem.namespaces[id - 1];
    return ns->state == NVME_NAMESPACE_READY && ns->store_id == id &&
           !(ns->tag.attached & NVME_ATTACHED_HOST);
}

void csd_rig_end(struct csd_rig *rig)
{
    nvme_session_close(rig->session);
    fuzz_check(nvme_session_idle(rig->session));
    fuzz_check(!holds(rig->memory, CSD_RIG_BYTES, canaries[0]));
    for (int id = 1; id <= NVME_NAMESPACES_MAX; id++) {
        const struct nvme_namespace *ns = &rig->subsystem.namespaces[id - 1];
        fuzz_check(ns->state != NVME_NAMESPACE_READY || (ns->tag.attached & NVME_SHARED) ||
                   !(ns->tag.attached & NVME_ATTACHED_HOST));
    }
    for (uint32_t id = 3; id <= 4; id++) {
        for (int block = 0; block < CSD_RIG_BLOCKS && is_out_of_reach(rig, id); block++) {
            fuzz_check(holds(ram_backend_bytes(rig->ram, id) + (size_t)block * NVME_BLOCK_BYTES,
                             sizeof(canaries[0]), canaries[id - 3]));
        }
    }
    nvme_session_destroy(rig->session);
    nvme_subsystem_fini(&rig->subsystem);
    ram_backend_destroy(rig->ram);
}
