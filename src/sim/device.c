// SPDX-License-Identifier: Apache-2.0
#include "sim/device.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "sim/device_builtin.h"

enum { NAMES_MAX = 64 };

void sim_devices_fini(struct sim_devices *devices)
{
    base_arena_fini(&devices->arena);
    *devices = (struct sim_devices){0};
}

enum stn_status sim_devices_add_builtin(struct sim_devices *devices)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < sim_builtin_count && status == STN_OK; i++) {
        const struct sim_builtin *file = &sim_builtins[i];
        status = sim_devices_add_text(devices, file->text, file->bytes, file->name);
    }
    return status;
}

// ---- finding -----------------------------------------------------------------------------------

struct sim_device *sim_devices_find(const struct sim_devices *devices, const char *name)
{
    for (int i = 0; i < devices->count; i++) {
        if (strcmp(devices->devices[i].name, name) == 0) {
            return &devices->devices[i];
        }
    }
    return NULL;
}

struct sim_device_net *sim_device_find_net(const struct sim_device *device, const char *net)
{
    for (int i = 0; i < device->net_count; i++) {
        if (strcmp(device->nets[i].net, net) == 0) {
            return &device->nets[i];
        }
    }
    return NULL;
}

// `names` ends with NULL.
static enum stn_status fail_unknown(const char *where, const char *name, const char *what,
                                    const char *const *names)
{
    const char *meant = base_did_you_mean(name, names);
    if (meant) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s %s: unknown %s; did you mean %s?", where, name, what,
                        meant);
    }
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; names[i] && used < sizeof(list); i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    return stn_fail(STN_ERR_NOT_FOUND, "%s %s: unknown %s; there is %s", where, name, what, list);
}

enum stn_status sim_devices_require(const struct sim_devices *devices, const char *name,
                                    const char *where, struct sim_device **out)
{
    *out = sim_devices_find(devices, name);
    if (*out) {
        return STN_OK;
    }
    const char *names[NAMES_MAX + 1] = {NULL};
    for (int i = 0; i < devices->count && i < NAMES_MAX; i++) {
        names[i] = devices->devices[i].name;
    }
    return fail_unknown(where, name, "device", names);
}

enum stn_status sim_device_require_net(const struct sim_device *device, const char *net,
                                       const char *where, struct sim_device_net **out)
{
    *out = sim_device_find_net(device, net);
    if (*out) {
        return STN_OK;
    }
    const char *names[NAMES_MAX + 1] = {NULL};
    char what[128];
    for (int i = 0; i < device->net_count && i < NAMES_MAX; i++) {
        names[i] = device->nets[i].net;
    }
    snprintf(what, sizeof(what), "network to device %.80s", device->name);
    return fail_unknown(where, net, what, names);
}

enum stn_status sim_device_require_speed(const struct sim_device *device, const char *net,
                                         int batch, struct sim_speed **out)
{
    struct sim_device_net *known;
    enum stn_status status = sim_device_require_net(device, net, "network", &known);
    if (status != STN_OK) {
        return status;
    }
    for (int i = 0; i < known->speed_count; i++) {
        if (known->speeds[i].batch == batch) {
            *out = &known->speeds[i];
            return STN_OK;
        }
    }
    return stn_fail(STN_ERR_NOT_FOUND, "device %s: no speed of %s with batch %d", device->name, net,
                    batch);
}
