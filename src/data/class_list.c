// SPDX-License-Identifier: Apache-2.0
#include "data/class_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"

enum { FILE_BYTES_MAX = 16 << 20, CLASSES_MAX = 1000000 };

struct line {
    const char *name;
    int number; // from 1
};

static enum stn_status fail_memory(const char *label)
{
    return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its class names", label);
}

static int count_lines(const char *text, size_t bytes)
{
    int lines = bytes > 0 && text[bytes - 1] != '\n';
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

static enum stn_status check_name(const char *name, size_t length, const char *label, int number)
{
    if (length == 0) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: an empty line; write one class name a line", label,
                        number);
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] < ' ') {
            return stn_fail(STN_ERR_INVALID,
                            "%s:%d: a control character; write one class name a line", label,
                            number);
        }
    }
    if (name[0] == ' ' || name[length - 1] == ' ') {
        return stn_fail(STN_ERR_INVALID, "%s:%d: a space at the %s of the class name", label,
                        number, name[0] == ' ' ? "beginning" : "end");
    }
    return STN_OK;
}

static enum stn_status read_lines(const char *text, size_t bytes, const char *label,
                                  struct data_class_list *out)
{
    const char *end = text + bytes;
    for (int i = 0; i < out->count; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        const char *next = text + length + 1;
        length -= length > 0 && text[length - 1] == '\r';
        enum stn_status status = check_name(text, length, label, i + 1);
        if (status) {
            return status;
        }
        char *name = base_arena_alloc(&out->arena, length + 1);
        if (!name) {
            return fail_memory(label);
        }
        out->names[i] = memcpy(name, text, length);
        text = next;
    }
    return STN_OK;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->number - y->number;
}

// Names the first line that repeats an earlier one.
static enum stn_status check_different(const struct data_class_list *list, const char *label)
{
    struct line *lines = malloc((size_t)list->count * sizeof(*lines));
    if (!lines) {
        return fail_memory(label);
    }
    for (int i = 0; i < list->count; i++) {
        lines[i] = (struct line){list->names[i], i + 1};
    }
    qsort(lines, (size_t)list->count, sizeof(*lines), compare_lines);
    const struct line *twice = NULL;
    for (int i = 1; i < list->count; i++) {
        bool same = strcmp(lines[i - 1].name, lines[i].name) == 0;
        if (same && (!twice || lines[i].number < twice->number)) {
            twice = &lines[i];
        }
    }
    enum stn_status status = STN_OK;
    if (twice) {
        status = stn_fail(STN_ERR_INVALID, "%s:%d: class '%s' is already there; name each once",
                          label, twice->number, twice->name);
    }
    free(lines);
    return status;
}

enum stn_status data_class_list_parse(const char *text, size_t bytes, const char *label,
                                      struct data_class_list *out)
{
    *out = (struct data_class_list){.count = count_lines(text, bytes)};
    if (out->count < 1 || out->count > CLASSES_MAX) {
        return stn_fail(STN_ERR_INVALID, "%s: %d class names; there must be 1 to %d, one a line",
                        label, out->count, CLASSES_MAX);
    }
    enum stn_status status = STN_OK;
    out->names = base_arena_alloc(&out->arena, (size_t)out->count * sizeof(*out->names));
    if (!out->names) {
        status = fail_memory(label);
    }
    if (!status) {
        status = read_lines(text, bytes, label, out);
    }
    if (!status) {
        status = check_different(out, label);
    }
    if (status) {
        data_class_list_fini(out);
    }
    return status;
}

enum stn_status data_class_list_load(const char *path, struct data_class_list *out)
{
    *out = (struct data_class_list){0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO,
                        BASE_SETTING "class-list %s: %s", path, strerror(errno));
    }
    enum stn_status status = STN_OK;
    size_t bytes = 0;
    char *text = malloc(FILE_BYTES_MAX);
    if (!text) {
        status = fail_memory(path);
        goto out_file;
    }
    bytes = fread(text, 1, FILE_BYTES_MAX, file);
    if (ferror(file)) {
        status = stn_fail(STN_ERR_IO, BASE_SETTING "class-list %s: %s", path, strerror(errno));
    } else if (bytes == FILE_BYTES_MAX) {
        status = stn_fail(STN_ERR_INVALID,
                          BASE_SETTING "class-list %s: too large for a list of class names", path);
    } else {
        status = data_class_list_parse(text, bytes, path, out);
    }
    free(text);
out_file:
    fclose(file);
    return status;
}

void data_class_list_fini(struct data_class_list *list)
{
    base_arena_fini(&list->arena);
    *list = (struct data_class_list){0};
}
