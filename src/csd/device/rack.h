// SPDX-License-Identifier: Apache-2.0
// A rack: a folder with rack.yaml and a folder csd.N for each device, which holds its media file,
// its keys, its lock, its log and, under power, its socket.
#ifndef CSD_DEVICE_RACK_H
#define CSD_DEVICE_RACK_H

#include <stdbool.h>

#include "csd/device/profile.h"

#define CSD_MEDIA_FILE  "media"
#define CSD_KEYS_FILE   "keys"
#define CSD_LOCK_FILE   "lock"
#define CSD_LOG_FILE    "log"
#define CSD_SOCKET_FILE "socket"

enum {
    CSD_PATH_BYTES = 4096,
    CSD_RACK_ID_BYTES = 13,
    CSD_SERIAL_BYTES = 21,
    CSD_RACK_DEVICES_MAX = 256,
};

struct csd_rack {
    char path[CSD_PATH_BYTES];
    char id[CSD_RACK_ID_BYTES]; // makes serial numbers
    char profile[32];
    int count;
    uint64_t size; // bytes that each device offers at least
    enum flash_timing_mode timing;
};

extern const char *const csd_timing_names[]; // off, counted, enforced; NULL at the end

// `made` is told after each device, NULL: nobody.
struct csd_rack_progress {
    void (*made)(void *context, int index, int count);
    void *context;
};

// Makes the folder and its devices; when it fails nothing is left. `rack` has path, profile, count,
// size and timing; the rest is filled in.
STN_MUST_CHECK enum stn_status csd_rack_create(struct csd_rack *rack,
                                               const struct csd_profile *profile,
                                               const struct csd_rack_progress *progress);
STN_MUST_CHECK enum stn_status csd_rack_open(const char *path, struct csd_rack *out);
// Removes the devices, their keys first, and the folder, of files that Stannis made. All must be
// off.
STN_MUST_CHECK enum stn_status csd_rack_destroy(const struct csd_rack *rack,
                                                const struct csd_rack_progress *progress);
// rack/csd.2.
STN_MUST_CHECK enum stn_status csd_rack_folder(const struct csd_rack *rack, int index,
                                               char out[CSD_PATH_BYTES]);
// The rack and the number of a device, given by its folder.
STN_MUST_CHECK enum stn_status csd_rack_of(const char *folder, struct csd_rack *out, int *index);

// FOLDER/NAME.
STN_MUST_CHECK enum stn_status csd_path(char out[CSD_PATH_BYTES], const char *folder,
                                        const char *name);
int csd_open_folder(const char *folder); // a descriptor to name its files by; −1 and errno

#endif
