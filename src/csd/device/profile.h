// SPDX-License-Identifier: Apache-2.0
// Device profiles: what flash a device is made of, as YAML (share/devices/csd).
#ifndef CSD_DEVICE_PROFILE_H
#define CSD_DEVICE_PROFILE_H

#include "csd/flash/flash.h"

enum { CSD_PROFILES_MAX = 16 };

struct csd_profile {
    char name[32], title[128];
    struct flash_profile flash; // blocks and page_bytes are made by flash_profile_fit
};

// One that is built in, by its name, or a file, by a path with a '/' or ".yaml".
STN_MUST_CHECK enum stn_status csd_profile_find(const char *name, struct csd_profile *out);
// Names of those built in, NULL at the end.
void csd_profile_names(const char *out[CSD_PROFILES_MAX + 1]);

#endif
