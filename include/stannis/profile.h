// SPDX-License-Identifier: Apache-2.0
// Where a network's time goes, layer by layer:
//
//     stn_profile_create → stn_bench_run, which fills it → rows and events → stn_profile_destroy
//
// What it tells is valid until it is filled again or destroyed.
#ifndef STANNIS_PROFILE_H
#define STANNIS_PROFILE_H

#include "stannis/export.h"
#include "stannis/status.h"

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

struct stn_profile;

// Makes an empty profile.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_profile_create(struct stn_profile **out);
// Frees a profile; NULL is fine.
STN_EXPORT void stn_profile_destroy(struct stn_profile *profile);

// How many layers there are; 0 of NULL and of an empty one.
STN_EXPORT int stn_profile_row_count(const struct stn_profile *profile);
// A layer, in the network's order; NULL outside of 0 … count − 1.
STN_EXPORT const struct stn_profile_row *stn_profile_row(const struct stn_profile *profile,
                                                         int index);
// How many calls were seen; 0 of NULL and of an empty one.
STN_EXPORT int stn_profile_event_count(const struct stn_profile *profile);
// A call, thread after thread; NULL outside of 0 … count − 1.
STN_EXPORT const struct stn_profile_event *stn_profile_event(const struct stn_profile *profile,
                                                             int index);

#ifdef __cplusplus
}
#endif

#endif
