// SPDX-License-Identifier: Apache-2.0
// Picture files: every flavour decodes to the right colours, every damaged one is refused by name.
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/loader.h"
#include "data/sample.h"
#include "support.h"

static int setup(void **state)
{
    static struct data_workspace workspace;
    *state = &workspace;
    data_workspace_init(&workspace);
    return support_setup(NULL);
}

static int teardown(void **state)
{
    data_workspace_fini(*state);
    return support_teardown(NULL);
}

static enum stn_status image_read(struct data_workspace *workspace, const char *path, int channels,
                                  int size, struct data_picture *out)
{
    struct data_view_rule rule = {.fit = DATA_FIT_COVER, .size = size};
    strcpy(workspace->path, path);
    return data_image_read(workspace, channels, &rule, out);
}

static double byte_error(const uint8_t *a, const uint8_t *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += abs(a[i] - b[i]);
    }
    return sum / (double)count;
}

static void test_jpeg_at_full_size(void **state)
{
    struct data_picture picture;
    const char *path = support_path("a.jpg");
    support_write_jpeg(path, 61, 43, SUPPORT_JPEG_COLOUR, 1);
    assert_int_equal(image_read(*state, path, 3, 40, &picture), STN_OK);
    assert_int_equal(picture.image.width, 61);
    assert_int_equal(picture.image.height, 43);
    uint8_t *want = support_pixels(61, 43, 3, 1);
    assert_true(byte_error(picture.image.pixels, want, 61 * 43 * 3) < 4);
    free(want);
}

static void test_jpeg_is_decoded_no_larger_than_needed(void **state)
{
    // The centre view is 7/8 of the shorter side.
    static const int cases[][4] = {
        // stored w, h, network's size, decoded w
        {800, 640, 560, 800}, {800, 640, 281, 800}, {800, 640, 280, 400}, {800, 640, 140, 200},
        {800, 640, 71, 200},  {800, 640, 70, 100},  {800, 640, 10, 100},  {33, 33, 224, 33},
    };
    const char *path = support_path("a.jpg");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct data_picture picture;
        support_write_jpeg(path, cases[i][0], cases[i][1], SUPPORT_JPEG_COLOUR, 1);
        assert_int_equal(image_read(*state, path, 3, cases[i][2], &picture), STN_OK);
        assert_int_equal(picture.image.width, cases[i][3]);
        assert_true(fabs(picture.view.height * cases[i][0] / picture.image.width -
                         cases[i][1] * 7.0 / 8) < 1e-6);
    }
}

static void test_grey_and_four_colour_jpegs(void **state)
{
    struct data_picture picture;
    const char *path = support_path("a.jpeg");
    support_write_jpeg(path, 40, 30, SUPPORT_JPEG_GREY, 2);
    uint8_t *grey = support_pixels(40, 30, 1, 2), *inks = support_pixels(40, 30, 4, 2);
    assert_int_equal(image_read(*state, path, 3, 20, &picture), STN_OK);
    for (int i = 0; i < 40 * 30; i++) {
        for (int c = 0; c < 3; c++) {
            assert_true(abs(picture.image.pixels[3 * i + c] - grey[i]) < 24);
        }
    }
    support_write_jpeg(path, 40, 30, SUPPORT_JPEG_CMYK, 2);
    for (int channels = 1; channels <= 3; channels += 2) {
        assert_int_equal(image_read(*state, path, channels, 20, &picture), STN_OK);
        double error = 0;
        for (int i = 0; i < 40 * 30; i++) {
            double r = inks[4 * i] * inks[4 * i + 3] / 255.0,
                   g = inks[4 * i + 1] * inks[4 * i + 3] / 255.0;
            double b = inks[4 * i + 2] * inks[4 * i + 3] / 255.0;
            double first = channels == 3 ? r : 0.299 * r + 0.587 * g + 0.114 * b;
            error += fabs(picture.image.pixels[channels * i] - first);
        }
        assert_true(error / (40 * 30) < 6);
    }
    free(grey);
    free(inks);
}

