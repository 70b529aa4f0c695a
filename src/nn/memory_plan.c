// SPDX-License-Identifier: Apache-2.0
// Greedy by size: the largest buffer first, each at the lowest offset where nothing alive at the
// same time lies. Not optimal (that is NP-hard), but the large buffers of a network decide, and
// they are placed first.
#include "nn/memory_plan.h"

#include <stdint.h>
#include <stdlib.h>

static int by_size_then_time(const void *left, const void *right)
{
    const struct nn_plan_buffer *a = *(struct nn_plan_buffer *const *)left;
    const struct nn_plan_buffer *b = *(struct nn_plan_buffer *const *)right;
    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    return a->first != b->first ? a->first - b->first : (a > b) - (a < b);
}

static size_t rounded(size_t bytes)
{
    return (bytes + NN_PLAN_ALIGNMENT - 1) / NN_PLAN_ALIGNMENT * NN_PLAN_ALIGNMENT;
}

// The lowest gap between those of the `placed` buffers, sorted by offset, that live at the same
// time.
static size_t lowest_gap(const struct nn_plan_buffer *buffer, struct nn_plan_buffer *const *placed,
                         int count)
{
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct nn_plan_buffer *other = placed[i];
        if (other->first > buffer->last || buffer->first > other->last) {
            continue;
        }
        if (other->offset >= offset + rounded(buffer->bytes)) {
            break;
        }
        size_t end = other->offset + rounded(other->bytes);
        offset = end > offset ? end : offset;
    }
    return offset;
}

static void insert(struct nn_plan_buffer *buffer, struct nn_plan_buffer **placed, int count)
{
    int at = count;
    for (; at > 0 && placed[at - 1]->offset > buffer->offset; at--) {
        placed[at] = placed[at - 1];
    }
    placed[at] = buffer;
}

size_t nn_memory_plan(struct nn_plan_buffer *buffers, int count)
{
    struct nn_plan_buffer **order = calloc((size_t)count + 1, sizeof(*order));
    struct nn_plan_buffer **placed = calloc((size_t)count + 1, sizeof(*placed));
    size_t total = SIZE_MAX;
    if (!order || !placed) {
        goto out;
    }
    for (int i = 0; i < count; i++) {
        order[i] = &buffers[i];
    }
    qsort(order, (size_t)count, sizeof(*order), by_size_then_time);
    total = 0;
    for (int i = 0; i < count; i++) {
        order[i]->offset = lowest_gap(order[i], placed, i);
        insert(order[i], placed, i);
        size_t end = order[i]->offset + rounded(order[i]->bytes);
        total = end > total ? end : total;
    }
out:
    free(order);
    free(placed);
    return total;
}
