// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16, HUGE_PAGE = 2 * 1024 * 1024 };

struct base_arena_chunk {
    struct base_arena_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void base_arena_init(struct base_arena *arena)
{
    arena->chunks = NULL;
}

void base_arena_fini(struct base_arena *arena)
{
    struct base_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct base_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}

static struct base_arena_chunk *chunk_add(struct base_arena *arena, size_t at_least)
{
    size_t size = at_least > CHUNK_BYTES ? at_least : CHUNK_BYTES;
    struct base_arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);
    if (!chunk) {
        return NULL;
    }
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *base_arena_alloc(struct base_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct base_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < rounded) {
        chunk = chunk_add(arena, rounded);
        if (!chunk) {
            return NULL;
        }
    }
    void *result = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return result;
}

char *base_arena_strdup(struct base_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = base_arena_alloc(arena, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *base_arena_printf(struct base_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        return NULL;
    }
    char *text = base_arena_alloc(arena, (size_t)length + 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}

void *base_pages_alloc(size_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX - HUGE_PAGE) {
        return NULL;
    }
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    if (bytes >= HUGE_PAGE) {
        // A hint: kernels without huge pages say no, and that is fine.
        (void)madvise(pages, bytes, MADV_HUGEPAGE);
    }
    return pages;
}

void base_pages_free(void *pages, size_t bytes)
{
    if (pages) {
        munmap(pages, bytes);
    }
}
