// SPDX-License-Identifier: Apache-2.0
// The meter of a server: its management controller knows what the power supplies take, and says so
// by IPMI's DCMI extension, asked through the driver of this machine. Only with libfreeipmi; root
// alone may ask.
#include "energy/meter_kind.h"

#ifdef STANNIS_FREEIPMI

#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <stdio.h>
#include <unistd.h>

static bool has_driver(struct energy_meter *meter)
{
    static const char *const devices[] = {"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"};
    char path[PATH_MAX];
    bool found = false, closed = false;
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices) && !found; i++) {
        if (!energy_meter_path(meter, path, "%s", devices[i])) {
            return false;
        }
        found = access(path, R_OK | W_OK) == 0;
        closed = closed || (!found && errno == EACCES);
    }
    return found ||
           energy_meter_fail(
               meter, "%s",
               closed ? "root alone may talk to the server's management controller: run as "
                        "root, or permit it with sudo chmod a+rw /dev/ipmi0"
                      : "there is no /dev/ipmi0: this machine has no management controller, "
                        "or its driver is not loaded (sudo modprobe ipmi_devintf ipmi_si)");
}

// Watts now, and whether power is measured at all.
static bool ask(struct energy_meter *meter, ipmi_ctx_t ctx, double *watts)
{
    uint64_t now = 0, active = 0;
    fiid_obj_t answer = fiid_obj_create(tmpl_cmd_dcmi_get_power_reading_rs);
    bool ok = answer &&
              ipmi_cmd_dcmi_get_power_reading(
                  ctx, IPMI_DCMI_POWER_READING_MODE_SYSTEM_POWER_STATISTICS, 0, answer) >= 0 &&
              FIID_OBJ_GET(answer, "current_power", &now) >= 0 &&
              FIID_OBJ_GET(answer, "power_reading_state.power_measurement", &active) >= 0;
    if (!ok) {
        energy_meter_fail(meter, "the management controller does not tell its power: %s",
                          ipmi_ctx_errormsg(ctx));
    } else if (active == 0) {
        ok = energy_meter_fail(meter, "the management controller does not measure power now");
    }
    fiid_obj_destroy(answer);
    *watts = (double)now;
    return ok;
}

static bool ipmi_open(struct energy_meter *meter, const char *argument)
{
    double watts;
    (void)argument;
    if (!has_driver(meter)) {
        return false;
    }
    ipmi_ctx_t ctx = ipmi_ctx_create();
    if (!ctx) {
        return energy_meter_fail(meter, "no memory");
    }
    bool ok =
        ipmi_ctx_find_inband(ctx, NULL, 0, 0, 0, NULL, 0, 0) > 0 ||
        energy_meter_fail(meter, "no management controller answers: %s", ipmi_ctx_errormsg(ctx));
    if (!ok || !ask(meter, ctx, &watts)) {
        ipmi_ctx_destroy(ctx);
        return false;
    }
    meter->scope = ENERGY_WALL;
    meter->is_watts = true;
    snprintf(meter->what, sizeof(meter->what), "the server's own meter, by DCMI");
    meter->state = ctx;
    return true;
}

static bool ipmi_read(struct energy_meter *meter, struct energy_account *account)
{
    double watts;
    if (!ask(meter, meter->state, &watts)) {
        return false;
    }
    energy_account_watts(account, energy_meter_now_s(meter), watts);
    return true;
}

static void ipmi_close(struct energy_meter *meter)
{
    ipmi_ctx_close(meter->state);
    ipmi_ctx_destroy(meter->state);
}

#else

static bool ipmi_open(struct energy_meter *meter, const char *argument)
{
    (void)argument;
    return energy_meter_fail(meter, "this program was built without libfreeipmi (Debian: "
                                    "libfreeipmi-dev); build it again with that");
}

static bool ipmi_read(struct energy_meter *meter, struct energy_account *account)
{
    (void)account;
    return ipmi_open(meter, NULL);
}

static void ipmi_close(struct energy_meter *meter)
{
    (void)meter;
}

#endif

const struct energy_meter_kind energy_meter_ipmi = {
    .name = "ipmi",
    .help = "the server's own meter, by its management controller",
    .open = ipmi_open,
    .read = ipmi_read,
    .close = ipmi_close,
    .period_s = 1.0,
};
