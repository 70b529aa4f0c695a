// SPDX-License-Identifier: Apache-2.0
#include "csd/device/run.h"

#include <signal.h>

#include "csd/device/device.h"
#include "stannis/log.h"

enum stn_status csd_run(const char *folder, void (*ready)(void *context), void *context)
{
    struct csd_rack rack;
    struct csd_device *device;
    sigset_t ends;
    int index, number;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    enum stn_status status = csd_rack_of(folder, &rack, &index);
    if (status == STN_OK) {
        status = csd_device_open(&rack, index, &device);
    }
    if (status != STN_OK) {
        return status;
    }
    ready(context);
    stn_log(STN_LOG_INFO, "on");
    while (sigwait(&ends, &number) != 0) {
    }
    status = csd_device_close(device);
    if (status == STN_OK) {
        stn_log(STN_LOG_INFO, "off");
    }
    return status;
}
