// SPDX-License-Identifier: Apache-2.0
// JPEG through libturbojpeg: decoded at a reduced size where the view allows it. Every picture gets
// a decoder of its own (0.4 µs): a used one carries markers and tables of the last file over to the
// next.
#include <string.h>
#include <turbojpeg.h>

#include "data/image.h"

// Halvings only. The library offers eighths between them too, but those lack SIMD code and take
// longer than decoding at full size (256² picture: 1/1 322 µs, 7/8 616, 3/4 421, 5/8 339, 1/2 259).
static int halvings(const struct data_view *view, int size)
{
    int n = 0;
    while (n < 3 && view->width >= size * (2 << n) && view->height >= size * (2 << n)) {
        n++;
    }
    return n;
}

// Decoders go on after a warning with made-up pixels. Those that mean missing or damaged picture
// data are errors; stray bytes between markers, odd versions and the like are not.
static bool warning_is_damage(const char *text)
{
    static const char *const damage[] = {"remature end", "bad Huffman code", "bad arithmetic code",
                                         "instead of RST"};
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        if (strstr(text, damage[i])) {
            return true;
        }
    }
    return false;
}

static enum stn_status check(struct data_workspace *workspace, tjhandle decoder, int result)
{
    if (result == 0) {
        return STN_OK;
    }
    const char *text = tjGetErrorStr2(decoder);
    if (tjGetErrorCode(decoder) == TJERR_WARNING && !warning_is_damage(text)) {
        return STN_OK;
    }
    return data_workspace_fail(workspace, STN_ERR_CORRUPT, "%s: damaged JPEG: %s", workspace->path,
                               text);
}

// In place: every pixel shrinks. Four-colour JPEGs store inverted ink (255: none), as Adobe's
// programs write them.
static void cmyk_convert(uint8_t *pixels, size_t count, int channels)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *ink = pixels + 4 * i;
        unsigned black = ink[3];
        unsigned r = ink[0] * black / 255, g = ink[1] * black / 255, b = ink[2] * black / 255;
        uint8_t *out = pixels + (size_t)channels * i;
        if (channels == 1) {
            out[0] = (uint8_t)((299 * r + 587 * g + 114 * b + 500) / 1000);
        } else {
            out[0] = (uint8_t)r;
            out[1] = (uint8_t)g;
            out[2] = (uint8_t)b;
        }
    }
}

static enum stn_status decode(struct data_workspace *workspace, tjhandle decoder,
                              const uint8_t *bytes, size_t size, int channels,
                              const struct data_view_rule *rule, struct data_picture *out)
{
    int width = 0, height = 0, subsampling, colours = 0;
    enum stn_status status =
        check(workspace, decoder,
              tjDecompressHeader3(decoder, bytes, size, &width, &height, &subsampling, &colours));
    if (status == STN_OK) {
        status = data_image_check_size(workspace, width, height);
    }
    if (status != STN_OK) {
        return status;
    }

    struct data_view view = data_view_choose(rule, width, height);
    tjscalingfactor factor = {1, 1 << halvings(&view, rule->size)};
    int scaled_width = TJSCALED(width, factor), scaled_height = TJSCALED(height, factor);
    bool cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
    int format = cmyk ? TJPF_CMYK : channels == 1 ? TJPF_GRAY : TJPF_RGB;
    size_t count = (size_t)scaled_width * (size_t)scaled_height;
    uint8_t *pixels =
        data_workspace_reserve(workspace, &workspace->pixels, count * (size_t)tjPixelSize[format]);
    if (!pixels) {
        return STN_ERR_NO_MEMORY;
    }
    status = check(workspace, decoder,
                   tjDecompress2(decoder, bytes, size, pixels, scaled_width, 0, scaled_height,
                                 format, TJFLAG_LIMITSCANS));
    if (status != STN_OK) {
        return status;
    }
    if (cmyk) {
        cmyk_convert(pixels, count, channels);
    }
    *out = (struct data_picture){.image = {pixels, scaled_width, scaled_height, channels},
                                 .view = data_view_scale(view, (double)scaled_width / width,
                                                         (double)scaled_height / height)};
    return STN_OK;
}

enum stn_status data_jpeg_decode(struct data_workspace *workspace, const uint8_t *bytes,
                                 size_t size, int channels, const struct data_view_rule *rule,
                                 struct data_picture *out)
{
    tjhandle decoder = tjInitDecompress();
    if (!decoder) {
        return data_workspace_fail(workspace, STN_ERR_NO_MEMORY, "no memory for a JPEG decoder");
    }
    enum stn_status status = decode(workspace, decoder, bytes, size, channels, rule, out);
    tjDestroy(decoder);
    return status;
}
