// SPDX-License-Identifier: Apache-2.0
// A device under power: back end, front end and their threads.
//
//     csd_device_open | csd_device_start → … → csd_device_close
#ifndef CSD_DEVICE_DEVICE_H
#define CSD_DEVICE_DEVICE_H

#include "csd/device/rack.h"
#include "csd/flash/flash.h"

struct csd_device;

struct csd_device_parts {
    struct media *medium; // formatted
    struct flash_keys *keys;
    struct flash_options options;
    const char *profile, *media, *serial; // names, for people
    int listener;                         // −1: none
};

// Powers on. The parts are the device's from here on, also when it fails, but for the listener.
STN_MUST_CHECK enum stn_status csd_device_start(const struct csd_device_parts *parts,
                                                struct csd_device **out);
// The device of a rack, from its folder's files: takes its lock, recovers, and listens in the
// folder.
STN_MUST_CHECK enum stn_status csd_device_open(const struct csd_rack *rack, int index,
                                               struct csd_device **out);
// Powers off in good order; the first failure is returned and was said. Takes NULL.
enum stn_status csd_device_close(struct csd_device *device);
// A connection from within the process that runs the device (csd/server).
STN_MUST_CHECK enum stn_status csd_device_connect(struct csd_device *device, uint16_t controller,
                                                  int *fd);

#endif