static void test_png_of_every_kind(void **state)
{
    const char *path = support_path("a.png");
    for (int stored = 1; stored <= 4; stored++) {
        struct data_picture picture;
        support_write_png(path, 23, 17, stored, 4);
        uint8_t *want = support_pixels(23, 17, stored, 4);
        assert_int_equal(image_read(*state, path, 3, 20, &picture), STN_OK);
        assert_int_equal(picture.image.width, 23);
        for (int i = 0; i < 23 * 17; i++) {
            const uint8_t *from = want + i * stored, *got = picture.image.pixels + 3 * i;
            bool clear = stored == 2 ? from[1] == 0 : stored == 4 && from[3] == 0;
            bool solid = stored == 2 ? from[1] == 255 : stored == 4 ? from[3] == 255 : true;
            for (int c = 0; c < 3; c++) {
                if (clear) {
                    assert_int_equal(got[c], 255);
                } else if (solid) {
                    assert_int_equal(got[c], from[stored < 3 ? 0 : c]);
                }
            }
        }
        assert_int_equal(image_read(*state, path, 1, 20, &picture), STN_OK);
        assert_int_equal(picture.image.channels, 1);
        free(want);
    }
}

static void test_png_palette_and_16_bits(void **state)
{
    enum { N = 16 };
    struct data_picture picture;
    const char *path = support_path("a.png");
    uint8_t indices[N * N], colours[4 * 3] = {10, 20, 30, 200, 100, 50, 0, 0, 0, 255, 255, 255};
    for (int i = 0; i < N * N; i++) {
        indices[i] = (uint8_t)(i % 4);
    }
    png_image png = {.version = PNG_IMAGE_VERSION, .width = N, .height = N, .colormap_entries = 4};
    png.format = PNG_FORMAT_RGB_COLORMAP;
    assert_int_equal(png_image_write_to_file(&png, path, 0, indices, 0, colours), 1);
    assert_int_equal(image_read(*state, path, 3, N, &picture), STN_OK);
    for (int i = 0; i < N * N; i++) {
        assert_memory_equal(picture.image.pixels + 3 * i, colours + 3 * (i % 4), 3);
    }

    uint16_t linear[N * N * 3];
    for (int i = 0; i < N * N * 3; i++) {
        linear[i] = (uint16_t)(i * 85);
    }
    png = (png_image){.version = PNG_IMAGE_VERSION, .width = N, .height = N};
    png.format = PNG_FORMAT_LINEAR_RGB;
    assert_int_equal(png_image_write_to_file(&png, path, 0, linear, 0, NULL), 1);
    assert_int_equal(image_read(*state, path, 3, N, &picture), STN_OK);
    for (int i = 3; i < N * N * 3; i++) {
        assert_true(picture.image.pixels[i] >= picture.image.pixels[i - 1]);
    }
    assert_in_range(picture.image.pixels[N * N * 3 - 1], 250, 255);
}

static void test_format_goes_by_content(void **state)
{
    struct data_picture picture;
    const char *path = support_path("really_a_png.jpg");
    support_write_png(path, 9, 9, 3, 1);
    assert_int_equal(image_read(*state, path, 3, 9, &picture), STN_OK);
}

static void expect_refused(struct data_workspace *workspace, const char *path,
                           enum stn_status status, const char *part)
{
    struct data_picture picture;
    assert_int_equal(image_read(workspace, path, 3, 32, &picture), status);
    if (!strstr(workspace->message, path) || !strstr(workspace->message, part)) {
        fail_msg("'%s' does not name %s and say '%s'", workspace->message, path, part);
    }
    assert_int_equal(support_errors(), 0); // the line waits for whoever decides
}

static void test_truncated_files_are_refused(void **state)
{
    static const char *const names[] = {"a.jpg", "a.png"};
    for (int i = 0; i < 2; i++) {
        const char *path = support_path("%s", names[i]);
        if (i == 0) {
            support_write_jpeg(path, 90, 70, SUPPORT_JPEG_COLOUR, 1);
        } else {
            support_write_png(path, 90, 70, 3, 1);
        }
        size_t size;
        uint8_t *bytes = support_read(path, &size);
        for (size_t keep = 4; keep + 16 < size; keep += size / 40) {
            support_write(path, bytes, keep);
            expect_refused(*state, path, STN_ERR_CORRUPT, "damaged");
        }
        free(bytes);
    }
}

