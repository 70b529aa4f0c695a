// SPDX-License-Identifier: Apache-2.0
// cifar10:DIR: the binary batches of CIFAR-10, held in memory. A record is a label byte and three
// 32 × 32 planes.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "data/moments.h"
#include "data/store.h"

enum {
    EDGE = 32,
    PLANE = EDGE * EDGE,
    RECORD = 1 + 3 * PLANE,
    CLASSES = 10,
    BATCHES = 5,
    NAME_BYTES = 64
};

struct cifar {
    struct data_store store;
    struct base_arena arena;            // class names
    uint8_t *records[STN_SUBSET_COUNT]; // [count][RECORD]; owned
};

// Adds a file's records to those of a subset.
static enum stn_status records_add(struct cifar *set, enum stn_subset subset, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", path,
                        strerror(errno));
    }
    enum stn_status status = STN_OK;
    struct stat about;
    if (fstat(fileno(file), &about) != 0 || about.st_size <= 0 || about.st_size % RECORD != 0) {
        status = stn_fail(STN_ERR_CORRUPT,
                          "%s: not a CIFAR-10 batch, or truncated: its size is no multiple of %d",
                          path, RECORD);
        goto out_close;
    }
    int64_t before = set->store.info.count[subset], added = about.st_size / RECORD;
    uint8_t *records = realloc(set->records[subset], (size_t)(before + added) * RECORD);
    if (!records) {
        status =
            stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for %lld images", path, (long long)added);
        goto out_close;
    }
    set->records[subset] = records;
    uint8_t *fresh = records + before * RECORD;
    if (fread(fresh, RECORD, (size_t)added, file) != (size_t)added) {
        status = stn_fail(STN_ERR_IO, "%s: cannot be read whole", path);
        goto out_close;
    }
    for (int64_t i = 0; i < added; i++) {
        if (fresh[i * RECORD] >= CLASSES) {
            status =
                stn_fail(STN_ERR_CORRUPT, "%s: label %d at image %lld; a CIFAR-10 batch has 0 to 9",
                         path, fresh[i * RECORD], (long long)i);
            goto out_close;
        }
    }
    set->store.info.count[subset] += added;
out_close:
    fclose(file);
    return status;
}

static enum stn_status batch_path(const char *dir, const char *name, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX) {
        return stn_fail(STN_ERR_INVALID, "%.64s…: the directory's name is too long", dir);
    }
    return STN_OK;
}

// data_batch_1.bin … up to 5: the first is needed, and no gap is allowed.
static enum stn_status train_load(struct cifar *set, const char *dir)
{
    char name[32], path[PATH_MAX];
    int present = 0;
    for (int batch = 1; batch <= BATCHES; batch++) {
        snprintf(name, sizeof(name), "data_batch_%d.bin", batch);
        enum stn_status status = batch_path(dir, name, path);
        if (status != STN_OK) {
            return status;
        }
        if (batch > 1 && access(path, F_OK) != 0) {
            continue;
        }
        if (batch != present + 1) {
            return stn_fail(STN_ERR_NOT_FOUND,
                            "%s: data_batch_%d.bin is missing, though %s is there", dir,
                            present + 1, name);
        }
        status = records_add(set, STN_SUBSET_TRAIN, path);
        if (status != STN_OK) {
            return status;
        }
        present = batch;
    }
    return STN_OK;
}

// One name a line in batches.meta.txt; where that is missing or short, the names that CIFAR-10 has.
static enum stn_status names_load(struct cifar *set, const char *dir)
{
    static const char *const usual[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                               "dog",      "frog",       "horse", "ship", "truck"};
    set->store.info.class_names = usual;
    char path[PATH_MAX], line[NAME_BYTES];
    enum stn_status status = batch_path(dir, "batches.meta.txt", path);
    FILE *file = status == STN_OK ? fopen(path, "r") : NULL;
    if (!file) {
        return status;
    }
    const char **names = base_arena_alloc(&set->arena, CLASSES * sizeof(*names));
    int count = 0;
    while (names && count < CLASSES && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line) {
            names[count] = base_arena_strdup(&set->arena, line);
            if (!names[count++]) {
                names = NULL;
            }
        }
    }
    fclose(file);
    if (!names) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory", path);
    }
    if (count == CLASSES) {
        set->store.info.class_names = names;
    }
    return STN_OK;
}

static void cifar_close(struct data_store *store)
{
    struct cifar *set = (struct cifar *)store;
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        free(set->records[subset]);
    }
    base_arena_fini(&set->arena);
    free(set);
}

static void levels_measure(struct cifar *set)
{
    struct stn_dataset_info *info = &set->store.info;
    for (int c = 0; c < 3; c++) {
        struct data_moments moments = {{0}};
        for (int64_t i = 0; i < info->count[STN_SUBSET_TRAIN]; i++) {
            data_moments_add(&moments, set->records[STN_SUBSET_TRAIN] + i * RECORD + 1 + c * PLANE,
                             PLANE);
        }
        data_moments_get(&moments, &info->mean[c], &info->std[c]);
    }
}

static enum stn_status cifar_open(const struct data_spec *spec,
                                  const struct stn_dataset_options *options,
                                  struct data_store **out)
{
    struct cifar *set = calloc(1, sizeof(*set));
    if (!set) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
    }
    set->store.info =
        (struct stn_dataset_info){.channels = 3,
                                  .image_size = options->image_size ? options->image_size : EDGE,
                                  .classes = CLASSES};
    char path[PATH_MAX];
    enum stn_status status = train_load(set, spec->dir);
    if (status == STN_OK) {
        status = batch_path(spec->dir, "test_batch.bin", path);
    }
    if (status == STN_OK) {
        status = records_add(set, STN_SUBSET_VAL, path);
    }
    if (status == STN_OK) {
        status = names_load(set, spec->dir);
    }
    if (status != STN_OK) {
        cifar_close(&set->store);
        return status;
    }
    levels_measure(set);
    *out = &set->store;
    return STN_OK;
}

static int32_t cifar_label(const struct data_store *store, enum stn_subset subset, uint64_t index)
{
    return ((const struct cifar *)store)->records[subset][index * RECORD];
}

static enum stn_status cifar_read(const struct data_store *store, enum stn_subset subset,
                                  uint64_t index, const struct data_view_rule *rule,
                                  struct data_workspace *workspace, struct data_sample *out)
{
    const uint8_t *record = ((const struct cifar *)store)->records[subset] + index * RECORD;
    uint8_t *pixels = data_workspace_reserve(workspace, &workspace->pixels, 3 * PLANE);
    if (!pixels) {
        return STN_ERR_NO_MEMORY;
    }
    for (int i = 0; i < PLANE; i++) {
        for (int c = 0; c < 3; c++) {
            pixels[3 * i + c] = record[1 + c * PLANE + i];
        }
    }
    *out = (struct data_sample){
        .picture = {.image = {pixels, EDGE, EDGE, 3}, .view = data_view_choose(rule, EDGE, EDGE)},
        .label = record[0]};
    return STN_OK;
}

const struct data_store_kind data_cifar10 = {
    .name = "cifar10",
    .argument = DATA_SPEC_DIR,
    .fit = DATA_FIT_WHOLE,
    .open = cifar_open,
    .close = cifar_close,
    .label = cifar_label,
    .read = cifar_read,
};
