// SPDX-License-Identifier: Apache-2.0
// Which of our convolutions computes a shape, and what all convolutions share.
#include <string.h>

#include "kernel/native/native.h"

struct kernel_op_traits native_conv_traits(const struct kernel_team *team,
                                           const struct kernel_conv *d)
{
    struct kernel_tensor y = {kernel_window_output(d->x.shape, d->window, d->out_channels),
                              team->blocked};
    return (struct kernel_op_traits){
        .name = kernel_conv_name(d),
        .y = y,
        .backward_reads = KERNEL_READS_X | (d->activation == KERNEL_LINEAR ? 0 : KERNEL_READS_Y),
        .in_place_input = -1,
        .macs = kernel_conv_macs(d, y.shape),
    };
}

void native_mask_and_sum_bias(const struct kernel_team *team, const struct kernel_conv *d,
                              struct kernel_tensor y, const struct kernel_io *io)
{
    struct native_chunks c = native_chunks_of(y);
    const struct simd_kernels *simd = simd_kernels_for(c.block);
    double *partials = io->scratch; // [n][padded channels]
    int padded = c.blocks * c.block;
#pragma omp parallel num_threads(native_team(team, &c))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < io->rows * c.blocks; i++) {
            size_t at = (size_t)i * c.floats;
            double *sum = partials + (size_t)(i * c.block);
            memset(sum, 0, (size_t)c.block * sizeof(*sum));
            native_mask_sum(simd, io->dy + at, d->activation == KERNEL_LINEAR ? NULL : io->y + at,
                            d->activation, c.pixels, sum);
        }
#pragma omp for schedule(static)
        for (int channel = 0; channel < (d->bias ? c.channels : 0); channel++) {
            double sum = 0.0;
            for (int n = 0; n < io->rows; n++) {
                sum += partials[n * padded + channel];
            }
            io->param_grads[1][channel] += (float)sum;
        }
    }
}

size_t native_mask_and_sum_bias_bytes(struct kernel_tensor y)
{
    return (size_t)y.shape.n * (size_t)kernel_tensor_padded_channels(y) * sizeof(double);
}

typedef bool fits_call(const struct kernel_team *team, const struct kernel_conv *d);
typedef enum stn_status create_call(struct kernel_team *team, const struct kernel_conv *d,
                                    struct kernel_op_traits traits, struct kernel_op **out);

// The first that fits computes it.
static const struct kind {
    fits_call *fits;
    create_call *create;
} kinds[] = {
    {native_depthwise_fits, native_depthwise_create},
    {native_winograd_fits, native_winograd_create},
    {native_pointwise_fits, native_pointwise_create},
    {native_grouped_fits, native_grouped_create},
};

enum stn_status native_conv_create(void *team, const struct kernel_conv *d, struct kernel_op **out)
{
    struct kernel_op_traits traits = native_conv_traits(team, d);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (kinds[i].fits(team, d)) {
            return kinds[i].create(team, d, traits, out);
        }
    }
    const struct kernel_team *own = team;
    return own->alone ? native_plain_conv_create(team, d, traits, out) : STN_OK;
}
