// SPDX-License-Identifier: Apache-2.0
// The arithmetic of shapes and layouts. Pure; any thread.
#include "kernel/tensor.h"

int kernel_layout_block(enum kernel_layout layout)
{
    switch (layout) {
    case KERNEL_NCHW8C: return 8;
    case KERNEL_NCHW16C: return 16;
    case KERNEL_NCHW: break;
    }
    return 1;
}

int kernel_tensor_padded_channels(struct kernel_tensor t)
{
    const int block = kernel_layout_block(t.layout);
    return (t.shape.c + block - 1) / block * block;
}

size_t kernel_tensor_row_floats(struct kernel_tensor t)
{
    return (size_t)kernel_tensor_padded_channels(t) * (size_t)t.shape.h * (size_t)t.shape.w;
}

size_t kernel_tensor_floats(struct kernel_tensor t)
{
    return (size_t)t.shape.n * kernel_tensor_row_floats(t);
}

size_t kernel_tensor_bytes(struct kernel_tensor t)
{
    return kernel_tensor_floats(t) * sizeof(float);
}

bool kernel_shape_equal(struct kernel_shape a, struct kernel_shape b)
{
    return a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w;
}
