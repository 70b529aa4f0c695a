// SPDX-License-Identifier: Apache-2.0
// Resampling against the plain formula: for each output pixel, a two-dimensional triangle over the
// whole picture.
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "data/resample.h"
#include "support.h"

static const float no_mean[3] = {0, 0, 0}, unit[3] = {1, 1, 1};

static double weight(int pixel, double centre, double reach)
{
    return fmax(0, 1 - fabs(pixel + 0.5 - centre) / reach);
}

// One output value in 0 … 1.
static double oracle(const struct data_picture *p, int size, int c, int x, int y)
{
    double x_scale = p->view.width / size, y_scale = p->view.height / size;
    int column = p->view.flip ? size - 1 - x : x;
    double cx = p->view.x + (column + 0.5) * x_scale, cy = p->view.y + (y + 0.5) * y_scale;
    if (cx < 0 || cy < 0 || cx > p->image.width || cy > p->image.height) {
        return 0;
    }
    double sum = 0, weights = 0;
    for (int j = 0; j < p->image.height; j++) {
        for (int i = 0; i < p->image.width; i++) {
            double w = weight(i, cx, fmax(x_scale, 1)) * weight(j, cy, fmax(y_scale, 1));
            sum += w * p->image.pixels[(j * p->image.width + i) * p->image.channels + c];
            weights += w;
        }
    }
    return sum / weights / 255;
}

static void compare(struct data_workspace *workspace, const struct data_picture *picture, int size)
{
    int channels = picture->image.channels;
    float *out = malloc((size_t)(channels * size * size) * sizeof(*out));
    assert_non_null(out);
    struct data_levels levels = data_levels_from(channels, no_mean, unit);
    assert_int_equal(data_resample(workspace, picture, size, &levels, out), STN_OK);
    for (int c = 0; c < channels; c++) {
        for (int y = 0; y < size; y++) {
            for (int x = 0; x < size; x++) {
                double want = oracle(picture, size, c, x, y), got = out[(c * size + y) * size + x];
                if (!(fabs(want - got) < 1e-5)) {
                    fail_msg("size %d (%d,%d,%d): %g, expected %g", size, c, y, x, got, want);
                }
            }
        }
    }
    free(out);
}

static void test_equals_the_plain_formula(void **state)
{
    (void)state;
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    struct base_random random = base_random_from(11);
    for (int i = 0; i < 60; i++) {
        int width = 1 + (int)base_random_below(&random, 70),
            height = 1 + (int)base_random_below(&random, 70);
        int channels = i % 2 ? 3 : 1, size = 1 + (int)base_random_below(&random, 24);
        uint8_t *pixels = support_pixels(width, height, channels, (unsigned)i);
        struct data_picture picture = {.image = {pixels, width, height, channels}};
        picture.view = (struct data_view){
            .x = width * (base_random_unit(&random) - 0.4), // often reaching outside
            .y = height * (base_random_unit(&random) - 0.4),
            .width = width * (0.1 + base_random_unit(&random)),
            .height = height * (0.1 + base_random_unit(&random)),
            .flip = i % 3 == 0,
        };
        compare(&workspace, &picture, size);
        free(pixels);
    }
    data_workspace_fini(&workspace);
}

static void test_same_size_copies_and_shift_pads_black(void **state)
{
    (void)state;
    enum { N = 9 };
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    uint8_t *pixels = support_pixels(N, N, 1, 5);
    struct data_picture picture = {{pixels, N, N, 1}, {.x = 2, .y = -1, .width = N, .height = N}};
    struct data_levels bytes = {{1}, {0}};
    float out[N * N];
    assert_int_equal(data_resample(&workspace, &picture, N, &bytes, out), STN_OK);
    for (int y = 0; y < N; y++) {
        for (int x = 0; x < N; x++) {
            int want = y - 1 >= 0 && x + 2 < N ? pixels[(y - 1) * N + x + 2] : 0;
            assert_true(out[y * N + x] == (float)want);
        }
    }
    free(pixels);
    data_workspace_fini(&workspace);
}

static void test_nowhere_near_the_picture_is_black(void **state)
{
    (void)state;
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    uint8_t *pixels = support_pixels(4, 4, 3, 1);
    struct data_picture picture = {{pixels, 4, 4, 3}, {.x = 50, .y = 50, .width = 4, .height = 4}};
    compare(&workspace, &picture, 4);
    free(pixels);
    data_workspace_fini(&workspace);
}

static void test_levels_normalise(void **state)
{
    (void)state;
    const float mean[3] = {0.5f, 0.25f, 0}, std[3] = {0.25f, 0.5f, 1};
    struct data_levels levels = data_levels_from(3, mean, std);
    for (int c = 0; c < 3; c++) {
        assert_true(fabsf(255 * levels.gain[c] + levels.offset[c] - (1 - mean[c]) / std[c]) <
                    1e-5f);
        assert_true(fabsf(levels.offset[c] + mean[c] / std[c]) < 1e-6f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_the_plain_formula),
        cmocka_unit_test(test_same_size_copies_and_shift_pads_black),
        cmocka_unit_test(test_nowhere_near_the_picture_is_black),
        cmocka_unit_test(test_levels_normalise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
