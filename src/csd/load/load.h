// SPDX-License-Identifier: Apache-2.0
// Keeps a namespace busy for a while and measures it: one kind of access, one size, one queue
// depth. For `stannis csd bench` and bench/csd.
#ifndef CSD_LOAD_LOAD_H
#define CSD_LOAD_LOAD_H

#include "csd/client/client.h"

struct load_config {
    const char *folder; // of the device, or NULL and
    int socket;         // a connection, which is taken
    uint32_t nsid;
    uint64_t blocks; // of the namespace that are used, from its beginning
    bool writes, random;
    uint32_t block_bytes; // of an access; a multiple of 4 KiB
    int depth;
    double seconds;
    uint64_t seed;
};

struct load_result {
    uint64_t accesses, bytes;
    double seconds;
    double latency_us[4]; // load_percentiles[i] of all accesses were at most so long under way
    double latency_max_us;
};

enum { LOAD_PERCENTILES = 4 };
extern const double load_percentiles[LOAD_PERCENTILES]; // 50, 99, 99.9, 99.99

STN_MUST_CHECK enum stn_status load_run(const struct load_config *config, struct load_result *out);

#endif
