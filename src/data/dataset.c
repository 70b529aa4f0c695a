// SPDX-License-Identifier: Apache-2.0
// Opening a data set by its spec, and whose class list its labels follow.
#include "stannis/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "data/sample.h"

enum { IMAGE_SIZE_MAX = 4096 };

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
}

static enum stn_status options_check(const struct stn_dataset_options *options)
{
    if (options->image_size < 0 || options->image_size > IMAGE_SIZE_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        "image size %d: must be 1 to %d pixels, or 0 for the data's own",
                        options->image_size, IMAGE_SIZE_MAX);
    }
    if (options->classes < 0) {
        return stn_fail(STN_ERR_INVALID, "%d classes: must not be negative", options->classes);
    }
    if (options->class_names && options->class_count < 1) {
        return stn_fail(STN_ERR_INVALID, "the class list is empty");
    }
    return STN_OK;
}

static int name_find(const struct stn_dataset_options *options, const char *name)
{
    for (int i = 0; i < options->class_count; i++) {
        if (strcmp(options->class_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

// The data's own class → its place in the list to follow. Classes that are only numbered are their
// own place.
static enum stn_status labels_map(struct stn_dataset *dataset,
                                  const struct stn_dataset_options *options)
{
    const struct stn_dataset_info *own = &dataset->store->info;
    int32_t *labels = base_arena_alloc(&dataset->arena, (size_t)own->classes * sizeof(*labels));
    if (!labels) {
        return fail_memory();
    }
    for (int i = 0; i < own->classes; i++) {
        bool by_name = options->class_names && own->class_names;
        labels[i] = by_name ? name_find(options, own->class_names[i]) : i;
        if (labels[i] < 0) {
            return stn_fail(
                STN_ERR_INVALID,
                "%s: class '%s' is not one of the %d classes the network was trained for",
                options->spec, own->class_names[i], options->class_count);
        }
    }
    if (options->class_names && !own->class_names && own->classes > options->class_count) {
        return stn_fail(STN_ERR_INVALID, "%s: %d classes, but the network was trained for %d",
                        options->spec, own->classes, options->class_count);
    }
    dataset->labels = labels;
    return STN_OK;
}

// "0", "1", … where there are no names; copies otherwise.
static enum stn_status names_copy(struct stn_dataset *dataset, const char *const *names, int count)
{
    const char **copies = base_arena_alloc(&dataset->arena, (size_t)count * sizeof(*copies));
    if (!copies) {
        return fail_memory();
    }
    for (int i = 0; i < count; i++) {
        copies[i] = names ? base_arena_strdup(&dataset->arena, names[i])
                          : base_arena_printf(&dataset->arena, "%d", i);
        if (!copies[i]) {
            return fail_memory();
        }
    }
    dataset->info.class_names = copies;
    dataset->info.classes = count;
    return STN_OK;
}

static enum stn_status dataset_fill(struct stn_dataset *dataset,
                                    const struct stn_dataset_options *options)
{
    struct data_spec spec;
    enum stn_status status = data_spec_parse(options->spec, &spec);
    if (status == STN_OK) {
        status = options_check(options);
    }
    if (status != STN_OK) {
        return status;
    }
    struct stn_dataset_options wanted = *options;
    if (options->class_names && !options->classes) {
        wanted.classes = options->class_count;
    }
    struct data_store *store = NULL;
    status = spec.kind->open(&spec, &wanted, &store);
    if (status != STN_OK) {
        return status;
    }
    store->kind = spec.kind;
    dataset->store = store;
    dataset->info = store->info;
    dataset->info.kind = spec.kind->name;
    dataset->levels = data_levels_from(store->info.channels, store->info.mean, store->info.std);
    status = labels_map(dataset, options);
    if (status != STN_OK) {
        return status;
    }
    return options->class_names ? names_copy(dataset, options->class_names, options->class_count)
                                : names_copy(dataset, store->info.class_names, store->info.classes);
}

enum stn_status stn_dataset_open(const struct stn_dataset_options *options,
                                 struct stn_dataset **out)
{
    *out = NULL;
    struct stn_dataset *dataset = calloc(1, sizeof(*dataset));
    if (!dataset) {
        return fail_memory();
    }
    enum stn_status status = dataset_fill(dataset, options);
    if (status != STN_OK) {
        stn_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return STN_OK;
}

void stn_dataset_close(struct stn_dataset *dataset)
{
    if (!dataset) {
        return;
    }
    if (dataset->store) {
        dataset->store->kind->close(dataset->store);
    }
    base_arena_fini(&dataset->arena);
    free(dataset);
}

const struct stn_dataset_info *stn_dataset_info(const struct stn_dataset *dataset)
{
    return &dataset->info;
}
