// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a JPEG and as a PNG: a picture that comes out lies in its buffer and can be
// resampled, as grey and as colours.
#include <math.h>

#include "data/resample.h"
#include "target.h"

enum { SIZE = 16, CHANNELS_MAX = 3 };

typedef enum stn_status decoder(struct data_workspace *workspace, const uint8_t *bytes, size_t size,
                                int channels, const struct data_view_rule *rule,
                                struct data_picture *out);

static void check_picture(struct data_workspace *workspace, const struct data_picture *picture,
                          int channels)
{
    static const float mean[CHANNELS_MAX] = {0.5F, 0.5F, 0.5F}, std[CHANNELS_MAX] = {1, 1, 1};
    float seen[CHANNELS_MAX * SIZE * SIZE];
    const struct data_image *image = &picture->image;
    fuzz_check(image->width > 0 && image->height > 0 && image->channels == channels);
    fuzz_check((int64_t)image->width * image->height <= DATA_IMAGE_PIXELS_MAX);
    struct data_levels levels = data_levels_from(channels, mean, std);
    if (data_resample(workspace, picture, SIZE, &levels, seen) == STN_OK) {
        for (int i = 0; i < channels * SIZE * SIZE; i++) {
            fuzz_check(fabsf(seen[i]) < 0.51F);
        }
    }
}

static void try(decoder *decode, const uint8_t *data, size_t size, int channels)
{
    struct data_workspace workspace;
    struct data_picture picture;
    const struct data_view_rule rule = {
        .fit = DATA_FIT_COVER, .crop = channels == 1, .flip = true, .key = size, .size = SIZE};
    data_workspace_init(&workspace);
    if (decode(&workspace, data, size, channels, &rule, &picture) == STN_OK) {
        check_picture(&workspace, &picture, channels);
    }
    data_workspace_fini(&workspace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    for (int channels = 1; channels <= CHANNELS_MAX; channels += 2) {
        try(data_jpeg_decode, data, size, channels);
        try(data_png_decode, data, size, channels);
    }
    return 0;
}
