// SPDX-License-Identifier: Apache-2.0
// The files of share/devices as texts inside the program, made by the build (cmake/Embed.cmake): it
// finds them wherever it is run from.
#ifndef SIM_DEVICE_BUILTIN_H
#define SIM_DEVICE_BUILTIN_H

#include <stddef.h>

struct sim_builtin {
    const char *name; // of the file
    const char *text;
    size_t bytes;
};

extern const struct sim_builtin sim_builtins[];
extern const int sim_builtin_count;

#endif
