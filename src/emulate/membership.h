// SPDX-License-Identifier: Apache-2.0
// What a child reads from its environment. Pure; for this folder and its tests.
#ifndef EMULATE_MEMBERSHIP_H
#define EMULATE_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "emulate/emulate.h"

#define EMULATE_VARIABLE "STANNIS_EMULATE"

struct emulate_membership {
    enum emulate_method method;
    double cpus;     // of the rank asked for; 0: it is not confined
    const char *dir; // borrowed from the text
};

// The word of a method: "v1", "v2", "pacing".
const char *emulate_method_word(enum emulate_method method);
// Reads the value of STANNIS_EMULATE. False: it is none.
bool emulate_membership_parse(const char *text, int rank, struct emulate_membership *out);
// How long a process that used `cpu_ns` of CPU time in `wall_ns` has to stand still to be within
// its share.
int64_t emulate_pause_ns(int64_t cpu_ns, int64_t wall_ns, double share);

#endif
