// SPDX-License-Identifier: Apache-2.0
// What kinds of meters share: reading small files and folders of sysfs.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "energy/meter_kind.h"

bool energy_meter_fail(struct energy_meter *meter, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(meter->why, sizeof(meter->why), format, args);
    va_end(args);
    return false;
}

bool energy_meter_path(struct energy_meter *meter, char path[PATH_MAX], const char *format, ...)
{
    int root = snprintf(path, PATH_MAX, "%s", meter->world.root);
    if (root < 0 || root >= PATH_MAX) {
        return energy_meter_fail(meter, "%s: too long a path", meter->world.root);
    }
    va_list args;
    va_start(args, format);
    int rest = vsnprintf(path + root, (size_t)(PATH_MAX - root), format, args);
    va_end(args);
    bool fits = rest >= 0 && rest < PATH_MAX - root;
    return fits || energy_meter_fail(meter, "%s…: too long a path", meter->world.root);
}

bool energy_read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, text, size - 1);
    int error = errno;
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (length < 0) {
        errno = error;
        return false;
    }
    errno = EILSEQ;
    return text[0] != '\0';
}

bool energy_read_count(const char *path, uint64_t *out)
{
    char text[64], *end;
    if (!energy_read_line(path, text, sizeof(text))) {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
        errno = EILSEQ;
        return false;
    }
    *out = value;
    return true;
}

static int by_name(const void *one, const void *other)
{
    return strcmp(one, other);
}

int energy_list_folder(const char *path, const char *prefix, char names[][ENERGY_NAME_MAX],
                       int most)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return -1;
    }
    int count = 0;
    for (const struct dirent *entry; count < most && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length < ENERGY_NAME_MAX && strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            memcpy(names[count++], entry->d_name, length + 1);
        }
    }
    closedir(folder);
    qsort(names, (size_t)count, sizeof(*names), by_name);
    return count;
}