static void test_flipped_bits_never_crash(void **state)
{
    static const char *const names[] = {"a.jpg", "a.png"};
    for (int i = 0; i < 2; i++) {
        const char *path = support_path("%s", names[i]);
        if (i == 0) {
            support_write_jpeg(path, 40, 30, SUPPORT_JPEG_COLOUR, 1);
        } else {
            support_write_png(path, 40, 30, 4, 1);
        }
        size_t size;
        uint8_t *bytes = support_read(path, &size);
        for (size_t at = 0; at < size; at += 1 + size / 400) {
            struct data_picture picture;
            bytes[at] ^= (uint8_t)(1 << at % 8);
            support_write(path, bytes, size);
            enum stn_status status = image_read(*state, path, 3, 20, &picture);
            assert_true(status == STN_OK || status == STN_ERR_CORRUPT ||
                        status == STN_ERR_UNSUPPORTED);
            bytes[at] ^= (uint8_t)(1 << at % 8);
        }
        free(bytes);
    }
}

// What a damaged file leaves in the decoder must not reach the next one.
static void test_good_files_follow_bad_ones(void **state)
{
    struct data_picture picture;
    size_t size;
    const char *good = support_path("good.jpg"), *bad = support_path("bad.jpg");
    support_write_jpeg(good, 40, 30, SUPPORT_JPEG_COLOUR, 1);
    uint8_t *bytes = support_read(good, &size);
    for (size_t keep = 3; keep < size - 16; keep += 5) {
        memset(bytes + keep, 0x20, size > keep + 8 ? 8 : 0);
        support_write(bad, bytes, keep + 8);
        assert_int_equal(image_read(*state, bad, 3, 20, &picture), STN_ERR_CORRUPT);
        assert_int_equal(image_read(*state, good, 3, 20, &picture), STN_OK);
        free(bytes);
        bytes = support_read(good, &size);
    }
    free(bytes);
}

static void test_foreign_and_absurd_files_are_refused(void **state)
{
    static const char text[] = "this is not a picture\n";
    support_write(support_path("empty.jpg"), "", 0);
    expect_refused(*state, support_path("empty.jpg"), STN_ERR_CORRUPT, "empty");
    support_write(support_path("text.jpg"), text, sizeof(text));
    expect_refused(*state, support_path("text.jpg"), STN_ERR_CORRUPT, "neither a JPEG nor a PNG");
    support_write(support_path("stub.jpg"), "\xff\xd8\xff", 3);
    expect_refused(*state, support_path("stub.jpg"), STN_ERR_CORRUPT, "damaged");
    expect_refused(*state, support_path("gone.jpg"), STN_ERR_NOT_FOUND, "No such file");
    support_mkdir(support_path("dir.jpg"));
    expect_refused(*state, support_path("dir.jpg"), STN_ERR_INVALID, "not a file");
    assert_int_equal(mkfifo(support_path("fifo.jpg"), 0600), 0);
    expect_refused(*state, support_path("fifo.jpg"), STN_ERR_INVALID, "not a file");

    // A JPEG whose header claims 65,000 × 65,000 pixels: the frame header is FF C0, length, depth,
    // height, width.
    const char *path = support_path("huge.jpg");
    support_write_jpeg(path, 16, 16, SUPPORT_JPEG_COLOUR, 1);
    size_t size;
    uint8_t *bytes = support_read(path, &size);
    uint8_t *frame = memmem(bytes, size, "\xff\xc0", 2);
    assert_non_null(frame);
    memcpy(frame + 5, "\xfd\xe8\xfd\xe8", 4);
    support_write(path, bytes, size);
    expect_refused(*state, path, STN_ERR_UNSUPPORTED, "65000 × 65000");
    free(bytes);
}

