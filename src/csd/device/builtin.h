// SPDX-License-Identifier: Apache-2.0
// The profiles of share/devices/csd as texts inside the program, made by the build
// (cmake/Embed.cmake).
#ifndef CSD_DEVICE_BUILTIN_H
#define CSD_DEVICE_BUILTIN_H

#include <stddef.h>

struct csd_builtin {
    const char *name; // of the file
    const char *text;
    size_t bytes;
};

extern const struct csd_builtin csd_builtins[];
extern const int csd_builtin_count;

#endif
