// SPDX-License-Identifier: Apache-2.0
#include "counter.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARY_PIECE_MAX = 16640 }; // bytes: the panel and its alignment

static atomic_bool counting;
static atomic_long own_calls, library_large;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

// Whether the caller is inside oneDNN or the C++ and OpenMP run-times it uses.
static bool from_library(const void *caller)
{
    Dl_info where;
    if (!dladdr(caller, &where) || !where.dli_fname) {
        return false;
    }
    return strstr(where.dli_fname, "libdnnl") || strstr(where.dli_fname, "libstdc++") ||
           strstr(where.dli_fname, "libgomp");
}

static void note(size_t bytes, const void *caller)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) {
        return;
    }
    if (!from_library(caller)) {
        atomic_fetch_add(&own_calls, 1);
    } else if (bytes > LIBRARY_PIECE_MAX) {
        atomic_fetch_add(&library_large, 1);
    }
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t nmemb, size_t size)
{
    note(nmemb * size, __builtin_return_address(0));
    return __libc_calloc(nmemb, size);
}

__attribute__((visibility("default"))) void *realloc(void *ptr, size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_realloc(ptr, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **memptr, size_t alignment,
                                                          size_t size)
{
    note(size, __builtin_return_address(0));
    *memptr = __libc_memalign(alignment, size);
    return *memptr ? 0 : 12;
}

void counter_clear(void)
{
    atomic_store(&own_calls, 0);
    atomic_store(&library_large, 0);
}

void counter_start(void)
{
    atomic_store(&counting, true);
}

void counter_stop(void)
{
    atomic_store(&counting, false);
}

long counter_own(void)
{
    return atomic_load(&own_calls);
}

long counter_library_large(void)
{
    return atomic_load(&library_large);
}
