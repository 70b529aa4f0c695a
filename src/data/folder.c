// SPDX-License-Identifier: Apache-2.0
// folder:DIR: pictures in DIR/train/CLASS and DIR/val/CLASS; a node's private ones may lie in
// DIR/CLASS. Opening lists the files; pixels are read when wanted.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "data/listing.h"
#include "data/store.h"
#include "stannis/log.h"

enum { SIZE_DEFAULT = 224 };

struct file {
    const char *name;
    int32_t label;
};

struct folder {
    struct data_store store;
    struct base_arena arena;            // directories, class names, file names
    const char *dirs[STN_SUBSET_COUNT]; // DIR/train and so on; NULL: there is no such subset
    struct data_listing classes;        // those of train, then those that only val has
    bool any_class;                     // val may have classes that train has not
    struct file *files[STN_SUBSET_COUNT];
    int64_t others; // entries that are no pictures
};

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
}

static int class_find(const struct folder *set, const char *name)
{
    for (int i = 0; i < set->classes.count; i++) {
        if (strcmp(set->classes.names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

// Adds one class directory's pictures to a subset.
static enum stn_status class_add(struct folder *set, enum stn_subset subset, const char *name,
                                 int32_t label)
{
    char path[PATH_MAX];
    if (snprintf(path, PATH_MAX, "%s/%s", set->dirs[subset], name) >= PATH_MAX) {
        return stn_fail(STN_ERR_INVALID, "%.64s…: the path is too long", set->dirs[subset]);
    }
    struct data_listing pictures;
    enum stn_status status = data_listing_read(path, DATA_LISTING_PICTURES, &set->arena, &pictures);
    if (status != STN_OK) {
        return status;
    }
    set->others += pictures.others;
    if (pictures.count == 0) {
        if (subset == STN_SUBSET_TRAIN) {
            status = stn_fail(STN_ERR_INVALID,
                              "%s: no .jpg, .jpeg or .png file in it; fill or remove it", path);
        }
        goto out_listing;
    }
    int64_t before = set->store.info.count[subset];
    size_t total = (size_t)(before + pictures.count);
    struct file *files = realloc(set->files[subset], total * sizeof(*files));
    if (!files) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its list of files", path);
        goto out_listing;
    }
    set->files[subset] = files;
    for (int64_t i = 0; i < pictures.count; i++) {
        files[before + i] = (struct file){pictures.names[i], label};
    }
    set->store.info.count[subset] += pictures.count;
out_listing:
    data_listing_fini(&pictures);
    return status;
}

static enum stn_status train_list(struct folder *set)
{
    const char *dir = set->dirs[STN_SUBSET_TRAIN];
    enum stn_status status = data_listing_read(dir, DATA_LISTING_DIRS, &set->arena, &set->classes);
    if (status != STN_OK) {
        return status;
    }
    set->others += set->classes.others;
    if (set->classes.count == 0 || set->classes.count > INT32_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: no class directories in it; pictures belong in %s/CLASS/", dir, dir);
    }
    for (int32_t i = 0; i < set->classes.count && status == STN_OK; i++) {
        status = class_add(set, STN_SUBSET_TRAIN, set->classes.names[i], i);
    }
    return status;
}

static enum stn_status val_class_add(struct folder *set, const char *name)
{
    int label = class_find(set, name);
    if (label < 0 && !set->any_class) {
        return stn_fail(STN_ERR_INVALID, "%s/%s: class '%s' is not in %s",
                        set->dirs[STN_SUBSET_VAL], name, name, set->dirs[STN_SUBSET_TRAIN]);
    }
    if (label < 0) {
        label = (int)set->classes.count;
        if (!data_listing_add(&set->classes, &set->arena, name)) {
            return fail_memory();
        }
    }
    return class_add(set, STN_SUBSET_VAL, name, label);
}

static enum stn_status val_list(struct folder *set)
{
    const char *dir = set->dirs[STN_SUBSET_VAL];
    struct data_listing classes = {0};
    enum stn_status status = data_listing_read(dir, DATA_LISTING_DIRS, &set->arena, &classes);
    if (status != STN_OK) {
        return status;
    }
    set->others += classes.others;
    for (int64_t i = 0; i < classes.count && status == STN_OK; i++) {
        status = val_class_add(set, classes.names[i]);
    }
    data_listing_fini(&classes);
    if (status == STN_OK && set->store.info.count[STN_SUBSET_VAL] == 0) {
        status =
            stn_fail(STN_ERR_INVALID, "%s: no pictures in it; they belong in %s/CLASS/", dir, dir);
    }
    return status;
}

static void folder_close(struct data_store *store)
{
    struct folder *set = (struct folder *)store;
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        free(set->files[subset]);
    }
    data_listing_fini(&set->classes);
    base_arena_fini(&set->arena);
    free(set);
}

static enum stn_status subsets_find(struct folder *set, const char *dir)
{
    set->dirs[STN_SUBSET_TRAIN] = base_arena_printf(&set->arena, "%s/train", dir);
    set->dirs[STN_SUBSET_VAL] = base_arena_printf(&set->arena, "%s/val", dir);
    return set->dirs[STN_SUBSET_TRAIN] && set->dirs[STN_SUBSET_VAL] ? STN_OK : fail_memory();
}

// Where DIR/train holds no directories it is a class called "train", if it is there at all.
static enum stn_status private_subsets_find(struct folder *set, const char *dir)
{
    enum stn_status status = subsets_find(set, dir);
    if (status != STN_OK) {
        return status;
    }
    struct data_listing classes = {0};
    if (access(set->dirs[STN_SUBSET_TRAIN], F_OK) == 0) {
        status = data_listing_read(set->dirs[STN_SUBSET_TRAIN], DATA_LISTING_DIRS, &set->arena,
                                   &classes);
    }
    bool has_subsets = classes.count > 0;
    data_listing_fini(&classes);
    if (!has_subsets) {
        set->dirs[STN_SUBSET_TRAIN] = base_arena_strdup(&set->arena, dir);
    }
    if (!has_subsets || access(set->dirs[STN_SUBSET_VAL], F_OK) != 0) {
        set->dirs[STN_SUBSET_VAL] = NULL;
    }
    return status == STN_OK && !set->dirs[STN_SUBSET_TRAIN] ? fail_memory() : status;
}

static enum stn_status folder_list(struct folder *set, const char *dir)
{
    enum stn_status status = train_list(set);
    if (status == STN_OK && set->dirs[STN_SUBSET_VAL]) {
        status = val_list(set);
    }
    if (status == STN_OK && set->others) {
        stn_log(STN_LOG_WARN, "%s: ignoring %lld entr%s that are not .jpg, .jpeg or .png", dir,
                (long long)set->others, set->others == 1 ? "y" : "ies");
    }
    set->store.info.classes = (int)set->classes.count;
    set->store.info.class_names = set->classes.names;
    return status;
}

static struct folder *folder_create(bool any_class)
{
    struct folder *set = calloc(1, sizeof(*set));
    if (!set) {
        return NULL;
    }
    set->any_class = any_class;
    // Photographs: the statistics of ImageNet's, as everybody uses.
    set->store.info = (struct stn_dataset_info){
        .channels = 3,
        .image_size = SIZE_DEFAULT,
        .mean = {0.485f, 0.456f, 0.406f},
        .std = {0.229f, 0.224f, 0.225f},
    };
    return set;
}

static enum stn_status folder_open(const struct data_spec *spec,
                                   const struct stn_dataset_options *options,
                                   struct data_store **out)
{
    struct folder *set = folder_create(options->class_names != NULL);
    if (!set) {
        return fail_memory();
    }
    if (options->image_size) {
        set->store.info.image_size = options->image_size;
    }
    enum stn_status status = subsets_find(set, spec->dir);
    if (status == STN_OK) {
        status = folder_list(set, spec->dir);
    }
    if (status != STN_OK) {
        folder_close(&set->store);
        return status;
    }
    *out = &set->store;
    return STN_OK;
}

enum stn_status data_folder_open_private(const char *dir, struct data_store **out)
{
    struct folder *set = folder_create(true);
    if (!set) {
        return fail_memory();
    }
    enum stn_status status = private_subsets_find(set, dir);
    if (status == STN_OK) {
        status = folder_list(set, dir);
    }
    if (status != STN_OK) {
        folder_close(&set->store);
        return status;
    }
    set->store.kind = &data_folder;
    *out = &set->store;
    return STN_OK;
}

static int32_t folder_label(const struct data_store *store, enum stn_subset subset, uint64_t index)
{
    return ((const struct folder *)store)->files[subset][index].label;
}

static enum stn_status folder_read(const struct data_store *store, enum stn_subset subset,
                                   uint64_t index, const struct data_view_rule *rule,
                                   struct data_workspace *workspace, struct data_sample *out)
{
    const struct folder *set = (const struct folder *)store;
    const struct file *file = &set->files[subset][index];
    int length = snprintf(workspace->path, sizeof(workspace->path), "%s/%s/%s", set->dirs[subset],
                          set->classes.names[file->label], file->name);
    if (length >= (int)sizeof(workspace->path)) {
        return data_workspace_fail(workspace, STN_ERR_IO, "%.512s…: the path is too long",
                                   workspace->path);
    }
    out->label = file->label;
    return data_image_read(workspace, store->info.channels, rule, &out->picture);
}

const struct data_store_kind data_folder = {
    .name = "folder",
    .argument = DATA_SPEC_DIR,
    .fit = DATA_FIT_COVER,
    .open = folder_open,
    .close = folder_close,
    .label = folder_label,
    .read = folder_read,
};
