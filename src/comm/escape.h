// SPDX-License-Identifier: Apache-2.0
// A way out of Open MPI. When a TCP connection breaks, it ends the process from inside whatever MPI call
// happens to run, before anybody could say which node was lost. Here such a call returns instead, but MPI
// must not be entered any more then. For this folder.
#ifndef COMM_ESCAPE_H
#define COMM_ESCAPE_H

#include <stdbool.h>

// call(context), with its result in *result. False: MPI wanted to end the process; `call` has not
// finished and never will.
bool comm_escape_call(int (*call)(void *), void *context, int *result);

#endif
