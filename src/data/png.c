// SPDX-License-Identifier: Apache-2.0
// PNG through libpng: 8 bits, no palette, no transparency, whatever was stored.
#include <png.h>
#include <string.h>

#include "data/image.h"

enum stn_status data_png_decode(struct data_workspace *workspace, const uint8_t *bytes, size_t size,
                                int channels, const struct data_view_rule *rule,
                                struct data_picture *out)
{
    png_image png;
    memset(&png, 0, sizeof(png));
    png.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&png, bytes, size)) {
        return data_workspace_fail(workspace, STN_ERR_CORRUPT, "%s: damaged PNG: %s",
                                   workspace->path, png.message);
    }
    enum stn_status status = data_image_check_size(workspace, png.width, png.height);
    if (status != STN_OK) {
        goto out_free;
    }
    png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; // 16 bits without a gamma: as 8 bits, only finer
    uint8_t *pixels = data_workspace_reserve(workspace, &workspace->pixels, PNG_IMAGE_SIZE(png));
    if (!pixels) {
        status = STN_ERR_NO_MEMORY;
        goto out_free;
    }
    const png_color paper = {255, 255, 255}; // shows through where the picture is transparent
    if (!png_image_finish_read(&png, &paper, pixels, 0, NULL)) {
        status = data_workspace_fail(workspace, STN_ERR_CORRUPT, "%s: damaged PNG: %s",
                                     workspace->path, png.message);
        goto out_free;
    }
    int width = (int)png.width, height = (int)png.height;
    *out = (struct data_picture){.image = {pixels, width, height, channels},
                                 .view = data_view_choose(rule, width, height)};
out_free:
    png_image_free(&png);
    return status;
}
