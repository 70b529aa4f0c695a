// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stannis/log.h"

enum { FILES_MAX = 8, PATH_BYTES = 128 };

// Links to files in memory: thousands of inputs a second would keep a disk busy.
struct file {
    char path[PATH_BYTES];
    int fd;
};

static char folder[] = "/tmp/stannis-fuzz-XXXXXX";
static struct file files[FILES_MAX];
static int file_count;

static void ignore(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

void fuzz_quiet(void)
{
    stn_log_set_sink(ignore, NULL);
}

void fuzz_check(bool holds)
{
    if (!holds) {
        abort();
    }
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void clean_up(void)
{
    for (int i = 0; i < file_count; i++) {
        unlink(files[i].path);
    }
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    static bool made;
    if (!made) {
        fuzz_check(mkdtemp(folder) && atexit(clean_up) == 0);
        made = true;
    }
    return folder;
}

static struct file *file_make(const char *path)
{
    char memory[PATH_BYTES];
    fuzz_check(file_count < FILES_MAX);
    struct file *file = &files[file_count++];
    strcpy(file->path, path);
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(memory, sizeof(memory), "/proc/self/fd/%d", file->fd);
    fuzz_check(file->fd >= 0 && symlink(memory, path) == 0);
    return file;
}

static struct file *file_find(const char *path)
{
    for (int i = 0; i < file_count; i++) {
        if (strcmp(files[i].path, path) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

void fuzz_file(const char *name, const void *data, size_t size)
{
    char path[PATH_BYTES];
    fuzz_check(snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name) < PATH_BYTES);
    struct file *file = file_find(path);
    if (!file) {
        file = file_make(path);
    }
    fuzz_check(ftruncate(file->fd, 0) == 0 && pwrite(file->fd, data, size, 0) == (ssize_t)size);
}
