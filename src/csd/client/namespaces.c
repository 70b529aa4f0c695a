// SPDX-License-Identifier: Apache-2.0
#include "csd/client/namespaces.h"

#include <ctype.h>
#include <string.h>

// One admin command that must succeed.
static enum stn_status must(struct csd_client *client, const char *what,
                            const struct nvme_sqe *command, enum csd_direction direction,
                            void *data, uint32_t bytes, uint32_t *result)
{
    struct csd_outcome outcome;
    enum stn_status status = csd_admin(client, command, direction, data, bytes, &outcome);
    if (status == STN_OK && outcome.status != NVME_SUCCESS) {
        status = csd_client_refused(client, what, outcome.status);
    }
    if (status == STN_OK && result) {
        *result = outcome.result;
    }
    return status;
}

static enum stn_status identify(struct csd_client *client, enum nvme_identify_cns cns,
                                uint32_t nsid, void *out)
{
    const struct nvme_sqe command = {
        .opcode = NVME_ADMIN_IDENTIFY, .nsid = nsid, .cdw10 = (uint32_t)cns};
    return must(client, "cannot identify it", &command, CSD_FROM_DEVICE, out, 4096, NULL);
}

// A text of the specification: padded with spaces.
static void copy_text(char *out, const char *text, size_t size)
{
    memcpy(out, text, size);
    while (size > 0 && out[size - 1] == ' ') {
        size--;
    }
    out[size] = '\0';
}

enum stn_status csd_capacity(struct csd_client *client, struct csd_capacity *out)
{
    struct nvme_identify_controller c;
    enum stn_status status = identify(client, NVME_CNS_CONTROLLER, 0, &c);
    if (status == STN_OK) {
        out->total = c.tnvmcap[0];
        out->free = c.unvmcap[0];
        copy_text(out->serial, c.serial, sizeof(c.serial));
        copy_text(out->model, c.model, sizeof(c.model));
    }
    return status;
}

static enum stn_status describe(struct csd_client *client, uint32_t nsid, const uint32_t active[],
                                struct csd_namespace *out)
{
    struct nvme_identify_namespace about;
    enum stn_status status = identify(client, NVME_CNS_ALLOCATED_NAMESPACE, nsid, &about);
    if (status != STN_OK) {
        return status;
    }
    *out = (struct csd_namespace){.nsid = nsid,
                                  .blocks = about.nsze,
                                  .shared = about.nmic & 1,
                                  .write_protected = about.nsattr & 1};
    memcpy(out->name, about.name, CSD_NAME_LENGTH_MAX);
    for (int i = 0; active[i] != 0 && active[i] <= nsid; i++) {
        out->active = out->active || active[i] == nsid;
    }
    return STN_OK;
}

enum stn_status csd_namespaces(struct csd_client *client,
                               struct csd_namespace out[CSD_NAMESPACES_MAX], int *count)
{
    uint32_t allocated[1024], active[1024];
    *count = 0;
    enum stn_status status = identify(client, NVME_CNS_ALLOCATED_LIST, 0, allocated);
    if (status == STN_OK) {
        status = identify(client, NVME_CNS_ACTIVE_LIST, 0, active);
    }
    while (status == STN_OK && *count < CSD_NAMESPACES_MAX && allocated[*count] != 0) {
        status = describe(client, allocated[*count], active, &out[*count]);
        (*count)++;
    }
    return status;
}

// *out is NULL when there is none of that name.
static enum stn_status find(struct csd_client *client, const char *name,
                            struct csd_namespace all[CSD_NAMESPACES_MAX],
                            struct csd_namespace **out)
{
    int count;
    *out = NULL;
    enum stn_status status = csd_namespaces(client, all, &count);
    for (int i = 0; i < count && status == STN_OK; i++) {
        if (strcmp(all[i].name, name) == 0) {
            *out = &all[i];
        }
    }
    return status;
}

enum stn_status csd_namespace_find(struct csd_client *client, const char *name,
                                   struct csd_namespace *out)
{
    struct csd_namespace all[CSD_NAMESPACES_MAX], *found;
    enum stn_status status = find(client, name, all, &found);
    if (status == STN_OK && !found) {
        status = stn_fail(STN_ERR_NOT_FOUND, "%s: there is no namespace %s",
                          csd_client_name(client), name);
    }
    if (status == STN_OK) {
        *out = *found;
    }
    return status;
}

static enum stn_status check_name(struct csd_client *client, const char *name)
{
    struct csd_namespace all[CSD_NAMESPACES_MAX], *found;
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])) {
            length = 0;
        }
    }
    if (length < 1 || length > CSD_NAME_LENGTH_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: namespace \"%s\": a name is 1 to %d letters, digits, '.', '_' and '-'",
                        csd_client_name(client), name, CSD_NAME_LENGTH_MAX);
    }
    enum stn_status status = find(client, name, all, &found);
    if (status == STN_OK && found) {
        status = stn_fail(STN_ERR_INVALID, "%s: there is a namespace %s already",
                          csd_client_name(client), name);
    }
    return status;
}

