// SPDX-License-Identifier: Apache-2.0
#include "csd/media/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "csd/ecc/crc32c.h"

// The header: magic, version, six numbers of the geometry, the label, a CRC32C of all before it.
enum {
    HEADER_BYTES = 4096,
    VERSION = 1,
    AT_VERSION = 8,
    AT_GEOMETRY = 12,
    AT_LABEL = 64,
    AT_CRC = AT_LABEL + MEDIA_LABEL_BYTES,
};
static const char magic[8] = "STNFLASH";

struct file {
    struct media base;
    int fd;
    bool lost; // a sync failed: what is on the disk is not known any more
    uint8_t header[HEADER_BYTES];
    char path[];
};

static off_t page_offset(const struct file *file, uint32_t page)
{
    return HEADER_BYTES + (off_t)page * file->base.geometry.page_bytes;
}

static off_t file_size(const struct media_geometry *g)
{
    return HEADER_BYTES + (off_t)media_blocks(g) * g->pages * g->page_bytes;
}

static enum media_result result_of(int error)
{
    return error == ENOSPC || error == EDQUOT ? MEDIA_NO_SPACE : MEDIA_LOST;
}

static int read_all(int fd, void *out, size_t bytes, off_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)out + done, bytes - done, at + (off_t)done);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return n == 0 ? EIO : errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int write_all(int fd, const void *from, size_t bytes, off_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, at + (off_t)done);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static enum media_result read_page(struct media *media, uint32_t page, size_t offset, size_t bytes,
                                   void *out)
{
    struct file *file = (struct file *)media;
    int error = read_all(file->fd, out, bytes, page_offset(file, page) + (off_t)offset);
    if (error == EIO) {
        memset(out, 0xff, bytes); // a bad sector of the disk is a page with very many errors
        return MEDIA_OK;
    }
    return error ? MEDIA_LOST : MEDIA_OK;
}

// Space for the whole block, where the file system can say so.
static enum media_result reserve(struct file *file, uint32_t page)
{
    const struct media_geometry *g = &file->base.geometry;
    off_t bytes = (off_t)g->pages * g->page_bytes;
    if (page % (uint32_t)g->pages ||
        fallocate(file->fd, FALLOC_FL_KEEP_SIZE, page_offset(file, page), bytes) == 0 ||
        errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) {
        return MEDIA_OK;
    }
    int error = errno;
    fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page_offset(file, page), bytes);
    return result_of(error);
}

static enum media_result program(struct media *media, uint32_t page, const void *bytes)
{
    struct file *file = (struct file *)media;
    enum media_result result = file->lost ? MEDIA_LOST : reserve(file, page);
    if (result) {
        return result;
    }
    int error =
        write_all(file->fd, bytes, (size_t)media->geometry.page_bytes, page_offset(file, page));
    return error ? result_of(error) : MEDIA_OK;
}

// For file systems without holes.
static enum media_result write_zeros(struct file *file, off_t at, off_t bytes)
{
    static const char zeros[65536];
    for (off_t done = 0; done < bytes; done += (off_t)sizeof(zeros)) {
        size_t part = bytes - done < (off_t)sizeof(zeros) ? (size_t)(bytes - done) : sizeof(zeros);
        if (write_all(file->fd, zeros, part, at + done)) {
            return MEDIA_LOST;
        }
    }
    return MEDIA_OK;
}

static enum media_result erase(struct media *media, uint32_t block)
{
    struct file *file = (struct file *)media;
    off_t at = page_offset(file, block * (uint32_t)media->geometry.pages);
    off_t bytes = (off_t)media->geometry.pages * media->geometry.page_bytes;
    if (file->lost) {
        return MEDIA_LOST;
    }
    while (fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes)) {
        if (errno == EOPNOTSUPP || errno == ENOSYS) {
            return write_zeros(file, at, bytes);
        }
        if (errno != EINTR) {
            return MEDIA_LOST;
        }
    }
    return MEDIA_OK;
}

// A sync that failed is never tried again: the kernel may have dropped what it could not write.
static enum media_result sync_file(struct media *media)
{
    struct file *file = (struct file *)media;
    if (!file->lost && fdatasync(file->fd)) {
        file->lost = true;
    }
    return file->lost ? MEDIA_LOST : MEDIA_OK;
}

static enum media_result read_label(struct media *media, uint8_t label[MEDIA_LABEL_BYTES])
{
    memcpy(label, ((struct file *)media)->header + AT_LABEL, MEDIA_LABEL_BYTES);
    return MEDIA_OK;
}

