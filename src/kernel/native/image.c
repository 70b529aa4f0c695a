// SPDX-License-Identifier: Apache-2.0
// The weight gradient of a convolution over a plain image, where oneDNN has only its reference code
// (one input channel). Every sample and block of output channels gives its own partial sums, which
// are added in the order of the samples: the result does not depend on the number of threads.
#include "kernel/native/native.h"

struct image {
    const struct kernel_conv *desc;
    struct simd_plane plane;
    struct native_chunks y;
    size_t taps, partial_floats; // of one input channel; of one sample's block
};

static struct image image_of(const struct kernel_conv *d, struct kernel_tensor y)
{
    struct image image = {
        .desc = d,
        .plane = {.h = d->x.shape.h,
                  .w = d->x.shape.w,
                  .oh = y.shape.h,
                  .ow = y.shape.w,
                  .window = d->window},
        .y = native_chunks_of(y),
        .taps = (size_t)d->window.size[0] * (size_t)d->window.size[1],
    };
    image.partial_floats = (size_t)d->x.shape.c * image.taps * (size_t)image.y.block;
    return image;
}

bool native_image_fits(const struct kernel_conv *d)
{
    return d->x.layout == KERNEL_NCHW && d->groups == 1 &&
           d->window.size[1] <= SIMD_IMAGE_KERNEL_MAX;
}

size_t native_image_scratch_bytes(const struct kernel_conv *d, struct kernel_tensor y)
{
    struct image image = image_of(d, y);
    return (size_t)image.y.n * (size_t)image.y.blocks * image.partial_floats * sizeof(float);
}

// Partial sums of output channel `channel`, over the samples, added to its plain weights.
static void collect(const struct image *image, const struct kernel_io *io, int channel)
{
    const float *partials = io->scratch; // [n][blocks][ic][kh][kw][block]
    size_t weights = (size_t)image->desc->x.shape.c * image->taps, block = (size_t)image->y.block;
    size_t stride = (size_t)image->y.blocks * image->partial_floats;
    const float *first =
        partials + (size_t)channel / block * image->partial_floats + (size_t)channel % block;
    for (size_t w = 0; w < weights; w++) {
        double sum = 0.0;
        for (int n = 0; n < io->rows; n++) {
            sum += (double)first[(size_t)n * stride + w * block];
        }
        io->param_grads[0][(size_t)channel * weights + w] += (float)sum;
    }
}

void native_image_weights(const struct kernel_team *team, const struct kernel_conv *d,
                          struct kernel_tensor y, const struct kernel_io *io)
{
    struct image image = image_of(d, y);
    const struct simd_kernels *simd = simd_kernels_for(image.y.block);
    int inputs = d->x.shape.c, chunks = io->rows * image.y.blocks;
    size_t pixels = (size_t)d->x.shape.h * (size_t)d->x.shape.w;
    float *partials = io->scratch;
#pragma omp parallel num_threads(native_team(team, &image.y))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < chunks; i++) {
            const float *x = io->x[0] + (size_t)(i / image.y.blocks * inputs) * pixels;
            for (int c = 0; c < inputs; c++) {
                simd->image_weights(&image.plane, x + (size_t)c * pixels,
                                    io->dy + (size_t)i * image.y.floats,
                                    partials + (size_t)i * image.partial_floats +
                                        (size_t)c * image.taps * (size_t)image.y.block);
            }
        }
#pragma omp for schedule(static)
        for (int channel = 0; channel < image.y.channels; channel++) {
            collect(&image, io, channel);
        }
    }
}
