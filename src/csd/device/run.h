// SPDX-License-Identifier: Apache-2.0
// The device process, and turning racks of them on and off.
//
// A device is a process of this program: `stannis csd device FOLDER`, with a session of its own,
// messages to its log file, and one line on standard output: "ready", or why not.
#ifndef CSD_DEVICE_RUN_H
#define CSD_DEVICE_RUN_H

#include <sys/types.h>

#include "csd/device/rack.h"

// Powers the device of a folder on and serves until SIGTERM, SIGINT or SIGHUP. `ready` is called
// when clients can connect. Call before there are other threads: it blocks these signals.
STN_MUST_CHECK enum stn_status csd_run(const char *folder, void (*ready)(void *context),
                                       void *context);

// What a device is doing.
enum csd_power_state { CSD_OFF, CSD_ON };
STN_MUST_CHECK enum stn_status csd_power_state(const struct csd_rack *rack, int index,
                                               enum csd_power_state *out, pid_t *pid);
// Turns those on that are off, all at the same time, and waits until they are ready. The first
// failure is said and returned; the others stay on. *started: how many.
STN_MUST_CHECK enum stn_status csd_power_on(const struct csd_rack *rack,
                                            const struct csd_rack_progress *progress, int *started);
// Asks those that are on to flush and end, and waits for them. *stopped: how many.
STN_MUST_CHECK enum stn_status
csd_power_off(const struct csd_rack *rack, const struct csd_rack_progress *progress, int *stopped);

#endif
