// SPDX-License-Identifier: Apache-2.0
// Namespaces and health of a device in words of its users; every failure is one line.
#ifndef CSD_CLIENT_NAMESPACES_H
#define CSD_CLIENT_NAMESPACES_H

#include "csd/client/client.h"
#include "csd/nvme/vendor.h"

enum { CSD_NAMESPACES_MAX = 32, CSD_NAME_LENGTH_MAX = 27 };

struct csd_namespace {
    uint32_t nsid;
    char name[CSD_NAME_LENGTH_MAX + 1];
    uint64_t blocks; // of 4 KiB
    bool shared;     // public; otherwise the in-storage engine's alone
    bool active;     // for this client's controller
    bool write_protected;
};

struct csd_capacity {
    uint64_t total, free; // bytes
    char serial[21], model[41];
};

STN_MUST_CHECK enum stn_status csd_capacity(struct csd_client *client, struct csd_capacity *out);
// By rising id; returns their number in *count.
STN_MUST_CHECK enum stn_status
csd_namespaces(struct csd_client *client, struct csd_namespace out[CSD_NAMESPACES_MAX], int *count);
STN_MUST_CHECK enum stn_status csd_namespace_find(struct csd_client *client, const char *name,
                                                  struct csd_namespace *out);
// A public one is attached to both controllers, a private one to the in-storage one.
STN_MUST_CHECK enum stn_status csd_namespace_create(struct csd_client *client, const char *name,
                                                    uint64_t bytes, bool shared, uint32_t *nsid);
// Its key is destroyed: what it held cannot be read any more.
STN_MUST_CHECK enum stn_status csd_namespace_delete(struct csd_client *client, const char *name);
STN_MUST_CHECK enum stn_status csd_namespace_protect(struct csd_client *client, uint32_t nsid,
                                                     bool protect);
STN_MUST_CHECK enum stn_status csd_health(struct csd_client *client, struct nvme_health *out);
STN_MUST_CHECK enum stn_status csd_smart(struct csd_client *client, struct nvme_smart_log *out);

#endif