static void test_load_for_prediction(void **state)
{
    (void)state;
    enum { SIZE = 28 };
    static const struct data_image_look in_colour = {"folder:x", 3, SIZE, {0}, {1, 1, 1}},
                                        in_grey = {"idx:x", 1, SIZE, {0}, {1, 1, 1}},
                                        of_no_kind = {"films:x", 1, SIZE, {0}, {1, 1, 1}};
    float colour[3 * SIZE * SIZE], grey[SIZE * SIZE];
    const char *path = support_path("a.png");
    support_write_png(path, 64, 48, 3, 6);
    assert_int_equal(data_image_load(path, &in_colour, colour), STN_OK);
    assert_int_equal(data_image_load(path, &in_grey, grey), STN_OK);
    for (int i = 0; i < SIZE * SIZE; i++) {
        assert_true(colour[i] >= 0 && colour[i] <= 1.0001f && grey[i] >= 0 && grey[i] <= 1.0001f);
    }
    assert_int_equal(data_image_load(support_path("none.png"), &in_colour, colour),
                     STN_ERR_NOT_FOUND);
    support_expect_error("none.png: No such file");
    assert_true(data_image_load(path, &of_no_kind, grey) != STN_OK);
    support_expect_error("films");
}

// A picture whose left and right thirds are black: the centre square knows nothing of them.
static void test_prediction_sees_what_training_saw(void **state)
{
    (void)state;
    enum { WIDTH = 96, HEIGHT = 32, SIZE = 32 };
    const char *path = support_path("wide.png");
    uint8_t pixels[HEIGHT][WIDTH][3] = {0};
    for (int y = 0; y < HEIGHT; y++) {
        memset(pixels[y][WIDTH / 3], 255, WIDTH / 3 * 3);
    }
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = PNG_FORMAT_RGB};
    assert_int_equal(png_image_write_to_file(&png, path, 0, pixels, 0, NULL), 1);
    static const struct {
        const char *spec;
        double mean;
    } cases[] = {{"folder:x", 1.0}, {"cifar10:x", 1.0 / 3}, {"synthetic:9", 1.0 / 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct data_image_look look = {cases[i].spec, 3, SIZE, {0}, {1, 1, 1}};
        float seen[3 * SIZE * SIZE];
        double sum = 0;
        assert_int_equal(data_image_load(path, &look, seen), STN_OK);
        for (int p = 0; p < 3 * SIZE * SIZE; p++) {
            sum += (double)seen[p];
        }
        assert_true(fabs(sum / (3 * SIZE * SIZE) - cases[i].mean) < 0.02);
    }
}

// 64 Mi pixels are the most, however they are arranged; nothing is decoded to find that out.
static void test_sizes_are_checked_before_memory_is_asked_for(void **state)
{
    (void)state;
    static struct data_workspace workspace;
    assert_int_equal(data_image_check_size(&workspace, 8192, 8192), STN_OK);
    assert_int_equal(data_image_check_size(&workspace, 8193, 8192), STN_ERR_UNSUPPORTED);
    assert_int_equal(data_image_check_size(&workspace, INT64_MAX, INT64_MAX), STN_ERR_UNSUPPORTED);
    assert_int_equal(data_image_check_size(&workspace, 0, 8192), STN_ERR_CORRUPT);
    assert_int_equal(data_image_check_size(&workspace, 8192, -1), STN_ERR_CORRUPT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_sizes_are_checked_before_memory_is_asked_for),
        TEST(test_jpeg_at_full_size),
        TEST(test_jpeg_is_decoded_no_larger_than_needed),
        TEST(test_grey_and_four_colour_jpegs),
        TEST(test_png_of_every_kind),
        TEST(test_png_palette_and_16_bits),
        TEST(test_format_goes_by_content),
        TEST(test_truncated_files_are_refused),
        TEST(test_flipped_bits_never_crash),
        TEST(test_good_files_follow_bad_ones),
        TEST(test_foreign_and_absurd_files_are_refused),
        TEST(test_load_for_prediction),
        TEST(test_prediction_sees_what_training_saw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
