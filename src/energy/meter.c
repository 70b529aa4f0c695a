// SPDX-License-Identifier: Apache-2.0
#include "energy/meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "energy/meter_kind.h"

static const struct energy_meter_kind *const kinds[] = {
#define ROW(name) &energy_meter_##name,
    ENERGY_METER_LIST(ROW)
#undef ROW
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static double real_clock_s(void *context)
{
    (void)context;
    return base_clock_seconds();
}

static double real_utc_s(void *context)
{
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *energy_scope_name(enum energy_scope scope)
{
    static const char *const names[] = {
#define ROW(id, word) word,
        ENERGY_SCOPE_LIST(ROW)
#undef ROW
    };
    return names[scope];
}

// ---- opening -----------------------------------------------------------------------------------

// NULL: no memory. Not yet open.
static struct energy_meter *meter_create(const struct energy_meter_kind *kind,
                                         const struct energy_world *world)
{
    struct energy_meter *meter = calloc(1, sizeof(*meter));
    if (meter) {
        meter->kind = kind;
        meter->gap_most_s = 5.0 * kind->period_s;
        meter->world = world ? *world : (struct energy_world){0};
        meter->world.root = meter->world.root ? meter->world.root : "";
        meter->world.clock_s = meter->world.clock_s ? meter->world.clock_s : real_clock_s;
        meter->world.utc_s = meter->world.utc_s ? meter->world.utc_s : real_utc_s;
    }
    return meter;
}

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for a power meter");
}

// *out NULL: none of those that need no argument can be read.
static enum stn_status open_any(const struct energy_world *world, struct energy_meter **out)
{
    *out = NULL;
    for (int i = 0; i < KINDS && !*out; i++) {
        if (kinds[i]->needs_argument) {
            continue;
        }
        struct energy_meter *meter = meter_create(kinds[i], world);
        if (!meter) {
            return fail_memory();
        }
        if (kinds[i]->open(meter, NULL)) {
            *out = meter;
        } else {
            free(meter);
        }
    }
    return STN_OK;
}

static const struct energy_meter_kind *find_kind(const char *spec, size_t length)
{
    for (int i = 0; i < KINDS; i++) {
        if (strlen(kinds[i]->name) == length && strncmp(kinds[i]->name, spec, length) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

static enum stn_status fail_unknown(const char *spec)
{
    const char *names[KINDS + 4] = {"auto", "none", "model"};
    for (int i = 0; i < KINDS; i++) {
        names[3 + i] = kinds[i]->name;
    }
    const char *meant = base_did_you_mean(spec, names);
    return stn_fail(
        STN_ERR_INVALID,
        "power %s: unknown meter%s%s%s; there are auto, powercap, hwmon, ipmi, csv:FILE, "
        "cmd:PROGRAM, model:DEVICE and none",
        spec, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static const struct energy_meter_kind *kind_of(const char *spec)
{
    const char *colon = strchr(spec, ':');
    return find_kind(spec, colon ? (size_t)(colon - spec) : strlen(spec));
}

enum stn_status energy_meter_check(const char *spec)
{
    const struct energy_meter_kind *kind = kind_of(spec);
    const char *colon = strchr(spec, ':');
    if (!kind && strcmp(spec, "auto") != 0) {
        return fail_unknown(spec);
    }
    if (kind && kind->needs_argument && (!colon || colon[1] == '\0')) {
        return stn_fail(STN_ERR_INVALID, "power %s: something is missing behind it: %s", spec,
                        kind->help);
    }
    return STN_OK;
}

enum stn_status energy_meter_open(const char *spec, const struct energy_world *world,
                                  struct energy_meter **out)
{
    *out = NULL;
    enum stn_status checked = energy_meter_check(spec);
    if (checked != STN_OK || strcmp(spec, "auto") == 0) {
        return checked == STN_OK ? open_any(world, out) : checked;
    }
    const char *colon = strchr(spec, ':');
    const struct energy_meter_kind *kind = kind_of(spec);
    struct energy_meter *meter = meter_create(kind, world);
    if (!meter) {
        return fail_memory();
    }
    if (!kind->open(meter, colon ? colon + 1 : NULL)) {
        enum stn_status status = stn_fail(STN_ERR_INVALID, "power %s: %s", spec, meter->why);
        free(meter);
        return status;
    }
    *out = meter;
    return STN_OK;
}

void energy_meter_close(struct energy_meter *meter)
{
    if (meter) {
        if (meter->kind->close) {
            meter->kind->close(meter);
        } else {
            free(meter->state);
        }
        free(meter);
    }
}

int energy_meter_find(const struct energy_world *world, struct energy_finding out[], int most)
{
    int count = 0;
    for (int i = 0; i < KINDS && count < most; i++) {
        struct energy_finding *finding = &out[count];
        struct energy_meter *meter =
            kinds[i]->needs_argument ? NULL : meter_create(kinds[i], world);
        if (!meter) {
            continue;
        }
        *finding = (struct energy_finding){.kind = kinds[i]->name, .help = kinds[i]->help};
        finding->usable = kinds[i]->open(meter, NULL);
        finding->scope = meter->scope;
        snprintf(finding->text, sizeof(finding->text), "%s",
                 finding->usable ? meter->what : meter->why);
        if (finding->usable) {
            finding->meter = meter;
        } else {
            free(meter);
        }
        count++;
    }
    return count;
}

// ---- an open one -------------------------------------------------------------------------------

const char *energy_meter_kind(const struct energy_meter *meter)
{
    return meter->kind->name;
}

const char *energy_meter_what(const struct energy_meter *meter)
{
    return meter->what;
}

enum energy_scope energy_meter_scope(const struct energy_meter *meter)
{
    return meter->scope;
}

double energy_meter_period_s(const struct energy_meter *meter)
{
    return meter->kind->period_s;
}

double energy_meter_now_s(const struct energy_meter *meter)
{
    return meter->world.clock_s(meter->world.context);
}

struct energy_account energy_meter_begin(const struct energy_meter *meter)
{
    return energy_account_begin(energy_meter_now_s(meter), meter->gap_most_s);
}

bool energy_meter_read(struct energy_meter *meter, struct energy_account *account)
{
    account->gap_most_s = meter->gap_most_s;
    return meter->kind->read(meter, account);
}

const char *energy_meter_why(const struct energy_meter *meter)
{
    return meter->why;
}

struct energy_total energy_meter_until(const struct energy_meter *meter,
                                       const struct energy_account *account, double at_s)
{
    return energy_account_until(account, at_s, meter->is_watts);
}
