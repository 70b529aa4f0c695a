// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Length of the directory part of `path`; 0: the current directory.
static int directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return 0;
    }
    return slash == path ? 1 : (int)(slash - path);
}

static enum stn_status fail_writing(const struct atomic_file *file, int error)
{
    const char *kept = access(file->path, F_OK) == 0 ? "; the previous file is intact" : "";
    int length = directory_length(file->path);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        const char *what = error == ENOSPC   ? "no space left on device"
                           : error == EDQUOT ? "no space left in the disk quota"
                                             : "no space left under the file size limit";
        return stn_fail(STN_ERR_NO_SPACE, "%s: %.*s%s", what, length ? length : 1,
                        length ? file->path : ".", kept);
    }
    return stn_fail(STN_ERR_IO, "cannot write %s: %s%s", file->path, strerror(error), kept);
}

enum stn_status atomic_file_open(const char *path, struct atomic_file *out)
{
    *out = (struct atomic_file){.fd = -1};
    out->path = strdup(path);
    if (!out->path || asprintf(&out->temporary, "%s.tmp-%ld", path, (long)getpid()) < 0) {
        free(out->path);
        return stn_fail(STN_ERR_NO_MEMORY, "cannot write %s: out of memory", path);
    }
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        enum stn_status status = fail_writing(out, errno);
        free(out->temporary);
        free(out->path);
        return status;
    }
    return STN_OK;
}

enum stn_status atomic_file_write(struct atomic_file *file, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t n = write(file->fd, from, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail_writing(file, errno);
        }
        from += n;
        size -= (size_t)n;
    }
    return STN_OK;
}

// Makes the rename itself last.
static int sync_directory(const char *path)
{
    int length = directory_length(path);
    char *directory = length ? strndup(path, (size_t)length) : strdup(".");
    if (!directory) {
        return ENOMEM;
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (fd < 0) {
        return errno;
    }
    // Some file systems cannot sync a directory; they say EINVAL, and there is nothing more to do.
    int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error;
}

static void release(struct atomic_file *file)
{
    free(file->temporary);
    free(file->path);
    *file = (struct atomic_file){.fd = -1};
}

enum stn_status atomic_file_commit(struct atomic_file *file)
{
    int error = fsync(file->fd) == 0 ? 0 : errno;
    if (close(file->fd) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && rename(file->temporary, file->path) != 0) {
        error = errno;
    }
    enum stn_status status = STN_OK;
    if (error != 0) {
        status = fail_writing(file, error);
        unlink(file->temporary);
    } else if ((error = sync_directory(file->path)) != 0) {
        status = stn_fail(STN_ERR_IO, "%s is written, but its directory could not be synced: %s",
                          file->path, strerror(error));
    }
    release(file);
    return status;
}

void atomic_file_abort(struct atomic_file *file)
{
    close(file->fd);
    unlink(file->temporary);
    release(file);
}

// Up to two pieces.
static enum stn_status store(const char *path, const void *bytes, size_t size, const char *end)
{
    struct atomic_file file;
    enum stn_status status = atomic_file_open(path, &file);
    if (status) {
        return status;
    }
    status = atomic_file_write(&file, bytes, size);
    if (!status) {
        status = atomic_file_write(&file, end, strlen(end));
    }
    if (status) {
        atomic_file_abort(&file);
        return status;
    }
    return atomic_file_commit(&file);
}

enum stn_status atomic_file_store(const char *path, const void *bytes, size_t size)
{
    return store(path, bytes, size, "");
}

enum stn_status atomic_file_store_line(const char *path, const char *text)
{
    return store(path, text, strlen(text), "\n");
}
