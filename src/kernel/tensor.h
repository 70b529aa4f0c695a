// SPDX-License-Identifier: Apache-2.0
// Shapes and memory layouts of feature maps.
#ifndef KERNEL_TENSOR_H
#define KERNEL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_shape {
    int n, c, h, w;
};

// NCHW is plain. The blocked layouts keep 8 or 16 neighbouring channels of a pixel together:
// [n][⌈c/block⌉][h][w][block]; the lanes beyond c in the last block are always zero, and every op
// keeps them so.
enum kernel_layout { KERNEL_NCHW, KERNEL_NCHW8C, KERNEL_NCHW16C };

struct kernel_tensor {
    struct kernel_shape shape;
    enum kernel_layout layout;
};

// 1, 8 or 16.
int kernel_layout_block(enum kernel_layout layout);
// Channels with the padding of the layout.
int kernel_tensor_padded_channels(struct kernel_tensor t);
// Floats of one sample and of all n, padding included.
size_t kernel_tensor_row_floats(struct kernel_tensor t);
size_t kernel_tensor_floats(struct kernel_tensor t);
size_t kernel_tensor_bytes(struct kernel_tensor t);
bool kernel_shape_equal(struct kernel_shape a, struct kernel_shape b);

#endif
