// SPDX-License-Identifier: Apache-2.0
// Opening a data set by its spec, and the choice of the class list that its labels follow.
#include "stannis/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/setting_mark.h"
#include "data/class_list.h"
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

// The class list that labels follow, and how a class that is not in it is refused.
struct class_rule {
    const char *source;       // of the data, for messages
    const char *const *names; // NULL: the data's own
    int count;
    const char *list;    // the file the names came from, or NULL
    bool private_folder; // the names are the public data's
};

static int name_find(const struct class_rule *rule, const char *name)
{
    for (int i = 0; i < rule->count; i++) {
        if (strcmp(rule->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static enum stn_status fail_class(const struct class_rule *rule, const char *name)
{
    if (rule->private_folder) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: class '%s' is not one of the %d classes of the public data; name all "
                        "classes, one a line, in " BASE_SETTING "class-list FILE",
                        rule->source, name, rule->count);
    }
    if (rule->list) {
        return stn_fail(STN_ERR_INVALID, "%s: class '%s' is not in " BASE_SETTING "class-list %s",
                        rule->source, name, rule->list);
    }
    return stn_fail(STN_ERR_INVALID,
                    "%s: class '%s' is not one of the %d classes the network was trained for",
                    rule->source, name, rule->count);
}

static enum stn_status fail_class_count(const struct class_rule *rule, int classes)
{
    if (rule->list) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: %d classes, but " BASE_SETTING "class-list %s names %d", rule->source,
                        classes, rule->list, rule->count);
    }
    return stn_fail(STN_ERR_INVALID, "%s: %d classes, but the network was trained for %d",
                    rule->source, classes, rule->count);
}

// The data's own class → its place in the list to follow. Classes that are only numbered are their
// own place.
static enum stn_status labels_map(struct stn_dataset *dataset, const struct class_rule *rule)
{
    const struct stn_dataset_info *own = &dataset->store->info;
    int32_t *labels = base_arena_alloc(&dataset->arena, (size_t)own->classes * sizeof(*labels));
    if (!labels) {
        return fail_memory();
    }
    for (int i = 0; i < own->classes; i++) {
        bool by_name = rule->names && own->class_names;
        labels[i] = by_name ? name_find(rule, own->class_names[i]) : i;
        if (labels[i] < 0) {
            return fail_class(rule, own->class_names[i]);
        }
    }
    if (rule->names && !own->class_names && own->classes > rule->count) {
        return fail_class_count(rule, own->classes);
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

// Takes over the store.
static enum stn_status dataset_fill(struct stn_dataset *dataset, struct data_store *store,
                                    const struct class_rule *rule)
{
    dataset->store = store;
    dataset->info = store->info;
    dataset->levels = data_levels_from(store->info.channels, store->info.mean, store->info.std);
    enum stn_status status = labels_map(dataset, rule);
    if (status != STN_OK) {
        return status;
    }
    return rule->names ? names_copy(dataset, rule->names, rule->count)
                       : names_copy(dataset, store->info.class_names, store->info.classes);
}

static enum stn_status store_open(struct stn_dataset *dataset,
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
    store->info.kind = spec.kind->name;
    dataset->fit = spec.kind->fit;
    const struct class_rule rule = {.source = options->spec,
                                    .names = options->class_names,
                                    .count = options->class_count,
                                    .list = options->class_list};
    return dataset_fill(dataset, store, &rule);
}

// A list beside the names of a checkpoint says the same, or one of them is a mistake.
static enum stn_status check_same_list(const struct stn_dataset_options *options,
                                       const struct data_class_list *list)
{
    bool same = list->count == options->class_count;
    for (int i = 0; same && i < list->count; i++) {
        same = strcmp(list->names[i], options->class_names[i]) == 0;
    }
    return same ? STN_OK
                : stn_fail(STN_ERR_INVALID,
                           BASE_SETTING
                           "class-list %s: not the %d classes the network was trained for, in "
                           "their order",
                           options->class_list, options->class_count);
}

static enum stn_status open_with_list(struct stn_dataset *dataset,
                                      const struct stn_dataset_options *options)
{
    if (!options->class_list) {
        return store_open(dataset, options);
    }
    struct data_class_list list;
    enum stn_status status = data_class_list_load(options->class_list, &list);
    if (status != STN_OK) {
        return status;
    }
    struct stn_dataset_options listed = *options;
    if (options->class_names) {
        status = check_same_list(options, &list);
    } else {
        listed.class_names = list.names;
        listed.class_count = list.count;
    }
    if (status == STN_OK) {
        status = store_open(dataset, &listed);
    }
    data_class_list_fini(&list);
    return status;
}

static enum stn_status check_names(const struct stn_dataset_options *options)
{
    enum stn_status status = STN_OK;
    for (int i = 0; !status && options->class_names && i < options->class_count; i++) {
        status = base_need(options->class_names[i], "stn_dataset_open", "name of a class");
    }
    return status;
}

enum stn_status stn_dataset_open(const struct stn_dataset_options *options,
                                 struct stn_dataset **out)
{
    enum stn_status status = base_need(out, "stn_dataset_open", "place for the data set");
    if (!status) {
        *out = NULL;
        status = base_need(options, "stn_dataset_open", "options");
    }
    if (!status) {
        status = check_names(options);
    }
    struct stn_dataset *dataset = status ? NULL : calloc(1, sizeof(*dataset));
    if (!dataset) {
        return status ? status : fail_memory();
    }
    status = open_with_list(dataset, options);
    if (status != STN_OK) {
        stn_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return STN_OK;
}

static enum stn_status private_open(struct stn_dataset *dataset, const char *dir,
                                    const struct stn_dataset *like)
{
    struct data_store *store = NULL;
    enum stn_status status = data_folder_open_private(dir, &store);
    if (status != STN_OK) {
        return status;
    }
    store->info.kind = "private";
    store->info.channels = like->info.channels;
    store->info.image_size = like->info.image_size;
    memcpy(store->info.mean, like->info.mean, sizeof(store->info.mean));
    memcpy(store->info.std, like->info.std, sizeof(store->info.std));
    dataset->fit = like->fit;
    const struct class_rule rule = {.source = dir,
                                    .names = like->info.class_names,
                                    .count = like->info.classes,
                                    .private_folder = true};
    return dataset_fill(dataset, store, &rule);
}

enum stn_status stn_dataset_open_private(const char *dir, const struct stn_dataset *like,
                                         struct stn_dataset **out)
{
    static const char call[] = "stn_dataset_open_private";
    enum stn_status status = base_need(out, call, "place for the data set");
    if (!status) {
        *out = NULL;
        status = base_need(dir, call, "directory");
    }
    if (!status) {
        status = base_need(like, call, "data set that it is to be like");
    }
    struct stn_dataset *dataset = status ? NULL : calloc(1, sizeof(*dataset));
    if (!dataset) {
        return status ? status : fail_memory();
    }
    status = private_open(dataset, dir, like);
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
    return dataset ? &dataset->info : NULL;
}

void stn_dataset_class_counts(const struct stn_dataset *dataset, enum stn_subset subset,
                              int64_t counts[])
{
    if (!dataset || !counts || (unsigned)subset >= STN_SUBSET_COUNT) {
        return;
    }
    const struct data_store *store = dataset->store;
    memset(counts, 0, (size_t)dataset->info.classes * sizeof(*counts));
    for (int64_t i = 0; i < dataset->info.count[subset]; i++) {
        counts[dataset->labels[store->kind->label(store, subset, (uint64_t)i)]]++;
    }
}