static enum stn_status check_size(struct csd_client *client, const char *name, uint64_t bytes)
{
    struct csd_capacity capacity;
    enum stn_status status = csd_capacity(client, &capacity);
    if (status != STN_OK) {
        return status;
    }
    if (bytes < NVME_BLOCK_BYTES || bytes % NVME_BLOCK_BYTES != 0) {
        return stn_fail(STN_ERR_INVALID, "%s: namespace %s: its size must be a multiple of 4 KiB",
                        csd_client_name(client), name);
    }
    if (bytes > capacity.free) {
        return stn_fail(STN_ERR_NO_SPACE, "%s: namespace %s: of %llu MiB only %llu MiB are free",
                        csd_client_name(client), name, (unsigned long long)(bytes >> 20),
                        (unsigned long long)(capacity.free >> 20));
    }
    return STN_OK;
}

static enum stn_status attach(struct csd_client *client, uint32_t nsid, bool shared)
{
    struct nvme_controller_list list = {.count = 1, .ids = {NVME_CONTROLLER_ENGINE}};
    if (shared) {
        list = (struct nvme_controller_list){.count = 2,
                                             .ids = {NVME_CONTROLLER_HOST, NVME_CONTROLLER_ENGINE}};
    }
    const struct nvme_sqe command = {.opcode = NVME_ADMIN_NAMESPACE_ATTACHMENT, .nsid = nsid};
    return must(client, "cannot attach the namespace", &command, CSD_TO_DEVICE, &list, sizeof(list),
                NULL);
}

static enum stn_status delete_id(struct csd_client *client, uint32_t nsid)
{
    const struct nvme_sqe command = {
        .opcode = NVME_ADMIN_NAMESPACE_MANAGEMENT, .nsid = nsid, .cdw10 = 1};
    return must(client, "cannot delete the namespace", &command, CSD_NO_DATA, NULL, 0, NULL);
}

enum stn_status csd_namespace_create(struct csd_client *client, const char *name, uint64_t bytes,
                                     bool shared, uint32_t *nsid)
{
    struct nvme_identify_namespace wish = {
        .nsze = bytes / NVME_BLOCK_BYTES, .ncap = bytes / NVME_BLOCK_BYTES, .nmic = shared};
    const struct nvme_sqe command = {.opcode = NVME_ADMIN_NAMESPACE_MANAGEMENT};
    enum stn_status status = check_name(client, name);
    if (status == STN_OK) {
        status = check_size(client, name, bytes);
    }
    if (status != STN_OK) {
        return status;
    }
    memcpy(wish.name, name, strlen(name));
    status = must(client, "cannot make the namespace", &command, CSD_TO_DEVICE, &wish, sizeof(wish),
                  nsid);
    if (status != STN_OK) {
        return status;
    }
    status = attach(client, *nsid, shared);
    if (status != STN_OK && delete_id(client, *nsid) != STN_OK) {
        return status; // both said why
    }
    return status;
}

enum stn_status csd_namespace_delete(struct csd_client *client, const char *name)
{
    struct csd_namespace ns;
    enum stn_status status = csd_namespace_find(client, name, &ns);
    return status == STN_OK ? delete_id(client, ns.nsid) : status;
}

enum stn_status csd_namespace_protect(struct csd_client *client, uint32_t nsid, bool protect)
{
    const struct nvme_sqe command = {.opcode = NVME_ADMIN_SET_FEATURES,
                                     .nsid = nsid,
                                     .cdw10 = NVME_FEATURE_WRITE_PROTECT,
                                     .cdw11 = protect};
    return must(client, "cannot change its write protection", &command, CSD_NO_DATA, NULL, 0, NULL);
}

static enum stn_status get_log(struct csd_client *client, enum nvme_log_page page, void *out,
                               uint32_t bytes)
{
    const struct nvme_sqe command = {.opcode = NVME_ADMIN_GET_LOG,
                                     .nsid = (uint32_t)NVME_NSID_ALL,
                                     .cdw10 = (uint32_t)page | (bytes / 4 - 1) << 16};
    return must(client, "cannot read its log", &command, CSD_FROM_DEVICE, out, bytes, NULL);
}

enum stn_status csd_health(struct csd_client *client, struct nvme_health *out)
{
    _Static_assert(sizeof(*out) % 4 == 0, "whole words");
    enum stn_status status = get_log(client, NVME_LOG_VENDOR, out, sizeof(*out));
    if (status == STN_OK && (out->version != NVME_HEALTH_VERSION || out->size != sizeof(*out))) {
        status = stn_fail(STN_ERR_UNSUPPORTED,
                          "%s: the device was started by another version of this program; stop and "
                          "start it",
                          csd_client_name(client));
    }
    return status;
}

enum stn_status csd_smart(struct csd_client *client, struct nvme_smart_log *out)
{
    return get_log(client, NVME_LOG_SMART, out, sizeof(*out));
}
