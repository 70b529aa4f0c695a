// SPDX-License-Identifier: Apache-2.0
// The power of this node while it trains: read by a meter (energy/meter.h) in a thread, or modelled
// from a device profile and the time that it computed. One thread.
//
//     open → rest → { busy_begin, busy_end } … → begin → now × n → close
#ifndef ENGINE_POWER_H
#define ENGINE_POWER_H

#include "energy/spec.h"
#include "energy/sum.h"

struct engine_power;

// What a node draws; busy_w 0: not known.
struct engine_watts {
    double base_w; // of the box around it
    double idle_w, busy_w;
    bool can_off; // without work it is switched off
};

struct engine_power_config {
    const char *spec;    // energy/spec.h
    const char *devices; // a file of profiles besides those built in; NULL: none
    bool is_first;       // of the nodes of its machine: `auto` opens a meter there alone
};

// *out is NULL where nothing is known: `none`, and `auto` without a meter.
STN_MUST_CHECK enum stn_status engine_power_open(const struct engine_power_config *config,
                                                 struct engine_power **out);
void engine_power_close(struct engine_power *power); // NULL is fine, as in what follows

enum energy_source engine_power_source(const struct engine_power *power);
// Reads the meter for a while in which the machine has nothing to do.
void engine_power_rest(struct engine_power *power, double seconds);
// The time between is computing and nothing else.
void engine_power_busy_begin(struct engine_power *power);
void engine_power_busy_end(struct engine_power *power);
// From the profile, or from resting and being busy; what was not seen is 0.
struct engine_watts engine_power_watts(const struct engine_power *power);

// The training begins.
void engine_power_begin(struct engine_power *power);
// Since it began, of which the node has computed for `busy_s`; `name` and `machine` are left open.
struct energy_node engine_power_now(struct engine_power *power, double busy_s);

#endif
