// SPDX-License-Identifier: Apache-2.0
// A made-up machine for meters: a folder in place of /, and clocks that stand where they are put.
#ifndef TESTS_ENERGY_TREE_H
#define TESTS_ENERGY_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "energy/meter.h"

struct tree {
    char root[64];
    double clock_s, utc_s;
    struct energy_world world;
};

static inline double tree_clock_s(void *context)
{
    return ((struct tree *)context)->clock_s;
}

static inline double tree_utc_s(void *context)
{
    return ((struct tree *)context)->utc_s;
}

// False: no folder could be made.
static inline bool tree_init(struct tree *tree)
{
    *tree = (struct tree){.root = "/tmp/stannis-energy-XXXXXX", .clock_s = 1000.0};
    tree->utc_s = 1770000000.0;
    bool made = mkdtemp(tree->root) != NULL;
    tree->world = (struct energy_world){tree->root, tree_clock_s, tree_utc_s, tree};
    return made;
}

static inline int tree_remove_one(const char *path, const struct stat *stat, int kind,
                                  struct FTW *walk)
{
    (void)stat, (void)kind, (void)walk;
    return remove(path);
}

static inline void tree_fini(struct tree *tree)
{
    nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// For a test whose state is such a machine.
static inline int tree_set_up(void **state)
{
    static struct tree tree;
    *state = &tree;
    return !tree_init(&tree);
}

static inline int tree_tear_down(void **state)
{
    tree_fini(*state);
    return 0;
}

// Writes the file and the folders before it, whole.
static inline void tree_write(const struct tree *tree, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void tree_write(const struct tree *tree, const char *path, const char *format, ...)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", tree->root, path);
    for (char *slash = strchr(full + strlen(tree->root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "we");
    if (file) {
        va_list args;
        va_start(args, format);
        vfprintf(file, format, args);
        va_end(args);
        fclose(file);
    }
}

static inline void tree_zone(const struct tree *tree, const char *folder, const char *name,
                             unsigned long long energy_uj, unsigned long long range_uj)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "sys/class/powercap/%s/name", folder);
    tree_write(tree, path, "%s\n", name);
    snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", folder);
    tree_write(tree, path, "%llu\n", energy_uj);
    snprintf(path, sizeof(path), "sys/class/powercap/%s/max_energy_range_uj", folder);
    tree_write(tree, path, "%llu\n", range_uj);
}

#endif
