// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <ftw.h>
#include <limits.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <zlib.h>

#include "stannis/log.h"

static char root[64];
static struct {
    int errors, warnings;
    char last[1024];
} log_seen;

static void log_sink(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    log_seen.errors += level == STN_LOG_ERROR;
    log_seen.warnings += level == STN_LOG_WARN;
    snprintf(log_seen.last, sizeof(log_seen.last), "%s", line);
}

int support_setup(void **state)
{
    (void)state;
    strcpy(root, "/tmp/stannis-test-XXXXXX");
    stn_log_set_sink(log_sink, NULL);
    support_clear_log();
    return mkdtemp(root) ? 0 : -1;
}

static int entry_remove(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

int support_teardown(void **state)
{
    (void)state;
    return nftw(root, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

const char *support_path(const char *format, ...)
{
    static char paths[8][PATH_MAX];
    static int next;
    char *path = paths[next++ % 8];
    int used = snprintf(path, PATH_MAX, "%s/", root);
    va_list args;
    va_start(args, format);
    vsnprintf(path + used, PATH_MAX - (size_t)used, format, args);
    va_end(args);
    return path;
}

const char *support_spec(const char *kind, const char *sub)
{
    static char specs[4][PATH_MAX];
    static int next;
    char *spec = specs[next++ % 4];
    snprintf(spec, PATH_MAX, "%s:%s/%s", kind, root, sub);
    return spec;
}

// Creates all directories up to the last slash.
static void parents_make(const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}

void support_mkdir(const char *path)
{
    parents_make(path);
    assert_int_equal(mkdir(path, 0777), 0);
}

void support_write(const char *path, const void *bytes, size_t size)
{
    parents_make(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void support_write_gz(const char *path, const void *bytes, size_t size)
{
    parents_make(path);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

uint8_t *support_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat about;
    assert_int_equal(fstat(fileno(file), &about), 0);
    *size = (size_t)about.st_size;
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

uint8_t *support_pixels(int width, int height, int channels, unsigned seed)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * (size_t)channels);
    assert_non_null(pixels);
    size_t at = 0;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int c = 0; c < channels; c++) {
                unsigned ramp = (unsigned)(x * (c + 2) + y * 3) + seed * 37;
                pixels[at++] = (uint8_t)(ramp % 512 < 256 ? ramp % 256 : 255 - ramp % 256);
            }
        }
    }
    return pixels;
}

void support_write_jpeg(const char *path, int width, int height, enum support_jpeg kind,
                        unsigned seed)
{
    static const int formats[] = {TJPF_RGB, TJPF_GRAY, TJPF_CMYK};
    static const int sampling[] = {TJSAMP_420, TJSAMP_GRAY, TJSAMP_444};
    uint8_t *pixels = support_pixels(width, height, tjPixelSize[formats[kind]], seed);
    tjhandle encoder = tjInitCompress();
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    assert_int_equal(tjCompress2(encoder, pixels, width, 0, height, formats[kind], &bytes, &size,
                                 sampling[kind], 95, 0),
                     0);
    support_write(path, bytes, size);
    tjFree(bytes);
    tjDestroy(encoder);
    free(pixels);
}

void support_write_png(const char *path, int width, int height, int channels, unsigned seed)
{
    static const png_uint_32 formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                          PNG_FORMAT_RGBA};
    uint8_t *pixels = support_pixels(width, height, channels, seed);
    parents_make(path);
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = formats[channels]};
    assert_int_equal(png_image_write_to_file(&png, path, 0, pixels, 0, NULL), 1);
    free(pixels);
}

int support_errors(void)
{
    return log_seen.errors;
}

int support_warnings(void)
{
    return log_seen.warnings;
}

const char *support_last_line(void)
{
    return log_seen.last;
}

void support_clear_log(void)
{
    memset(&log_seen, 0, sizeof(log_seen));
}

void support_expect_error(const char *part)
{
    if (log_seen.errors != 1 || !strstr(log_seen.last, part)) {
        fail_msg("%d errors, last '%s'; expected one with '%s'", log_seen.errors, log_seen.last,
                 part);
    }
    support_clear_log();
}

struct stn_dataset *support_open(const char *spec, int image_size)
{
    struct stn_dataset_options options = {.spec = spec, .image_size = image_size};
    struct stn_dataset *dataset = NULL;
    if (stn_dataset_open(&options, &dataset) != STN_OK) {
        fail_msg("%s", log_seen.last);
    }
    return dataset;
}

void support_refuse(const char *spec, enum stn_status status, const char *part)
{
    struct stn_dataset_options options = {.spec = spec};
    struct stn_dataset *dataset = NULL;
    assert_int_equal(stn_dataset_open(&options, &dataset), status);
    assert_null(dataset);
    support_expect_error(part);
}
