// SPDX-License-Identifier: Apache-2.0
#include "csd/device/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "csd/device/rack.h"

static enum stn_status open_lock(const char *folder, int *fd)
{
    char path[CSD_PATH_BYTES];
    enum stn_status status = csd_path(path, folder, CSD_LOCK_FILE);
    if (status != STN_OK) {
        return status;
    }
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0) {
        return stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", path,
                        strerror(errno));
    }
    return STN_OK;
}

enum stn_status csd_lock_holder(const char *folder, pid_t *out)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd;
    enum stn_status status = open_lock(folder, &fd);
    if (status != STN_OK) {
        return status;
    }
    if (fcntl(fd, F_GETLK, &lock) != 0) {
        status = stn_fail(STN_ERR_IO, "%s: %s", folder, strerror(errno));
    } else {
        *out = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
    }
    close(fd);
    return status;
}

enum stn_status csd_lock_take(const char *folder, int *fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char text[32];
    enum stn_status status = open_lock(folder, fd);
    if (status != STN_OK) {
        return status;
    }
    if (fcntl(*fd, F_SETLK, &lock) != 0) {
        struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        bool known = fcntl(*fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
        close(*fd);
        return stn_fail(STN_ERR_INVALID, "%s: the device is on already (process %d)", folder,
                        known ? (int)holder.l_pid : 0);
    }
    int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(*fd, 0) != 0 || pwrite(*fd, text, (size_t)length, 0) != length) {
        close(*fd);
        return stn_fail(STN_ERR_IO, "%s: cannot write its lock file: %s", folder, strerror(errno));
    }
    return STN_OK;
}
