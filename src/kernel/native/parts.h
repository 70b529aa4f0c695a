// SPDX-License-Identifier: Apache-2.0
// Cutting a count (channels, pixels) into as few parts of at most `most` as there can be, equal
// give or take one. Pure.
#ifndef KERNEL_NATIVE_PARTS_H
#define KERNEL_NATIVE_PARTS_H

static inline int part_count(int count, int most)
{
    return (count + most - 1) / most;
}

// Where part `index` begins.
static inline int part_begin(int count, int most, int index)
{
    int parts = part_count(count, most), longer = count % parts;
    return count / parts * index + (index < longer ? index : longer);
}

#endif
