// SPDX-License-Identifier: Apache-2.0
// Separable: each output row is first the weighted sum of source rows (long, contiguous,
// vectorised), then the weighted sums along that one row. Only a row of intermediate values exists
// at a time.
#include "data/resample.h"

#include <math.h>
#include <string.h>

// How one axis of the output is made of one axis of the source.
struct tap {
    int first, count;     // source pixels; count 0: outside of the picture
    const float *weights; // [count], sum 1
};

struct axis {
    struct tap *taps; // [size]
    int low, high;    // all taps lie in [low, high)
};

struct data_levels data_levels_from(int channels, const float mean[3], const float std[3])
{
    struct data_levels levels = {{0}, {0}};
    for (int c = 0; c < channels; c++) {
        levels.gain[c] = 1.0f / (255.0f * std[c]);
        levels.offset[c] = -mean[c] / std[c];
    }
    return levels;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

// The triangle of half-width `reach` around `centre`, over pixels whose centres are at j + ½.
static struct tap tap_make(double centre, double reach, int length, float *weights)
{
    if (!(centre >= 0 && centre <= length)) {
        return (struct tap){0, 0, weights};
    }
    int first = clamp((int)floor(centre - reach), 0, length - 1);
    int last = clamp((int)ceil(centre + reach), 0, length - 1);
    int count = 0;
    double sum = 0;
    for (int j = first; j <= last; j++) {
        double weight = 1.0 - fabs(j + 0.5 - centre) / reach;
        if (weight > 1e-6) {
            weights[count++] = (float)weight;
            sum += weight;
        } else if (count == 0) {
            first = j + 1;
        }
    }
    for (int i = 0; i < count; i++) {
        weights[i] = (float)(weights[i] / sum);
    }
    return (struct tap){first, count, weights};
}

static int taps_max(double scale)
{
    return 2 * (int)ceil(fmax(scale, 1.0)) + 2;
}

static struct axis axis_make(double origin, double scale, int size, int length, struct tap *taps,
                             float *weights)
{
    struct axis axis = {taps, length, 0};
    for (int i = 0; i < size; i++) {
        taps[i] = tap_make(origin + (i + 0.5) * scale, fmax(scale, 1.0), length, weights);
        weights += taps[i].count;
        if (taps[i].count > 0) {
            axis.low = taps[i].first < axis.low ? taps[i].first : axis.low;
            int end = taps[i].first + taps[i].count;
            axis.high = end > axis.high ? end : axis.high;
        }
    }
    return axis;
}

// row[i] = Σ weight · source row[i]
static void rows_blend(struct tap tap, const uint8_t *source, size_t stride, size_t count,
                       float *restrict row)
{
    const uint8_t *restrict line = source + (size_t)tap.first * stride;
    float weight = tap.weights[0];
    for (size_t i = 0; i < count; i++) {
        row[i] = weight * line[i];
    }
    for (int k = 1; k < tap.count; k++) {
        line += stride;
        weight = tap.weights[k];
        for (size_t i = 0; i < count; i++) {
            row[i] += weight * line[i];
        }
    }
}

static void row_write_grey(const struct axis *axis, int size, bool flip, const float *row,
                           const struct data_levels *levels, float *out)
{
    for (int x = 0; x < size; x++) {
        struct tap tap = axis->taps[x];
        float sum = 0;
        for (int k = 0; k < tap.count; k++) {
            sum += tap.weights[k] * row[tap.first - axis->low + k];
        }
        out[flip ? size - 1 - x : x] = sum * levels->gain[0] + levels->offset[0];
    }
}

static void row_write_colour(const struct axis *axis, int size, bool flip, const float *row,
                             const struct data_levels *levels, size_t plane, float *out)
{
    for (int x = 0; x < size; x++) {
        struct tap tap = axis->taps[x];
        const float *from = row + 3 * (size_t)(tap.count ? tap.first - axis->low : 0);
        float red = 0, green = 0, blue = 0;
        for (int k = 0; k < tap.count; k++, from += 3) {
            red += tap.weights[k] * from[0];
            green += tap.weights[k] * from[1];
            blue += tap.weights[k] * from[2];
        }
        float *to = out + (flip ? size - 1 - x : x);
        to[0] = red * levels->gain[0] + levels->offset[0];
        to[plane] = green * levels->gain[1] + levels->offset[1];
        to[2 * plane] = blue * levels->gain[2] + levels->offset[2];
    }
}

enum stn_status data_resample(struct data_workspace *workspace, const struct data_picture *picture,
                              int size, const struct data_levels *levels, float *out)
{
    const struct data_image *image = &picture->image;
    const struct data_view *view = &picture->view;
    double x_scale = view->width / size, y_scale = view->height / size;
    size_t n = (size_t)size, channels = (size_t)image->channels, plane = n * n;
    size_t x_weights = n * (size_t)taps_max(x_scale), y_weights = n * (size_t)taps_max(y_scale);
    struct tap *taps =
        data_workspace_reserve(workspace, &workspace->taps,
                               2 * n * sizeof(*taps) + (x_weights + y_weights) * sizeof(float));
    size_t stride = (size_t)image->width * channels;
    float *row = data_workspace_reserve(workspace, &workspace->row, stride * sizeof(*row));
    if (!taps || !row) {
        return STN_ERR_NO_MEMORY;
    }
    float *weights = (float *)(taps + 2 * n);
    struct axis horizontal = axis_make(view->x, x_scale, size, image->width, taps, weights);
    struct axis vertical =
        axis_make(view->y, y_scale, size, image->height, taps + n, weights + x_weights);

    size_t left = (size_t)horizontal.low * channels;
    size_t count = horizontal.high > horizontal.low ? (size_t)horizontal.high * channels - left : 0;
    for (size_t y = 0; y < n; y++) {
        if (vertical.taps[y].count == 0) {
            memset(row, 0, count * sizeof(*row));
        } else {
            rows_blend(vertical.taps[y], image->pixels + left, stride, count, row);
        }
        if (channels == 1) {
            row_write_grey(&horizontal, size, view->flip, row, levels, out + y * n);
        } else {
            row_write_colour(&horizontal, size, view->flip, row, levels, plane, out + y * n);
        }
    }
    return STN_OK;
}
