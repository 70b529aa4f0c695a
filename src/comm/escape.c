// SPDX-License-Identifier: Apache-2.0
// Open MPI 4 ends a process by ompi_rte_abort(), which its parts look up by name: the program's own comes
// first. It leaves the call that comm_escape_call made; elsewhere, in MPI_Init or on a thread of Open
// MPI's own, it hands on to the library's. With another MPI nobody ever calls it. Nothing else of
// Open MPI's inside is relied on.
#include "comm/escape.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Of this thread: where to go on when the process is to end. NULL: outside of comm_escape_call.
static _Thread_local jmp_buf *way_out;

bool comm_escape_call(int (*call)(void *), void *context, int *result)
{
    jmp_buf here;
    if (setjmp(here) != 0) {
        way_out = NULL;
        return false;
    }
    way_out = &here;
    *result = call(context);
    way_out = NULL;
    return true;
}

typedef void end_function(int code, char *format, ...);

// Open MPI's declaration of it, as far as callers can tell.
__attribute__((visibility("default"), noreturn)) end_function ompi_rte_abort;

void ompi_rte_abort(int code, char *format, ...)
{
    if (way_out) {
        longjmp(*way_out, 1);
    }
    char text[1024] = "", as_is[] = "%s";
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
    }
    end_function *of_library;
    void *symbol = dlsym(RTLD_NEXT, "ompi_rte_abort");
    memcpy(&of_library, &symbol, sizeof(of_library));
    if (of_library) {
        of_library(code, format ? as_is : NULL, text);
    }
    __builtin_trap(); // the library's does not return
}
