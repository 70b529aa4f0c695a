// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "stannis/log.h"

static char last_error[1024];
static int error_count;

void scratch_create(char path[64])
{
    strcpy(path, "/tmp/stannis-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void scratch_remove(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
    assert_int_equal(rmdir(path), 0);
}

char scratch[64];

int scratch_set_up(void **state)
{
    (void)state;
    scratch_create(scratch);
    errors_catch();
    return 0;
}

int scratch_tear_down(void **state)
{
    (void)state;
    scratch_remove(scratch);
    return 0;
}

const char *in(const char *directory, const char *name)
{
    static char buffers[8][256];
    static unsigned turn;
    char *buffer = buffers[turn++ % 8];
    snprintf(buffer, sizeof(buffers[0]), "%s/%s", directory, name);
    return buffer;
}

struct bytes file_load(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    struct bytes b = {.size = (size_t)ftell(f)};
    rewind(f);
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    assert_int_equal(fread(b.data, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

void file_store(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int directory_entries(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    int count = -2; // . and ..
    while (readdir(directory)) {
        count++;
    }
    closedir(directory);
    return count;
}

static void catch_line(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    if (level == STN_LOG_ERROR) {
        snprintf(last_error, sizeof(last_error), "%s", line);
        error_count++;
    }
}

void errors_catch(void)
{
    stn_log_set_sink(catch_line, NULL);
    errors_reset();
}

int errors_set_up(void **state)
{
    (void)state;
    errors_catch();
    return 0;
}

const char *errors_last(void)
{
    return last_error;
}

int errors_count(void)
{
    return error_count;
}

void errors_reset(void)
{
    last_error[0] = '\0';
    error_count = 0;
}
