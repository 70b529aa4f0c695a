// SPDX-License-Identifier: Apache-2.0
// A device's front end: its namespaces, who may use them, and its two controllers, the host's and
// the in-storage engine's. Interprets commands; sessions (session.h) bring them, a back end does
// them.
//
// A namespace that is made without sharing (NMIC 0) is private: it belongs to the in-storage
// controller and can never be attached to the host's, for which it is an inactive id.
//
// Lifetime: the caller fills in the first fields and calls nvme_subsystem_init; sessions end before
// nvme_subsystem_fini. Threads: any; `lock` is held while a command is interpreted, never while the
// back end works.
#ifndef CSD_NVME_SUBSYSTEM_H
#define CSD_NVME_SUBSYSTEM_H

#include <pthread.h>

#include "csd/nvme/backend.h"
#include "csd/nvme/spec.h"
#include "stannis/status.h"

enum {
    NVME_NAMESPACES_MAX = 32, // ids 1 … 32
    NVME_REGISTRANTS_MAX = 16,
    NVME_ERRORS_KEPT = 64,
    NVME_CONTROLLERS = 2,
    NVME_HOST_ID_BYTES = 16,
};

// Bits of nvme_tag.attached. An unshared namespace has NVME_ATTACHED_ENGINE at most.
enum { NVME_ATTACHED_HOST = 1, NVME_ATTACHED_ENGINE = 2, NVME_SHARED = 128 };

struct nvme_reservations {
    uint32_t generation;
    enum nvme_reservation type;
    int holder; // of registrants; −1: none, or all of them
    int count;
    struct {
        uint8_t host[NVME_HOST_ID_BYTES];
        uint64_t key;
        uint16_t controller;
    } registrants[NVME_REGISTRANTS_MAX];
};

enum nvme_namespace_state { NVME_NAMESPACE_NONE, NVME_NAMESPACE_CHANGING, NVME_NAMESPACE_READY };

struct nvme_namespace {
    enum nvme_namespace_state state;
    uint32_t store_id;
    uint64_t blocks;
    struct nvme_tag tag;
    struct nvme_reservations reservations;
};

struct nvme_error_log {
    uint64_t count;
    struct nvme_error_entry entries[NVME_ERRORS_KEPT]; // a ring
};

struct nvme_subsystem {
    // The caller's.
    struct nvme_backend *backend;
    uint64_t blocks_total; // for all namespaces together
    char serial[21], model[41];

    pthread_mutex_t lock;
    struct nvme_namespace namespaces[NVME_NAMESPACES_MAX]; // [id − 1]
    struct nvme_error_log errors[NVME_CONTROLLERS];        // [controller − 1]
    uint64_t reads[NVME_CONTROLLERS], writes[NVME_CONTROLLERS];
    uint64_t nguid_next; // makes namespaces' global ids unlike each other
    bool write_cache;
};

STN_MUST_CHECK enum stn_status nvme_subsystem_init(struct nvme_subsystem *subsystem);
void nvme_subsystem_fini(struct nvme_subsystem *subsystem);
// A namespace that the back end has from before.
STN_MUST_CHECK enum stn_status nvme_subsystem_add(struct nvme_subsystem *subsystem,
                                                  uint32_t store_id, uint64_t blocks,
                                                  const struct nvme_tag *tag);

// ---- For this folder; with the lock held --------------------------------------------------------

static inline uint8_t nvme_attached_bit(uint16_t controller)
{
    return controller == NVME_CONTROLLER_HOST ? NVME_ATTACHED_HOST : NVME_ATTACHED_ENGINE;
}

static inline bool nvme_namespace_valid(uint32_t nsid)
{
    return nsid >= 1 && nsid <= NVME_NAMESPACES_MAX;
}

// The namespace if it is active on this controller. Otherwise *out is NULL and the status is what
// the specification has for commands that name it: an inactive id looks the same whether there is
// a namespace of somebody else's or none.
enum nvme_status nvme_namespace_active(struct nvme_subsystem *subsystem, uint16_t controller,
                                       uint32_t nsid, struct nvme_namespace **out);
uint64_t nvme_blocks_free(const struct nvme_subsystem *subsystem);
void nvme_error_note(struct nvme_subsystem *subsystem, const struct nvme_request *request,
                     enum nvme_status status);

// Reservations of one namespace, for a host by its identifier (NULL: it has none).
bool nvme_reservation_allows(const struct nvme_reservations *reservations, const uint8_t *host,
                             bool writes);

#endif
