// SPDX-License-Identifier: Apache-2.0
// Pictures in memory and in files. Decoding goes by content, not by file name; one file a format.
#ifndef DATA_IMAGE_H
#define DATA_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "data/view.h"
#include "data/workspace.h"
#include "stannis/status.h"

// A larger picture is a mistake or an attack on our memory.
enum { DATA_IMAGE_PIXELS_MAX = 64 << 20 };

struct data_image {
    const uint8_t *pixels; // [height][width][channels]; borrowed
    int width, height, channels;
};

// A picture and the part of it to look at.
struct data_picture {
    struct data_image image;
    struct data_view view;
};

// Reads the file named workspace->path, converts to `channels` (1 or 3), possibly smaller than
// stored but not so small that the rule's view would have to be enlarged for it. The picture is
// valid until the workspace is used again.
STN_MUST_CHECK enum stn_status data_image_read(struct data_workspace *workspace, int channels,
                                               const struct data_view_rule *rule,
                                               struct data_picture *out);

// The decoders: `bytes` of the file workspace->path.
STN_MUST_CHECK enum stn_status data_jpeg_decode(struct data_workspace *workspace,
                                                const uint8_t *bytes, size_t size, int channels,
                                                const struct data_view_rule *rule,
                                                struct data_picture *out);
STN_MUST_CHECK enum stn_status data_png_decode(struct data_workspace *workspace,
                                               const uint8_t *bytes, size_t size, int channels,
                                               const struct data_view_rule *rule,
                                               struct data_picture *out);
// Refuses empty and absurd sizes before memory is asked for.
STN_MUST_CHECK enum stn_status data_image_check_size(struct data_workspace *workspace,
                                                     int64_t width, int64_t height);

#endif
