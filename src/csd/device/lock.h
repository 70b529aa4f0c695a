// SPDX-License-Identifier: Apache-2.0
// Which process runs a device: the one that holds the record lock on its lock file. The kernel
// knows the holder and forgets it when it dies, however that happens; the number in the file is for
// people.
#ifndef CSD_DEVICE_LOCK_H
#define CSD_DEVICE_LOCK_H

#include <sys/types.h>

#include "stannis/status.h"

// Held until *fd is closed or the process ends. Fails with one line that names the holder.
STN_MUST_CHECK enum stn_status csd_lock_take(const char *folder, int *fd);
// 0: nobody.
STN_MUST_CHECK enum stn_status csd_lock_holder(const char *folder, pid_t *out);

#endif
