// SPDX-License-Identifier: Apache-2.0
// folder:DIR: pictures in DIR/train/CLASS and DIR/val/CLASS. Opening lists the files; pixels are
// read when wanted.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "data/listing.h"
#include "data/store.h"
#include "stannis/log.h"

enum { SIZE_DEFAULT = 224 };

static const char *const split_names[STN_SPLIT_COUNT] = {"train", "val"};

struct file {
    const char *name;
    int32_t label;
};

struct folder {
    struct data_store store;
    struct base_arena arena; // dir, class names, file names
    const char *dir;
    struct data_listing classes; // those of train/
    struct file *files[STN_SPLIT_COUNT];
    int64_t others; // entries that are no pictures
};

static enum stn_status path_join(char path[PATH_MAX], const char *dir, enum stn_split split,
                                 const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s%s%s", dir, split_names[split], name ? "/" : "",
                 name ? name : "") >= PATH_MAX) {
        return stn_fail(STN_ERR_INVALID, "%.64s…: the path is too long", dir);
    }
    return STN_OK;
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

// Adds one class directory's pictures to a split.
static enum stn_status class_add(struct folder *set, enum stn_split split, const char *name,
                                 int32_t label)
{
    char path[PATH_MAX];
    enum stn_status status = path_join(path, set->dir, split, name);
    if (status != STN_OK) {
        return status;
    }
    struct data_listing pictures;
    status = data_listing_read(path, DATA_LISTING_PICTURES, &set->arena, &pictures);
    if (status != STN_OK) {
        return status;
    }
    set->others += pictures.others;
    if (pictures.count == 0) {
        if (split == STN_SPLIT_TRAIN) {
            status = stn_fail(STN_ERR_INVALID,
                              "%s: no .jpg, .jpeg or .png file in it; fill or remove it", path);
        }
        goto out_listing;
    }
    int64_t before = set->store.info.count[split];
    size_t total = (size_t)(before + pictures.count);
    struct file *files = realloc(set->files[split], total * sizeof(*files));
    if (!files) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its list of files", path);
        goto out_listing;
    }
    set->files[split] = files;
    for (int64_t i = 0; i < pictures.count; i++) {
        files[before + i] = (struct file){pictures.names[i], label};
    }
    set->store.info.count[split] += pictures.count;
out_listing:
    data_listing_fini(&pictures);
    return status;
}

static enum stn_status train_list(struct folder *set)
{
    char path[PATH_MAX];
    enum stn_status status = path_join(path, set->dir, STN_SPLIT_TRAIN, NULL);
    if (status == STN_OK) {
        status = data_listing_read(path, DATA_LISTING_DIRS, &set->arena, &set->classes);
    }
    if (status != STN_OK) {
        return status;
    }
    set->others += set->classes.others;
    if (set->classes.count == 0 || set->classes.count > INT32_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: no class directories in it; pictures belong in %s/CLASS/", path, path);
    }
    for (int32_t i = 0; i < set->classes.count && status == STN_OK; i++) {
        status = class_add(set, STN_SPLIT_TRAIN, set->classes.names[i], i);
    }
    return status;
}

static enum stn_status val_list(struct folder *set)
{
    char path[PATH_MAX];
    struct data_listing classes = {0};
    enum stn_status status = path_join(path, set->dir, STN_SPLIT_VAL, NULL);
    if (status == STN_OK) {
        status = data_listing_read(path, DATA_LISTING_DIRS, &set->arena, &classes);
    }
    if (status != STN_OK) {
        return status;
    }
    set->others += classes.others;
    for (int64_t i = 0; i < classes.count && status == STN_OK; i++) {
        int label = class_find(set, classes.names[i]);
        if (label < 0) {
            status = stn_fail(STN_ERR_INVALID, "%s/%s: class '%s' is not in %s/train", path,
                              classes.names[i], classes.names[i], set->dir);
        } else {
            status = class_add(set, STN_SPLIT_VAL, classes.names[i], label);
        }
    }
    data_listing_fini(&classes);
    if (status == STN_OK && set->store.info.count[STN_SPLIT_VAL] == 0) {
        status = stn_fail(STN_ERR_INVALID, "%s: no pictures in it; they belong in %s/CLASS/", path,
                          path);
    }
    return status;
}

static void folder_close(struct data_store *store)
{
    struct folder *set = (struct folder *)store;
    for (int split = 0; split < STN_SPLIT_COUNT; split++) {
        free(set->files[split]);
    }
    data_listing_fini(&set->classes);
    base_arena_fini(&set->arena);
    free(set);
}

static enum stn_status folder_list(struct folder *set, const char *dir)
{
    set->dir = base_arena_strdup(&set->arena, dir);
    if (!set->dir) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
    }
    enum stn_status status = train_list(set);
    if (status == STN_OK) {
        status = val_list(set);
    }
    if (status == STN_OK && set->others) {
        stn_log(STN_LOG_WARN, "%s: ignoring %lld entr%s that are not .jpg, .jpeg or .png", dir,
                (long long)set->others, set->others == 1 ? "y" : "ies");
    }
    return status;
}

static enum stn_status folder_open(const struct data_spec *spec,
                                   const struct stn_dataset_options *options,
                                   struct data_store **out)
{
    struct folder *set = calloc(1, sizeof(*set));
    if (!set) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
    }
    // Photographs: the statistics of ImageNet's, as everybody uses.
    set->store.info = (struct stn_dataset_info){
        .channels = 3,
        .image_size = options->image_size ? options->image_size : SIZE_DEFAULT,
        .mean = {0.485f, 0.456f, 0.406f},
        .std = {0.229f, 0.224f, 0.225f},
    };
    enum stn_status status = folder_list(set, spec->dir);
    if (status != STN_OK) {
        folder_close(&set->store);
        return status;
    }
    set->store.info.classes = (int)set->classes.count;
    set->store.info.class_names = set->classes.names;
    *out = &set->store;
    return STN_OK;
}

static enum stn_status folder_read(const struct data_store *store, enum stn_split split,
                                   uint64_t index, const struct data_view_rule *rule,
                                   struct data_workspace *workspace, struct data_sample *out)
{
    const struct folder *set = (const struct folder *)store;
    const struct file *file = &set->files[split][index];
    int length = snprintf(workspace->path, sizeof(workspace->path), "%s/%s/%s/%s", set->dir,
                          split_names[split], set->classes.names[file->label], file->name);
    if (length >= (int)sizeof(workspace->path)) {
        return data_workspace_fail(workspace, STN_ERR_IO, "%.512s…: the path is too long",
                                   workspace->path);
    }
    out->label = file->label;
    return data_image_read(workspace, store->info.channels, rule, &out->picture);
}

const struct data_store_kind data_folder = {
    .name = "folder",
    .usage = "folder:DIR",
    .argument = DATA_SPEC_DIR,
    .fit = DATA_FIT_COVER,
    .open = folder_open,
    .close = folder_close,
    .read = folder_read,
};
