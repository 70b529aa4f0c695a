// SPDX-License-Identifier: Apache-2.0
// A way out of Open MPI. When a TCP connection breaks, it has mpirun print a page, which takes
// seconds while mpirun ends the job, and then ends the process from inside whatever MPI call
// happens to run, before a node could say which other one was lost. Here the page is left out and
// the call returns, but MPI must not be entered any more then. For this folder.
#ifndef COMM_ESCAPE_H
#define COMM_ESCAPE_H

#include <stdbool.h>

// Called after MPI_Init, before the first comm_escape_call.
void comm_escape_init(void);
// call(context), with its result in *result. False: MPI wanted to end the process; `call` has not
// finished and never will.
bool comm_escape_call(int (*call)(void *), void *context, int *result);

#endif
