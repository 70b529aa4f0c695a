// SPDX-License-Identifier: Apache-2.0
// How an op gathers for the batch norm next to it: each piece of the strip is measured as soon as
// it is made, while it is in the cache. What comes out is what a gathering call of its own would
// give, to the bit, whoever measures which piece when.
//
//     begin → { measure × pieces on any thread → barrier → finish by the whole team }
#ifndef NATIVE_BATCHNORM_H
#define NATIVE_BATCHNORM_H

#include "kernel/native/native.h"

struct native_gather;

typedef void native_piece_call(const struct native_gather *g, int n, int block, int piece);
typedef void native_block_call(const struct native_gather *g, int n, int block);

// One call of a batch norm: views of io->saved, shared by all strips (arrays are [padded
// channels]), and of io->scratch.
struct native_gather {
    const struct batchnorm *bn;
    const struct kernel_io *io;
    native_piece_call *measure_piece;
    native_block_call *merge;
    int pieces;            // of a sample
    double *gathered[2];   // [n]: of each sample, mean and M2, or Σdz and Σdz·(x − mean)
    float *mean, *inverse; // of all rows
    float *scale, *shift;  // y = act(scale·x + shift): scale = γ/σ, shift = β − mean·scale
    float *line[3];        // dx = a·dz + b·(x − mean) + c
    double *partial[2];    // in scratch: [blocks][samples][pieces][block], what each piece gives
};

// `io` is that of the batch norm's own gathering call.
struct native_gather native_gather_forward(struct kernel_op *bn, const struct kernel_io *io);
struct native_gather native_gather_backward(struct kernel_op *bn, const struct kernel_io *io);
void native_gather_finish(const struct native_gather *p);

// A piece of block `block` of sample n is final. Padding samples are not counted.
static inline void native_gather_measure(const struct native_gather *g, int n, int block, int piece)
{
    if (n < g->io->rows) {
        g->measure_piece(g, n, block, piece);
    }
}

#endif
