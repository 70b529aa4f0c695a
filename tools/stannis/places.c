// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum stn_status places_join(const char *dir, const char *file, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s", dir, file);
    if (length < 0 || (size_t)length >= size) {
        return stn_fail(STN_ERR_INVALID, "--out %.60s…: name too long", dir);
    }
    return STN_OK;
}

// The folder of a path, in `buffer`, which holds the path already.
static const char *folder_of(char *buffer)
{
    char *slash = strrchr(buffer, '/');
    if (!slash) {
        return ".";
    }
    *(slash == buffer ? slash + 1 : slash) = '\0';
    return buffer;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat left, right;
    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

// A finished or interrupted training is worth more than the few letters of --overwrite.
static enum stn_status check_free(const char *dir, bool overwrite)
{
    static const char *const files[] = {"last.safetensors", "best.safetensors"};
    char path[PATH_MAX];
    for (int i = 0; i < 2 && !overwrite; i++) {
        enum stn_status status = places_join(dir, files[i], path, sizeof(path));
        if (status != STN_OK) {
            return status;
        }
        if (access(path, F_OK) == 0) {
            return stn_fail(
                STN_ERR_INVALID,
                "%s already holds a training (%s); use --resume last to continue it, --out DIR for "
                "another place, or --overwrite",
                dir, files[i]);
        }
    }
    return STN_OK;
}

enum stn_status places_settle(struct stn_train_config *config, const char *out_default,
                              bool overwrite, struct places *places)
{
    if (!config->resume) {
        return check_free(config->out_dir, overwrite);
    }
    if (strcmp(config->resume, "last") == 0) {
        enum stn_status status = places_join(config->out_dir, "last.safetensors", places->resume,
                                             sizeof(places->resume));
        if (status != STN_OK) {
            return status;
        }
        config->resume = places->resume;
    }
    if (access(config->resume, R_OK) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot resume: %s", config->resume,
                        strerror(errno));
    }
    // Not too long: access found it.
    snprintf(places->folder, sizeof(places->folder), "%s", config->resume);
    const char *folder = folder_of(places->folder);
    if (config->out_dir == out_default) {
        config->out_dir = folder;
    }
    return same_folder(folder, config->out_dir) ? STN_OK : check_free(config->out_dir, overwrite);
}
