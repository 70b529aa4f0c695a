// SPDX-License-Identifier: Apache-2.0
// What a process that interferes does with its life. For this folder.
#ifndef RIG_PROGRAM_H
#define RIG_PROGRAM_H

#include <stdbool.h>
#include <stdnoreturn.h>
#include <sys/types.h>

enum { RIG_PROGRAM_MISSING = 127 };

// In a fresh child of `parent`: computes until killed, gzip or a loop of our own for this share of
// the time. Calls only what may be called after a fork of a process with threads.
noreturn void rig_program_run(bool gzip, double share, pid_t parent);

#endif
