// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char default_out[] = "run";

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

enum stn_status places_settle(struct settings *settings, struct places *places)
{
    bool chosen = settings->out != NULL;
    settings->out = chosen ? settings->out : default_out;
    if (!settings->resume) {
        return check_free(settings->out, settings->overwrite);
    }
    if (strcmp(settings->resume, "last") == 0) {
        enum stn_status status =
            places_join(settings->out, "last.safetensors", places->resume, sizeof(places->resume));
        if (status != STN_OK) {
            return status;
        }
        settings->resume = places->resume;
    }
    if (access(settings->resume, R_OK) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot resume: %s", settings->resume,
                        strerror(errno));
    }
    // Not too long: access found it.
    snprintf(places->folder, sizeof(places->folder), "%s", settings->resume);
    const char *folder = folder_of(places->folder);
    if (!chosen) {
        settings->out = folder;
    }
    return same_folder(folder, settings->out) ? STN_OK
                                              : check_free(settings->out, settings->overwrite);
}
