// SPDX-License-Identifier: Apache-2.0
#include "data/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool name_is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                   strcasecmp(dot, ".png") == 0);
}

// Asks the file system only where the directory itself does not say: for links and on some file
// systems.
static bool entry_is_dir(int dir, const struct dirent *entry)
{
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    struct stat about;
    return fstatat(dir, entry->d_name, &about, 0) == 0 && S_ISDIR(about.st_mode);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool data_listing_add(struct data_listing *listing, struct base_arena *arena, const char *name)
{
    if (listing->count == listing->room) {
        int64_t larger = listing->room ? 2 * listing->room : 64;
        const char **names = realloc(listing->names, (size_t)larger * sizeof(*names));
        if (!names) {
            return false;
        }
        listing->names = names;
        listing->room = larger;
    }
    const char *copy = base_arena_strdup(arena, name);
    if (copy) {
        listing->names[listing->count++] = copy;
    }
    return copy;
}

enum stn_status data_listing_read(const char *dir, enum data_listing_want want,
                                  struct base_arena *arena, struct data_listing *out)
{
    *out = (struct data_listing){0};
    DIR *handle = opendir(dir);
    if (!handle) {
        return stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", dir,
                        strerror(errno));
    }
    enum stn_status status = STN_OK;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(handle);
        if (!entry) {
            break;
        }
        if (entry->d_name[0] == '.') {
            continue;
        }
        bool is_dir = entry_is_dir(dirfd(handle), entry);
        if (want == DATA_LISTING_DIRS ? !is_dir : is_dir || !name_is_picture(entry->d_name)) {
            out->others++;
        } else if (!data_listing_add(out, arena, entry->d_name)) {
            status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its list of files", dir);
            break;
        }
    }
    if (status == STN_OK && errno) {
        status = stn_fail(STN_ERR_IO, "%s: %s", dir, strerror(errno));
    }
    closedir(handle);
    if (status != STN_OK) {
        data_listing_fini(out);
        return status;
    }
    if (out->count) {
        qsort(out->names, (size_t)out->count, sizeof(*out->names), compare_names);
    }
    return STN_OK;
}

void data_listing_fini(struct data_listing *listing)
{
    free(listing->names);
    *listing = (struct data_listing){0};
}
