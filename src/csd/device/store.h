// SPDX-License-Identifier: Apache-2.0
// The back end: takes requests in order, does them on the flash, and uses idle time for what flash
// needs. Client memory is copied: what the flash sees cannot change under it. It has a thread of
// its own; only a read that a client waits for with nothing else in flight is done on the thread
// that submits it, when the flash is free.
//
//     store_start → (requests, from any thread) → store_stop
//
// From start to stop the flash belongs to the store.
#ifndef CSD_DEVICE_STORE_H
#define CSD_DEVICE_STORE_H

#include "csd/flash/flash.h"
#include "csd/nvme/backend.h"

struct store;

struct store_about {
    const char *profile, *media; // for the vendor's log page; copied
    const struct flash_profile *flash_profile;
    enum flash_timing_mode timing;
};

STN_MUST_CHECK enum stn_status store_start(struct flash *flash, const struct store_about *about,
                                           struct store **out);
struct nvme_backend *store_backend(struct store *store);
// Does what was submitted and ends the thread. Takes NULL.
void store_stop(struct store *store);

#endif
