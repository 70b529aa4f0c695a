// SPDX-License-Identifier: Apache-2.0
#include "engine/power.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "energy/sampler.h"
#include "sim/device.h"

// Watts of less than so many seconds are too few readings to plan with.
static const double watts_least_s = 0.5;

struct engine_power {
    struct energy_sampler *sampler; // NULL: modelled
    enum energy_scope scope;
    struct engine_watts model;
    struct energy_total rest, busy; // while resting, and computing
    struct energy_total busy_begin, begin;
    double begin_s;
};

// ---- opening -----------------------------------------------------------------------------------

static enum stn_status open_model(struct engine_power *power, const char *name, const char *file)
{
    struct sim_devices devices = {0};
    struct sim_device *device = NULL;
    enum stn_status status = sim_devices_add_builtin(&devices);
    if (!status && file) {
        status = sim_devices_add_file(&devices, file);
    }
    if (!status) {
        status = sim_devices_require(&devices, name, "power model", &device);
    }
    if (!status && !(device->power.busy_w > 0.0)) {
        status =
            stn_fail(STN_ERR_INVALID, "power model:%s: this device's profile has no power", name);
    }
    if (!status) {
        power->model = (struct engine_watts){.base_w = device->power.base_w,
                                             .idle_w = device->power.idle_w,
                                             .busy_w = device->power.busy_w,
                                             .can_off = device->power.can_off};
    }
    sim_devices_fini(&devices);
    return status;
}

// *found: there is a meter.
static enum stn_status open_meter(struct engine_power *power, const char *spec, bool *found)
{
    struct energy_meter *meter;
    enum stn_status status = energy_meter_open(spec, NULL, &meter);
    *found = !status && meter;
    if (*found) {
        power->scope = energy_meter_scope(meter);
        status = energy_sampler_start(meter, 0.0, &power->sampler);
    }
    return status;
}

enum stn_status engine_power_open(const struct engine_power_config *config,
                                  struct engine_power **out)
{
    const char *model = energy_spec_model(config->spec);
    bool is_auto = strcmp(config->spec, "auto") == 0, found = true;
    *out = NULL;
    if (energy_spec_is_none(config->spec) || (is_auto && !config->is_first)) {
        return STN_OK;
    }
    struct engine_power *power = calloc(1, sizeof(*power));
    if (!power) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a power meter");
    }
    enum stn_status status =
        model ? open_model(power, model, config->devices) : open_meter(power, config->spec, &found);
    if (status || !found) {
        engine_power_close(power);
        return status;
    }
    *out = power;
    return STN_OK;
}

void engine_power_close(struct engine_power *power)
{
    if (power) {
        energy_sampler_stop(power->sampler);
        free(power);
    }
}

enum energy_source engine_power_source(const struct engine_power *power)
{
    return !power ? ENERGY_UNKNOWN : power->sampler ? ENERGY_MEASURED : ENERGY_MODELLED;
}

// ---- at rest and busy --------------------------------------------------------------------------

static void sleep_s(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void engine_power_rest(struct engine_power *power, double seconds)
{
    struct energy_total before = {0};
    if (power && power->sampler) {
        before = energy_sampler_now(power->sampler);
    }
    sleep_s(seconds); // also without a meter: others look at what this node draws at rest
    if (power && power->sampler) {
        struct energy_total after = energy_sampler_now(power->sampler);
        power->rest = energy_total_between(&before, &after);
    }
}

void engine_power_busy_begin(struct engine_power *power)
{
    if (power && power->sampler) {
        power->busy_begin = energy_sampler_now(power->sampler);
    }
}

void engine_power_busy_end(struct engine_power *power)
{
    if (power && power->sampler) {
        struct energy_total now = energy_sampler_now(power->sampler);
        struct energy_total part = energy_total_between(&power->busy_begin, &now);
        power->busy.joules += part.joules;
        power->busy.known_s += part.known_s;
    }
}

struct engine_watts engine_power_watts(const struct engine_power *power)
{
    if (!power || !power->sampler) {
        return power ? power->model : (struct engine_watts){0};
    }
    if (power->rest.known_s < watts_least_s || power->busy.known_s < watts_least_s) {
        return (struct engine_watts){0};
    }
    double idle_w = energy_total_watts(&power->rest), busy_w = energy_total_watts(&power->busy);
    return (struct engine_watts){.idle_w = idle_w, .busy_w = fmax(busy_w, idle_w)};
}

// ---- the training ------------------------------------------------------------------------------

void engine_power_begin(struct engine_power *power)
{
    if (power && power->sampler) {
        power->begin = energy_sampler_now(power->sampler);
    } else if (power) {
        power->begin_s = base_clock_seconds();
    }
}

static struct energy_node model_now(const struct engine_power *power, double busy_s)
{
    const struct engine_watts *model = &power->model;
    double seconds = base_clock_seconds() - power->begin_s, rest_w = model->base_w + model->idle_w;
    return (struct energy_node){
        .source = ENERGY_MODELLED,
        .idle_w = rest_w,
        .total = {.joules = rest_w * seconds + (model->busy_w - model->idle_w) * busy_s,
                  .known_s = seconds}};
}

struct energy_node engine_power_now(struct engine_power *power, double busy_s)
{
    if (!power) {
        return (struct energy_node){.source = ENERGY_UNKNOWN, .idle_w = NAN};
    }
    if (!power->sampler) {
        return model_now(power, busy_s);
    }
    struct energy_total now = energy_sampler_now(power->sampler);
    bool rested = power->rest.known_s >= watts_least_s;
    return (struct energy_node){.source = ENERGY_MEASURED,
                                .scope = power->scope,
                                .idle_w = rested ? energy_total_watts(&power->rest) : NAN,
                                .total = energy_total_between(&power->begin, &now)};
}
