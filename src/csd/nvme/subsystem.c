// SPDX-License-Identifier: Apache-2.0
#include "csd/nvme/subsystem.h"

#include <string.h>

enum nvme_status nvme_namespace_active(struct nvme_subsystem *subsystem, uint16_t controller,
                                       uint32_t nsid, struct nvme_namespace **out)
{
    *out = NULL;
    if (!nvme_namespace_valid(nsid)) {
        return NVME_INVALID_NAMESPACE;
    }
    struct nvme_namespace *ns = &subsystem->namespaces[nsid - 1];
    if (ns->state != NVME_NAMESPACE_READY || !(ns->tag.attached & nvme_attached_bit(controller))) {
        return NVME_INVALID_FIELD;
    }
    *out = ns;
    return NVME_SUCCESS;
}

uint64_t nvme_blocks_free(const struct nvme_subsystem *subsystem)
{
    uint64_t used = 0;
    for (int i = 0; i < NVME_NAMESPACES_MAX; i++) {
        if (subsystem->namespaces[i].state != NVME_NAMESPACE_NONE) {
            used += subsystem->namespaces[i].blocks;
        }
    }
    return used < subsystem->blocks_total ? subsystem->blocks_total - used : 0;
}

enum stn_status nvme_subsystem_init(struct nvme_subsystem *subsystem)
{
    memset(subsystem->namespaces, 0, sizeof(subsystem->namespaces));
    memset(subsystem->errors, 0, sizeof(subsystem->errors));
    memset(subsystem->reads, 0, sizeof(subsystem->reads));
    memset(subsystem->writes, 0, sizeof(subsystem->writes));
    subsystem->write_cache = true;
    if (pthread_mutex_init(&subsystem->lock, NULL) != 0) {
        return stn_fail(STN_ERR_NO_MEMORY, "cannot make a lock for a device");
    }
    return STN_OK;
}

void nvme_subsystem_fini(struct nvme_subsystem *subsystem)
{
    pthread_mutex_destroy(&subsystem->lock);
}

enum stn_status nvme_subsystem_add(struct nvme_subsystem *subsystem, uint32_t store_id,
                                   uint64_t blocks, const struct nvme_tag *tag)
{
    bool fits = tag->version == NVME_TAG_VERSION && nvme_namespace_valid(tag->nsid) &&
                subsystem->namespaces[tag->nsid - 1].state == NVME_NAMESPACE_NONE &&
                memchr(tag->name, '\0', sizeof(tag->name)) && tag->write_protect <= 1;
    bool private = fits && !(tag->attached & NVME_SHARED);
    if (!fits || (private && (tag->attached & NVME_ATTACHED_HOST))) {
        return stn_fail(STN_ERR_CORRUPT, "the device has a namespace (%u) that it did not make",
                        store_id);
    }
    struct nvme_namespace *ns = &subsystem->namespaces[tag->nsid - 1];
    *ns = (struct nvme_namespace){.state = NVME_NAMESPACE_READY,
                                  .store_id = store_id,
                                  .blocks = blocks,
                                  .tag = *tag,
                                  .reservations = {.holder = -1}};
    return STN_OK;
}

void nvme_error_note(struct nvme_subsystem *subsystem, const struct nvme_request *request,
                     enum nvme_status status)
{
    struct nvme_error_log *log = &subsystem->errors[request->controller - 1];
    log->entries[log->count % NVME_ERRORS_KEPT] =
        (struct nvme_error_entry){.count = log->count + 1,
                                  .sqid = request->queue,
                                  .cid = request->cid,
                                  .status = (uint16_t)(status << 1),
                                  .location = 0xffff, // no one field of the command
                                  .lba = request->first,
                                  .nsid = request->nsid};
    log->count++;
}
