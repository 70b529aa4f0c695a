// SPDX-License-Identifier: Apache-2.0
// Where each buffer of a step lives: buffers whose times do not overlap share memory. Pure:
// intervals in, offsets out.
#ifndef NN_MEMORY_PLAN_H
#define NN_MEMORY_PLAN_H

#include <stddef.h>

struct nn_plan_buffer {
    size_t bytes;
    int first, last; // times of first write and last use, inclusive
    size_t offset;   // out; a multiple of NN_PLAN_ALIGNMENT
};

enum { NN_PLAN_ALIGNMENT = 64 };

// Sets every offset; returns the bytes needed in all, or SIZE_MAX when memory for the planning
// itself is out.
size_t nn_memory_plan(struct nn_plan_buffer *buffers, int count);

#endif
