// SPDX-License-Identifier: Apache-2.0
// What the front end asks of a back end, for those who implement one: csd/device (flash behind a
// thread) and the memory ones of bench and tests. The front end has checked a request: namespace,
// range, rights and memory are good. The back end does it, at once or later, from any thread, and
// calls nvme_request_complete; requests are done as if in the order of submitting.
#ifndef CSD_NVME_BACKEND_H
#define CSD_NVME_BACKEND_H

#include <stdbool.h>

#include "csd/nvme/memory.h"
#include "csd/nvme/vendor.h"

enum nvme_op {
    NVME_OP_READ,
    NVME_OP_WRITE,
    NVME_OP_FLUSH,  // everything that was completed before
    NVME_OP_TRIM,   // `ranges`: they read as zeros from now on
    NVME_OP_CREATE, // a namespace of `count` blocks with `tag`; sets store_id
    NVME_OP_DELETE, // and its key
    NVME_OP_TAG,    // keeps `tag`
    NVME_OP_HEALTH, // fills in *health
};

// What a back end keeps for the front end with each namespace.
struct nvme_tag {
    uint8_t version, nsid, attached, write_protect;
    char name[28];
    uint8_t nguid[16];
};

enum { NVME_TAG_VERSION = 1, NVME_RANGES_MAX = 256 };
_Static_assert(sizeof(struct nvme_tag) == 48, "as long as a tag of csd/flash");

struct nvme_session;

struct nvme_request {
    enum nvme_op op;
    uint32_t store_id;     // the back end's id of the namespace
    uint64_t first, count; // blocks
    bool durable;          // WRITE, TRIM: flushed before it is complete
    bool alone;            // the client has nothing else in flight, and waits for this
    const struct nvme_memory *memory;
    union {
        struct nvme_data data; // READ, WRITE: where in `memory`
        struct {
            int range_count;
            struct nvme_dataset_range ranges[NVME_RANGES_MAX];
        };
    };
    struct nvme_tag tag;
    struct nvme_health *health;

    // The back end's while it has the request.
    enum nvme_status status;
    int64_t due_ns;

    // The front end's own.
    struct nvme_session *session;
    struct nvme_request *next; // the back end's between submit and completion
    uint16_t cid;
    uint8_t queue, controller;
    bool marked; // its id is marked as in flight
    bool submit; // what is left to do is the back end's
    bool held;   // somebody else completes it
    uint32_t result, nsid;
    // Runs before the completion is posted, on the thread that completes; says the final status.
    enum nvme_status (*done)(struct nvme_request *request, enum nvme_status status);
    uint64_t argument; // of `done`
    uint8_t page;      // of Get Log Page
};

struct nvme_backend {
    void (*submit)(struct nvme_backend *backend, struct nvme_request *request);
};

// The request is the front end's again.
void nvme_request_complete(struct nvme_request *request, enum nvme_status status);

#endif
