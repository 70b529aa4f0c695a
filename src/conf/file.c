// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

enum { FILE_BYTES_MAX = 16 << 20 };

enum stn_status conf_load_text(const char *path, const char *what, char **out, size_t *bytes)
{
    *out = NULL;
    FILE *f = fopen(path, "re");
    if (!f) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot read the %s: %s", path, what,
                        strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    *bytes = text ? fread(text, 1, FILE_BYTES_MAX + 1, f) : 0;
    int error = ferror(f) ? errno : 0;
    fclose(f);
    enum stn_status status = STN_OK;
    if (!text) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory to read it", path);
    } else if (error) {
        status = stn_fail(STN_ERR_IO, "%s: cannot read the %s: %s", path, what, strerror(error));
    } else if (*bytes > FILE_BYTES_MAX) {
        status = stn_fail(STN_ERR_INVALID, "%s: larger than %d MiB; is it a %s?", path,
                          FILE_BYTES_MAX >> 20, what);
    }
    if (status) {
        free(text);
    } else {
        *out = text;
    }
    return status;
}

enum stn_status conf_load(const char *path, const char *what, struct conf *out)
{
    char *text;
    size_t bytes;
    *out = (struct conf){.label = path};
    enum stn_status status = conf_load_text(path, what, &text, &bytes);
    if (!status) {
        status = conf_parse(text, bytes, path, out);
        free(text);
    }
    return status;
}
