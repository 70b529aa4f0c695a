// SPDX-License-Identifier: Apache-2.0
#include "trainer/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/setting_mark.h"

static enum stn_status make_directories(const char *path)
{
    char part[4096];
    if (strlen(path) == 0 || strlen(path) >= sizeof(part)) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "out: not a usable directory name");
    }
    strcpy(part, path);
    for (char *c = part + 1;; c++) {
        if (*c != '/' && *c != '\0') {
            continue;
        }
        bool last = *c == '\0';
        *c = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return stn_fail(STN_ERR_IO, BASE_SETTING "out %s: cannot make %s: %s", path, part,
                            strerror(errno));
        }
        if (last) {
            return STN_OK;
        }
        *c = '/';
    }
}

static enum stn_status open_directory(const char *directory, struct trainer_output *out)
{
    enum stn_status status = make_directories(directory);
    if (status) {
        return status;
    }
    struct stat info;
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "out %s: not a directory", directory);
    }
    if (asprintf(&out->last, "%s/last.safetensors", directory) < 0 ||
        asprintf(&out->best, "%s/best.safetensors", directory) < 0) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "out %s: out of memory", directory);
    }
    return STN_OK;
}

enum stn_status trainer_output_open(const struct settings *settings, const struct crew *nodes,
                                    struct trainer_output *out)
{
    *out = (struct trainer_output){0};
    enum stn_status status = STN_OK;
    if (settings->out && nodes->rank == 0) {
        status = open_directory(settings->out, out);
    }
    if (settings->audit && !status) {
        status = crew_audit_open(settings->audit, crew_own(nodes)->name, settings->resume != NULL,
                                 &out->audit);
    }
    return status;
}

void trainer_output_close(struct trainer_output *output)
{
    crew_audit_close(output->audit);
    free(output->best);
    free(output->last);
    *output = (struct trainer_output){0};
}