static enum media_result write_label(struct media *media, const uint8_t label[MEDIA_LABEL_BYTES])
{
    struct file *file = (struct file *)media;
    memcpy(file->header + AT_LABEL, label, MEDIA_LABEL_BYTES);
    base_put_le(file->header + AT_CRC, ecc_crc32c(0, file->header, AT_CRC), 4);
    int error = write_all(file->fd, file->header, HEADER_BYTES, 0);
    return error ? result_of(error) : sync_file(media);
}

static bool bad_from_factory(struct media *media, uint32_t block)
{
    (void)media;
    (void)block;
    return false;
}

static void close_file(struct media *media)
{
    close(((struct file *)media)->fd); // and unlocks
    free(media);
}

static const struct media_ops file_ops = {
    read_page, program, erase, sync_file, read_label, write_label, bad_from_factory, close_file};

static int *geometry_field(struct media_geometry *g, int i)
{
    int *const fields[] = {&g->channels, &g->dies,  &g->planes,
                           &g->blocks,   &g->pages, &g->page_bytes};
    return fields[i];
}

static enum stn_status open_locked(const char *path, int flags, struct file **out)
{
    struct file *file = calloc(1, sizeof(*file) + strlen(path) + 1);
    if (!file) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a medium", path);
    }
    strcpy(file->path, path);
    file->base.ops = &file_ops;
    file->base.name = file->path;
    file->fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    enum stn_status status = STN_OK;
    if (file->fd < 0) {
        status = stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", path,
                          strerror(errno));
    } else if (flock(file->fd, LOCK_EX | LOCK_NB)) {
        status = stn_fail(STN_ERR_IO, "%s: another process has this device open", path);
        close(file->fd);
    }
    if (status) {
        free(file);
        return status;
    }
    *out = file;
    return STN_OK;
}

static enum stn_status sync_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    free(copy);
    return synced ? STN_OK : stn_fail(STN_ERR_IO, "%s: the folder could not be synced", path);
}

enum stn_status media_file_create(const char *path, const struct media_geometry *geometry,
                                  struct media **out)
{
    struct file *file;
    enum stn_status status = open_locked(path, O_CREAT | O_EXCL, &file);
    if (status) {
        return status;
    }
    file->base.geometry = *geometry;
    memcpy(file->header, magic, sizeof(magic));
    base_put_le(file->header + AT_VERSION, VERSION, 4);
    for (int i = 0; i < 6; i++) {
        uint32_t value = (uint32_t)*geometry_field(&file->base.geometry, i);
        base_put_le(file->header + AT_GEOMETRY + 4 * i, value, 4);
    }
    const uint8_t label[MEDIA_LABEL_BYTES] = {0};
    if (ftruncate(file->fd, file_size(geometry)) || write_label(&file->base, label)) {
        status = stn_fail(errno == ENOSPC ? STN_ERR_NO_SPACE : STN_ERR_IO, "%s: %s", path,
                          strerror(errno));
    } else {
        status = sync_folder(path);
    }
    if (status) {
        unlink(path);
        close_file(&file->base);
        return status;
    }
    *out = &file->base;
    return STN_OK;
}

static enum stn_status read_header(struct file *file)
{
    struct stat stat;
    struct media_geometry *g = &file->base.geometry;
    if (fstat(file->fd, &stat) || stat.st_size < HEADER_BYTES ||
        read_all(file->fd, file->header, HEADER_BYTES, 0) ||
        memcmp(file->header, magic, sizeof(magic)) != 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: this is no flash medium of Stannis", file->path);
    }
    if (base_get_le(file->header + AT_VERSION, 4) != VERSION) {
        return stn_fail(STN_ERR_UNSUPPORTED, "%s: made by a newer Stannis", file->path);
    }
    if (base_get_le(file->header + AT_CRC, 4) != ecc_crc32c(0, file->header, AT_CRC)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: the header of this medium is damaged", file->path);
    }
    for (int i = 0; i < 6; i++) {
        *geometry_field(g, i) = (int)base_get_le(file->header + AT_GEOMETRY + 4 * i, 4);
    }
    if (stat.st_size != file_size(g)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: has %lld bytes, a medium like this %lld: it was %s",
                        file->path, (long long)stat.st_size, (long long)file_size(g),
                        stat.st_size < file_size(g) ? "truncated" : "written to");
    }
    return STN_OK;
}

enum stn_status media_file_open(const char *path, struct media **out)
{
    struct file *file;
    enum stn_status status = open_locked(path, 0, &file);
    if (status) {
        return status;
    }
    status = read_header(file);
    if (status) {
        close_file(&file->base);
        return status;
    }
    *out = &file->base;
    return STN_OK;
}
