// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/loader.h"
#include "data/resample.h"
#include "data/store.h"

enum { FILE_BYTES_MAX = 256 << 20 };

enum stn_status data_image_check_size(struct data_workspace *workspace, int64_t width,
                                      int64_t height)
{
    if (width < 1 || height < 1) {
        return data_workspace_fail(workspace, STN_ERR_CORRUPT,
                                   "%s: damaged picture: no pixels in it", workspace->path);
    }
    if (width > DATA_IMAGE_PIXELS_MAX / height) {
        return data_workspace_fail(
            workspace, STN_ERR_UNSUPPORTED, "%s: %lld × %lld pixels are more than %d million",
            workspace->path, (long long)width, (long long)height, DATA_IMAGE_PIXELS_MAX / 1000000);
    }
    return STN_OK;
}

static enum stn_status fail_errno(struct data_workspace *workspace)
{
    int error = errno;
    return data_workspace_fail(workspace, error == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO,
                               "%s: %s", workspace->path, strerror(error));
}

static enum stn_status read_all(struct data_workspace *workspace, int file, size_t size)
{
    char *bytes = data_workspace_reserve(workspace, &workspace->file, size);
    if (!bytes) {
        return STN_ERR_NO_MEMORY;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got = read(file, bytes + done, size - done);
        if (got < 0 && errno != EINTR) {
            return fail_errno(workspace);
        }
        if (got == 0) {
            return data_workspace_fail(workspace, STN_ERR_IO,
                                       "%s: became shorter while it was read", workspace->path);
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return STN_OK;
}

// Fills workspace->file.
static enum stn_status file_read(struct data_workspace *workspace, size_t *size)
{
    int file = open(workspace->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // does not hang on a FIFO
    if (file < 0) {
        return fail_errno(workspace);
    }
    enum stn_status status = STN_OK;
    struct stat about;
    if (fstat(file, &about) != 0) {
        status = fail_errno(workspace);
    } else if (!S_ISREG(about.st_mode)) {
        status = data_workspace_fail(workspace, STN_ERR_INVALID, "%s: not a file", workspace->path);
    } else if (about.st_size == 0) {
        status = data_workspace_fail(workspace, STN_ERR_CORRUPT, "%s: the file is empty",
                                     workspace->path);
    } else if (about.st_size > FILE_BYTES_MAX) {
        status = data_workspace_fail(workspace, STN_ERR_UNSUPPORTED, "%s: larger than %d MiB",
                                     workspace->path, FILE_BYTES_MAX >> 20);
    } else {
        *size = (size_t)about.st_size;
        status = read_all(workspace, file, *size);
    }
    close(file);
    return status;
}

enum stn_status data_image_read(struct data_workspace *workspace, int channels,
                                const struct data_view_rule *rule, struct data_picture *out)
{
    static const uint8_t jpeg_magic[] = {0xff, 0xd8, 0xff}, png_magic[] = {0x89, 'P', 'N', 'G'};
    size_t size = 0;
    enum stn_status status = file_read(workspace, &size);
    if (status != STN_OK) {
        return status;
    }
    const uint8_t *bytes = workspace->file.bytes;
    if (size >= sizeof(jpeg_magic) && memcmp(bytes, jpeg_magic, sizeof(jpeg_magic)) == 0) {
        return data_jpeg_decode(workspace, bytes, size, channels, rule, out);
    }
    if (size >= sizeof(png_magic) && memcmp(bytes, png_magic, sizeof(png_magic)) == 0) {
        return data_png_decode(workspace, bytes, size, channels, rule, out);
    }
    return data_workspace_fail(workspace, STN_ERR_CORRUPT, "%s: neither a JPEG nor a PNG picture",
                               workspace->path);
}

enum stn_status data_image_load(const char *path, const struct data_image_look *look, float *out)
{
    struct data_spec spec;
    enum stn_status status = data_spec_parse(look->spec, &spec);
    if (status != STN_OK) {
        return status;
    }
    struct data_workspace workspace;
    size_t bytes = strlen(path) + 1;
    if (bytes > sizeof(workspace.path)) {
        return stn_fail(STN_ERR_INVALID, "%.64s…: the file name is too long", path);
    }
    data_workspace_init(&workspace);
    memcpy(workspace.path, path, bytes);
    struct data_view_rule rule = {.fit = spec.kind->fit, .size = look->size};
    struct data_picture picture;
    status = data_image_read(&workspace, look->channels, &rule, &picture);
    if (status == STN_OK) {
        struct data_levels levels = data_levels_from(look->channels, look->mean, look->std);
        status = data_resample(&workspace, &picture, look->size, &levels, out);
    }
    if (status != STN_OK) {
        status = stn_fail(status, "%s", workspace.message);
    }
    data_workspace_fini(&workspace);
    return status;
}
