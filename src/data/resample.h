// SPDX-License-Identifier: Apache-2.0
// From pixels to what the network sees: the view of a picture resampled to a square, normalised,
// channels apart.
//
// Linear interpolation where the view is enlarged; where it is reduced the same triangle is widened
// to cover all source pixels, so nothing aliases. Places outside of the picture are black.
#ifndef DATA_RESAMPLE_H
#define DATA_RESAMPLE_H

#include "data/image.h"

// Byte value v of channel c becomes v·gain[c] + offset[c].
struct data_levels {
    float gain[3], offset[3];
};

struct data_levels data_levels_from(int channels, const float mean[3], const float std[3]);

// `out` is [channels][size][size].
STN_MUST_CHECK enum stn_status data_resample(struct data_workspace *workspace,
                                             const struct data_picture *picture, int size,
                                             const struct data_levels *levels, float *out);

#endif
