// SPDX-License-Identifier: Apache-2.0
// For the tests of data/: a directory of one's own, files and pictures in it, and what was logged.
#ifndef TESTS_DATA_SUPPORT_H
#define TESTS_DATA_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h wants the four above first.
#include <cmocka.h>

#include "data/image.h"
#include "stannis/dataset.h"

// cmocka fixtures: a fresh temporary directory and an empty log for every test; the directory is
// removed afterwards.
int support_setup(void **state);
int support_teardown(void **state);

// "DIR/format…", in one of a few static buffers.
const char *support_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
// "KIND:DIR/sub", likewise.
const char *support_spec(const char *kind, const char *sub);
// These create missing directories.
void support_mkdir(const char *path);
void support_write(const char *path, const void *bytes, size_t size);
void support_write_gz(const char *path, const void *bytes, size_t size);
// Reads a whole file; free it.
uint8_t *support_read(const char *path, size_t *size);

// Smooth pictures that differ by seed; channels 1 … 4 (grey, grey+alpha, RGB, RGBA).
uint8_t *support_pixels(int width, int height, int channels, unsigned seed);
enum support_jpeg { SUPPORT_JPEG_COLOUR, SUPPORT_JPEG_GREY, SUPPORT_JPEG_CMYK };
void support_write_jpeg(const char *path, int width, int height, enum support_jpeg kind,
                        unsigned seed);
void support_write_png(const char *path, int width, int height, int channels, unsigned seed);

// Error and warning lines since setup, or since the last clear.
int support_errors(void);
int support_warnings(void);
const char *support_last_line(void);
void support_clear_log(void);
// Exactly one error line, which contains `part`; then clears.
void support_expect_error(const char *part);

// Opens, or fails the test.
struct stn_dataset *support_open(const char *spec, int image_size);
// Opening must fail with `status` and one line that contains `part`.
void support_refuse(const char *spec, enum stn_status status, const char *part);

#endif
