// SPDX-License-Identifier: Apache-2.0
// The flash's statistics as the vendor's log page.
#ifndef CSD_DEVICE_HEALTH_H
#define CSD_DEVICE_HEALTH_H

#include "csd/flash/flash.h"
#include "csd/nvme/vendor.h"

struct health_about {
    char profile[NVME_HEALTH_TEXT_BYTES], media[NVME_HEALTH_TEXT_BYTES];
    uint32_t endurance, ecc, timing;
};

void health_about_init(const char *profile, const char *media, const struct flash_profile *flash,
                       enum flash_timing_mode timing, struct health_about *out);
void health_describe(const struct flash *flash, const struct health_about *about,
                     struct nvme_health *out);

#endif
