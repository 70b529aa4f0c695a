// SPDX-License-Identifier: Apache-2.0
// What a device of a profile offers, and how many blocks it needs for that.
#include <limits.h>
#include <math.h>

#include "csd/flash/layout.h"

enum {
    STREAMS = 4, // that write at a time
    SPARE_BLOCKS =
        4 // for collecting garbage, and one that may grow bad before the device is smaller
};

const char *flash_result_text(enum flash_result result)
{
    static const char *const texts[] = {
#define X(name, text) text,
        FLASH_RESULT_MAP(X)
#undef X
    };
    return texts[result];
}

int layout_batch(const struct flash_profile *profile)
{
    uint32_t blocks = media_blocks(&profile->geometry);
    return blocks >= 2048 ? 8 : blocks >= 128 ? 4 : blocks >= 48 ? 2 : 1;
}

// Blocks that are never offered: open ones, and those that garbage collection turns over.
static uint64_t reserve_blocks(const struct flash_profile *profile)
{
    int open = STREAMS * profile->stripe, ready = 2 * profile->stripe + 2;
    int all = open + ready + SPARE_BLOCKS + 3 * layout_batch(profile);
    return (uint64_t)all;
}

uint64_t flash_profile_units(const struct flash_profile *profile, uint32_t bad)
{
    uint64_t blocks = media_blocks(&profile->geometry), lost = bad + reserve_blocks(profile);
    if (blocks <= lost) {
        return 0;
    }
    double units = (double)((blocks - lost) * (uint64_t)layout_data_units(profile));
    return (uint64_t)floor(units / (1.0 + profile->over_provisioning));
}

static enum stn_status check_profile(const struct flash_profile *p, const char *label)
{
    const struct media_geometry *g = &p->geometry;
    if (g->channels < 1 || g->dies < 1 || g->planes < 1 || g->channels > 256 || g->dies > 64 ||
        g->planes > 16) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: 1 to 256 channels, 1 to 64 dies and 1 to 16 planes are possible",
                        label);
    }
    if (p->units < 1 || p->units > 16 || g->pages < 2 || g->pages > 4096 ||
        layout_data_units(p) < 1) {
        return stn_fail(STN_ERR_INVALID, "%s: a page has 4 to 64 KiB, a block 2 to 4096 pages",
                        label);
    }
    if (!(p->over_provisioning >= 0.02 && p->over_provisioning <= 4.0)) {
        return stn_fail(STN_ERR_INVALID, "%s: over-provisioning is 0.02 to 4 (2 to 400 %%)", label);
    }
    if (p->stripe < 1 || p->stripe > 64 || p->endurance < 1) {
        return stn_fail(STN_ERR_INVALID, "%s: stripe is 1 to 64 blocks, endurance at least 1",
                        label);
    }
    return STN_OK;
}

enum stn_status flash_profile_fit(struct flash_profile *profile, uint64_t bytes, const char *label)
{
    enum stn_status status = check_profile(profile, label);
    if (status) {
        return status;
    }
    struct media_geometry *g = &profile->geometry;
    g->blocks = 0;
    g->page_bytes = profile->units * layout_raw_bytes(profile->ecc);
    uint64_t columns = (uint64_t)g->channels * (uint64_t)g->dies * (uint64_t)g->planes;
    double units = ceil((double)bytes / FLASH_UNIT_BYTES) * (1.0 + profile->over_provisioning);
    double blocks = ceil(units / layout_data_units(profile)) + 1.0;
    for (int round = 0; round < 2; round++) { // the reserve grows with the device, a little
        double all = blocks + (double)(g->blocks ? reserve_blocks(profile) : 0);
        g->blocks =
            (int)fmin(ceil(all / (double)columns), (double)UINT32_MAX / 2 / (double)columns);
    }
    blocks += (double)reserve_blocks(profile);
    double rows = ceil(blocks / (double)columns);
    if (rows * (double)columns * g->pages * profile->units > (double)(UINT32_MAX / 2) ||
        rows > INT_MAX) {
        return stn_fail(STN_ERR_INVALID, "%s: a device of %.0f GiB is too large: 4 TiB at most",
                        label, (double)bytes / 1073741824.0);
    }
    g->blocks = (int)rows;
    return STN_OK;
}
