// SPDX-License-Identifier: Apache-2.0
// What a grouped 1×1 convolution holds, for the files that run it (grouped.c) and compute its
// weight gradient (grouped_gradient.c).
#ifndef NATIVE_GROUPED_H
#define NATIVE_GROUPED_H

#include "kernel/native/native.h"

// Neighbouring blocks of outputs that read the same inputs. Its weights are packed in runs of at
// most SIMD_PRODUCT_BLOCKS blocks, each [in_channels][blocks of the run][block].
struct grouped_band {
    int out_block, out_blocks;
    int in_block, in_channels; // from the first channel of in_block on
    float *weights;
};

// One direction: `out` is what is written.
struct grouped_side {
    struct native_chunks in, out;
    int in_group, out_group; // channels of a group
    struct grouped_band *bands;
    int band_count;
};

struct grouped {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct grouped_side forward, data;
    float *bias; // padded
    void *pages; // hold weights and bias
    size_t page_bytes;
};

// This thread's share of dw += the gradient over the first `rows` samples; called by the whole
// team. Elements are shared out, so that the sums do not depend on the number of threads.
void native_grouped_outer(const struct grouped *grouped, const float *x, const float *dy, int rows,
                          float *dw);

#endif
