// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as a device file: what is accepted must be sound.
#include <math.h>

#include "sim/device.h"
#include "target.h"

static void check_net(const struct sim_device_net *net)
{
    fuzz_check(net->net && *net->net);
    fuzz_check(isfinite(net->line.fixed_s) && net->line.fixed_s >= 0.0);
    fuzz_check(isfinite(net->line.each_s) && net->line.each_s > 0.0);
    for (int i = 0; i < net->speed_count; i++) {
        fuzz_check(net->speeds[i].batch > (i > 0 ? net->speeds[i - 1].batch : 0));
        fuzz_check(isfinite(net->speeds[i].images_per_s) && net->speeds[i].images_per_s > 0.0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_devices devices = {0};
    fuzz_quiet();
    enum stn_status status = sim_devices_add_text(&devices, (const char *)data, size, "fuzz");
    fuzz_check(status != STN_OK || devices.count > 0);
    for (int i = 0; i < devices.count; i++) {
        const struct sim_device *device = &devices.devices[i];
        fuzz_check(device->name && sim_devices_find(&devices, device->name) == device);
        fuzz_check(device->link.bytes_per_s >= 0.0 && device->link.latency_s >= 0.0);
        fuzz_check(device->power.busy_w >= device->power.idle_w && device->power.idle_w >= 0.0);
        fuzz_check(device->net_count > 0);
        for (int k = 0; k < device->net_count; k++) {
            check_net(&device->nets[k]);
        }
    }
    sim_devices_fini(&devices);
    return 0;
}
