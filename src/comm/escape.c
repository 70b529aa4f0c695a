// SPDX-License-Identifier: Apache-2.0
// This relies on two names from the inside of Open MPI 4. Another MPI does not know them, and
// nothing is changed.
//
// - It ends a process by ompi_rte_abort(), which its parts look up by name: the program's own comes
//   first. That one leaves the call that comm_escape_call made; elsewhere, in MPI_Init or on a
//   thread of Open MPI's own, it hands on to the library's.
// - It explains itself through the pointer opal_show_help, whose function waits for mpirun's
//   answer.
#include "comm/escape.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Where this thread goes on when Open MPI wants to end the process. NULL: it is outside of
// comm_escape_call.
static _Thread_local jmp_buf *way_out;

typedef int help_function(const char *file, const char *topic, int with_header, ...);
static help_function **help; // Open MPI's pointer; NULL: it has none
static help_function *help_of_library;

static int stay_silent(const char *file, const char *topic, int with_header, ...)
{
    (void)file;
    (void)topic;
    (void)with_header;
    return 0;
}

void comm_escape_init(void)
{
    help = dlsym(RTLD_DEFAULT, "opal_show_help");
    help_of_library = help ? *help : NULL;
}

static void enter(jmp_buf *where)
{
    way_out = where;
    if (help) {
        *help = stay_silent;
    }
}

static void leave(void)
{
    way_out = NULL;
    if (help) {
        *help = help_of_library;
    }
}

bool comm_escape_call(int (*call)(void *), void *context, int *result)
{
    jmp_buf here;
    if (setjmp(here) != 0) {
        leave();
        return false;
    }
    enter(&here);
    *result = call(context);
    leave();
    return true;
}

typedef void end_function(int code, char *format, ...);

// Open MPI's declaration of it, as far as callers can tell.
end_function ompi_rte_abort __attribute__((visibility("default"), noreturn));

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
