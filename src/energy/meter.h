// SPDX-License-Identifier: Apache-2.0
// What can tell the energy of this machine, for those who want to know it. A meter is opened by a
// spec as people write it and read by one thread (energy/sampler.h has one):
//
//     auto            the first of the list that can be read here
//     powercap        counters of the processor (Intel and AMD)
//     hwmon[:CHIP]    power sensors of the board
//     ipmi            the server's own meter, by its management controller
//     csv:FILE        the log of a wall meter: time and watts
//     cmd:PROGRAM     a program that prints watts, a line each
//
// (`none` and `model:DEVICE` are no meters: energy/spec.h.) Energy that cannot be read is unknown:
// never 0, and never a constant. A new kind of meter is a file and a row of ENERGY_METER_LIST.
#ifndef ENERGY_METER_H
#define ENERGY_METER_H

#include <stddef.h>

#include "energy/account.h"
#include "stannis/status.h"

// What of a machine a meter sees.
#define ENERGY_SCOPE_LIST(row) row(CPU, "cpu") row(BOARD, "board") row(WALL, "wall")
enum energy_scope {
#define ENERGY_SCOPE_CONSTANT(id, word) ENERGY_##id,
    ENERGY_SCOPE_LIST(ENERGY_SCOPE_CONSTANT)
#undef ENERGY_SCOPE_CONSTANT
};
const char *energy_scope_name(enum energy_scope scope);

// Where a meter looks; NULL: this machine, now.
struct energy_world {
    const char *root;                 // before every path: "", or a made-up tree
    double (*clock_s)(void *context); // steady
    double (*utc_s)(void *context);   // seconds since 1970
    void *context;
};

struct energy_meter;

// Refused: a spec that is none, and what its kind needs is missing. Nothing is opened.
STN_MUST_CHECK enum stn_status energy_meter_check(const char *spec);
// *out is NULL for "auto" where nothing can be read. Refused: anything else that cannot be read.
STN_MUST_CHECK enum stn_status energy_meter_open(const char *spec, const struct energy_world *world,
                                                 struct energy_meter **out);
void energy_meter_close(struct energy_meter *meter); // NULL is fine
// "powercap", and what it reads: "package-0, package-1, dram".
const char *energy_meter_kind(const struct energy_meter *meter);
const char *energy_meter_what(const struct energy_meter *meter);
enum energy_scope energy_meter_scope(const struct energy_meter *meter);
double energy_meter_period_s(const struct energy_meter *meter); // how often to read it
double energy_meter_now_s(const struct energy_meter *meter);

// An account that begins now, and what has come since it was last read. False: the meter is no
// more, and energy_meter_why says why.
struct energy_account energy_meter_begin(const struct energy_meter *meter);
bool energy_meter_read(struct energy_meter *meter, struct energy_account *account);
const char *energy_meter_why(const struct energy_meter *meter);
struct energy_total energy_meter_until(const struct energy_meter *meter,
                                       const struct energy_account *account, double at_s);

// What each kind finds on this machine, in the order of `auto`.
struct energy_finding {
    const char *kind, *help;
    bool usable;
    enum energy_scope scope;
    char text[512];             // what it reads, or why it cannot and what to do
    struct energy_meter *meter; // open, if usable; to be closed
};
int energy_meter_find(const struct energy_world *world, struct energy_finding out[], int most);
enum { ENERGY_FINDINGS_MAX = 8 };

#endif
