// SPDX-License-Identifier: Apache-2.0
// Feeds a fuzz target from a folder, without libFuzzer: every file as it is, cut short, and with
// bits flipped, always the same ones. What a target does wrong shows as a crash, best under a
// sanitizer.
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "target.h"

enum { FILE_BYTES_MAX = 1 << 20, CUTS = 64, FLIPS = 300 };

// Inputs go in a block of exactly their size, so that ASan sees the first byte read beyond.
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        exit(1);
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void feed_variants(uint8_t *data, size_t size)
{
    feed(data, size);
    for (size_t i = 0; i < CUTS; i++) {
        feed(data, size * i / CUTS);
    }
    struct base_random random = base_random_from(size);
    for (int i = 0; size > 0 && i < FLIPS; i++) {
        // Headers are where parsers decide: half of the flips stay in the first 64 bytes.
        uint64_t reach = i % 2 && size > 64 ? 64 : size;
        size_t at = (size_t)base_random_below(&random, reach);
        uint8_t bit = (uint8_t)(1u << base_random_below(&random, 8));
        data[at] ^= bit;
        feed(data, size);
        data[at] ^= bit;
    }
}

static bool replay_file(const char *path)
{
    static uint8_t data[FILE_BYTES_MAX];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return false;
    }
    size_t size = fread(data, 1, sizeof(data), f);
    fclose(f);
    feed_variants(data, size);
    return true;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int files = 0;
    bool ok = true;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        ok &= replay_file(path);
        files++;
    }
    closedir(folder);
    printf("%d files, %d variants of each\n", files, 1 + CUTS + FLIPS);
    return ok && files > 0 ? 0 : 1; // an empty corpus tests nothing
}
