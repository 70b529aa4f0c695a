// SPDX-License-Identifier: Apache-2.0
// For implementers: a kind of meter. One thread at a time.
#ifndef ENERGY_METER_KIND_H
#define ENERGY_METER_KIND_H

#include <limits.h>

#include "energy/meter.h"

struct energy_meter {
    const struct energy_meter_kind *kind;
    struct energy_world world; // all filled in
    enum energy_scope scope;
    char what[256]; // it reads
    char why[512];  // it cannot, or not any more; and what to do
    double gap_most_s;
    bool is_watts; // it tells watts; else it counts joules
    void *state;   // the kind's own
};

struct energy_meter_kind {
    const char *name, *help;
    // Fills what, scope and state; or says why not, and leaves nothing open. `argument` is what
    // follows the colon, NULL without one.
    bool (*open)(struct energy_meter *meter, const char *argument);
    // Everything new. False: it is no more, and `why` says why.
    bool (*read)(struct energy_meter *meter, struct energy_account *account);
    void (*close)(struct energy_meter *meter); // NULL: `state` is freed
    double period_s;
    bool needs_argument; // and so is not tried by `auto`
};

#define ENERGY_METER_LIST(row)     row(powercap) row(hwmon) row(ipmi) row(csv) row(cmd)
#define ENERGY_METER_DECLARE(name) extern const struct energy_meter_kind energy_meter_##name;
ENERGY_METER_LIST(ENERGY_METER_DECLARE)
#undef ENERGY_METER_DECLARE

// Sets `why`; returns false.
bool energy_meter_fail(struct energy_meter *meter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// ROOT/FORMAT…: false, and `why`, if it is too long.
bool energy_meter_path(struct energy_meter *meter, char path[PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The first line of a file, without its end. False, errno: it cannot be read (EILSEQ: it is empty).
bool energy_read_line(const char *path, char *text, size_t size);
// A whole number of a file. False, errno: it cannot be read (EILSEQ: it is no such number).
bool energy_read_count(const char *path, uint64_t *out);
// The names in a folder that begin with `prefix`, sorted, at most `most`: how many, −1 if it cannot
// be read.
enum { ENERGY_NAME_MAX = 64 };
int energy_list_folder(const char *path, const char *prefix, char names[][ENERGY_NAME_MAX],
                       int most);

#endif
