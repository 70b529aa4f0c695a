// SPDX-License-Identifier: Apache-2.0
// Where a network's time goes, layer by layer: filled by stn_bench_run, freed by stn_profile_fini.
#ifndef STANNIS_PROFILE_H
#define STANNIS_PROFILE_H

#include "stannis/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of one micro-batch.
struct stn_profile_cost {
    double seconds;
    double flops; // 0 where arithmetic is not what counts
    double bytes; // that must at least be read and written
};

struct stn_profile_row {
    const char *layer; // "features.0.0"
    const char *op;    // "conv+relu"
    int strip;         // samples that go through it at once
    int in_channels, out_channels, out_size;
    struct stn_profile_cost forward, backward;
};

// One call, for a timeline.
struct stn_profile_event {
    const char *layer, *op;
    const char *phase; // "forward", "backward gather", …
    int lane, strip;   // which thread, which strip
    double begin_us, duration_us;
};

struct stn_profile {
    struct stn_profile_row *rows; // in graph order
    struct stn_profile_event *events;
    int row_count, event_count;
    struct base_arena *arena; // keeps the names
};

STN_EXPORT void stn_profile_fini(struct stn_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
