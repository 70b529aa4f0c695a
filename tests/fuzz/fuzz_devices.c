// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as a device file: what is accepted must be sound.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sim/device.h"
#include "stannis/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_net(const struct sim_device_net *net)
{
    check(net->net && *net->net);
    check(isfinite(net->line.fixed_s) && net->line.fixed_s >= 0.0);
    check(isfinite(net->line.each_s) && net->line.each_s > 0.0);
    for (int i = 0; i < net->speed_count; i++) {
        check(net->speeds[i].batch > (i > 0 ? net->speeds[i - 1].batch : 0));
        check(isfinite(net->speeds[i].images_per_s) && net->speeds[i].images_per_s > 0.0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_devices devices = {0};
    stn_log_set_sink(ignore, NULL);
    enum stn_status status = sim_devices_add_text(&devices, (const char *)data, size, "fuzz");
    check(status != STN_OK || devices.count > 0);
    for (int i = 0; i < devices.count; i++) {
        const struct sim_device *device = &devices.devices[i];
        check(device->name && sim_devices_find(&devices, device->name) == device);
        check(device->link.bytes_per_s >= 0.0 && device->link.latency_s >= 0.0);
        check(device->power.busy_w >= device->power.idle_w && device->power.idle_w >= 0.0);
        check(device->net_count > 0);
        for (int k = 0; k < device->net_count; k++) {
            check_net(&device->nets[k]);
        }
    }
    sim_devices_fini(&devices);
    return 0;
}
