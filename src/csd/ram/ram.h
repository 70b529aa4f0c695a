// SPDX-License-Identifier: Apache-2.0
// A back end that is plain memory and does every request at once, on the thread that submits it:
// what the front end costs by itself, for benches, and what it does to data, for tests. One thread
// at a time.
#ifndef CSD_RAM_RAM_H
#define CSD_RAM_RAM_H

#include "csd/nvme/backend.h"
#include "stannis/status.h"

struct ram_backend;

STN_MUST_CHECK enum stn_status ram_backend_create(uint64_t blocks, struct ram_backend **out);
void ram_backend_destroy(struct ram_backend *ram); // takes NULL
struct nvme_backend *ram_backend_base(struct ram_backend *ram);
// Namespaces 1 … count of so many blocks each, without a front end's asking; for tests.
STN_MUST_CHECK bool ram_backend_make(struct ram_backend *ram, uint64_t blocks, int count);
// From the next request on, every one of this kind fails with this status.
void ram_backend_fail(struct ram_backend *ram, enum nvme_op op, enum nvme_status status);
// The bytes of a namespace, and how often everything was flushed.
uint8_t *ram_backend_bytes(struct ram_backend *ram, uint32_t store_id);
uint64_t ram_backend_flushes(const struct ram_backend *ram);

#endif
