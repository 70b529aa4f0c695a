// SPDX-License-Identifier: Apache-2.0
// Many small things of one lifetime, freed together. Not for several threads at once.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct base_arena_chunk;

// Zero-initialise, or base_arena_init.
struct base_arena {
    struct base_arena_chunk *chunks;
};

void base_arena_init(struct base_arena *arena);
void base_arena_fini(struct base_arena *arena);
// Zeroed, 16-byte aligned; NULL when memory is out.
void *base_arena_alloc(struct base_arena *arena, size_t bytes);
char *base_arena_strdup(struct base_arena *arena, const char *text);
char *base_arena_printf(struct base_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// One large, zeroed, page-aligned block, on huge pages where the system has them; NULL when memory
// is out.
void *base_pages_alloc(size_t bytes);
void base_pages_free(void *pages, size_t bytes);

#endif
