// SPDX-License-Identifier: Apache-2.0
// idx:DIR and fashion-mnist: four IDX files, gzipped or not, held in memory.
#include "data/idx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/moments.h"
#include "data/store.h"

#define FASHION_MNIST_DIR "/usr/share/datasets/fashion-mnist"

enum { HEADER_BYTES_MAX = 4 + 4 * DATA_IDX_RANK_MAX, READ_BYTES = 1 << 20 };

struct idx_part {
    void *image_bytes, *label_bytes; // owned
    struct data_idx images, labels;
};

struct idx_set {
    struct data_store store;
    struct idx_part parts[STN_SUBSET_COUNT];
};

// The two spellings in use, plain and gzipped. False: none is there.
static bool file_find(const char *dir, const char *stem, int rank, char path[PATH_MAX])
{
    static const char separators[] = {'-', '.'};
    static const char *const endings[] = {"", ".gz"};
    for (int i = 0; i < 4; i++) {
        int length = snprintf(path, PATH_MAX, "%s/%s%cidx%d-ubyte%s", dir, stem, separators[i / 2],
                              rank, endings[i % 2]);
        if (length < PATH_MAX && access(path, F_OK) == 0) {
            return true;
        }
    }
    return false;
}

static enum stn_status fail_read(const char *path, gzFile file)
{
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    if (code == Z_ERRNO) {
        return stn_fail(STN_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return stn_fail(STN_ERR_CORRUPT, "%s: damaged or truncated gzip data (%s)", path, text);
}

// Reads to the end of the file, or one byte more than `expected`: enough to see that there is too
// much. Memory follows what is really there, not what a header claims.
static enum stn_status values_read(const char *path, gzFile file, size_t expected, uint8_t **bytes,
                                   size_t *size)
{
    size_t room = *size;
    for (;;) {
        if (*size == room) {
            room = room + (room > READ_BYTES ? room : READ_BYTES);
            room = room > expected + 1 ? expected + 1 : room;
            uint8_t *larger = realloc(*bytes, room);
            if (!larger) {
                return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for %zu bytes", path, room);
            }
            *bytes = larger;
        }
        size_t want = room - *size < READ_BYTES ? room - *size : READ_BYTES;
        int got = gzread(file, *bytes + *size, (unsigned)want);
        if (got < 0) {
            return fail_read(path, file);
        }
        *size += (size_t)got;
        if (got == 0 || *size > expected) {
            break;
        }
    }
    int code = Z_OK;
    (void)gzerror(file, &code);
    return code == Z_BUF_ERROR ? fail_read(path, file) : STN_OK; // the compressed stream broke off
}

// On success `*bytes` is the caller's to free.
static enum stn_status file_load(const char *path, int rank, uint8_t **bytes, struct data_idx *out)
{
    *bytes = NULL;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        return stn_fail(STN_ERR_IO, "%s: %s", path, errno ? strerror(errno) : "no memory");
    }
    enum stn_status status;
    uint8_t *content = malloc(HEADER_BYTES_MAX);
    if (!content) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory", path);
        goto out_close;
    }
    size_t size = 4 + 4 * (size_t)rank;
    int got = gzread(file, content, (unsigned)size);
    if (got < 0) {
        status = fail_read(path, file);
        goto out_free;
    }
    status = data_idx_parse_header(path, content, (size_t)got, rank, out);
    if (status == STN_OK) {
        status = values_read(path, file, size + out->count, &content, &size);
    }
    if (status == STN_OK) {
        status = data_idx_parse(path, content, size, rank, out);
    }
    if (status == STN_OK) {
        *bytes = content;
        content = NULL;
    }
out_free:
    free(content);
out_close:
    (void)gzclose_r(file);
    return status;
}

static enum stn_status file_open(const char *dir, const char *stem, int rank, void **bytes,
                                 struct data_idx *out)
{
    char path[PATH_MAX];
    if (!file_find(dir, stem, rank, path)) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: no %s-idx%d-ubyte or %s-idx%d-ubyte.gz in it", dir,
                        stem, rank, stem, rank);
    }
    uint8_t *content;
    enum stn_status status = file_load(path, rank, &content, out);
    *bytes = content;
    return status;
}

static enum stn_status part_open(const char *dir, const char *prefix, struct idx_part *part)
{
    char stem[32];
    snprintf(stem, sizeof(stem), "%s-images", prefix);
    enum stn_status status = file_open(dir, stem, 3, &part->image_bytes, &part->images);
    if (status != STN_OK) {
        return status;
    }
    snprintf(stem, sizeof(stem), "%s-labels", prefix);
    status = file_open(dir, stem, 1, &part->label_bytes, &part->labels);
    if (status != STN_OK) {
        return status;
    }
    if (part->images.lengths[0] != part->labels.lengths[0]) {
        return stn_fail(STN_ERR_CORRUPT, "%s: %u %s images but %u labels", dir,
                        part->images.lengths[0], prefix, part->labels.lengths[0]);
    }
    return STN_OK;
}

static int label_max(const struct data_idx *labels)
{
    int most = 0;
    for (size_t i = 0; i < labels->count; i++) {
        most = labels->values[i] > most ? labels->values[i] : most;
    }
    return most;
}

static void idx_close(struct data_store *store)
{
    struct idx_set *set = (struct idx_set *)store;
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        free(set->parts[subset].image_bytes);
        free(set->parts[subset].label_bytes);
    }
    free(set);
}

static enum stn_status info_fill(const char *dir, const struct stn_dataset_options *options,
                                 struct idx_set *set)
{
    const struct idx_part *train = &set->parts[STN_SUBSET_TRAIN],
                          *val = &set->parts[STN_SUBSET_VAL];
    struct stn_dataset_info *info = &set->store.info;
    uint32_t height = train->images.lengths[1], width = train->images.lengths[2];
    info->channels = 1;
    info->image_size =
        options->image_size ? options->image_size : (int)(height > width ? height : width);
    info->classes = label_max(&train->labels) + 1;
    info->count[STN_SUBSET_TRAIN] = train->images.lengths[0];
    info->count[STN_SUBSET_VAL] = val->images.lengths[0];
    if (label_max(&val->labels) >= info->classes) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: t10k label %d does not occur in the training set, whose largest is %d",
                        dir, label_max(&val->labels), info->classes - 1);
    }
    struct data_moments moments = {{0}};
    data_moments_add(&moments, train->images.values, train->images.count);
    data_moments_get(&moments, &info->mean[0], &info->std[0]);
    return STN_OK;
}

static enum stn_status dir_open(const char *dir, const struct stn_dataset_options *options,
                                struct data_store **out)
{
    struct idx_set *set = calloc(1, sizeof(*set));
    if (!set) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
    }
    enum stn_status status = part_open(dir, "train", &set->parts[STN_SUBSET_TRAIN]);
    if (status == STN_OK) {
        status = part_open(dir, "t10k", &set->parts[STN_SUBSET_VAL]);
    }
    if (status == STN_OK) {
        status = info_fill(dir, options, set);
    }
    if (status != STN_OK) {
        idx_close(&set->store);
        return status;
    }
    *out = &set->store;
    return STN_OK;
}

static enum stn_status idx_open(const struct data_spec *spec,
                                const struct stn_dataset_options *options, struct data_store **out)
{
    if (access(spec->dir, F_OK) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: %s", spec->dir, strerror(errno));
    }
    return dir_open(spec->dir, options, out);
}

static enum stn_status fashion_open(const struct data_spec *spec,
                                    const struct stn_dataset_options *options,
                                    struct data_store **out)
{
    static const char *const names[] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                        "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                        "Bag",         "Ankle boot"};
    (void)spec;
    if (access(FASHION_MNIST_DIR, F_OK) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND,
                        FASHION_MNIST_DIR " is not there: apt-get install dataset-fashion-mnist");
    }
    enum stn_status status = dir_open(FASHION_MNIST_DIR, options, out);
    if (status != STN_OK) {
        return status;
    }
    int classes = (*out)->info.classes;
    if (classes != (int)(sizeof(names) / sizeof(names[0]))) {
        idx_close(*out);
        *out = NULL;
        return stn_fail(STN_ERR_CORRUPT,
                        FASHION_MNIST_DIR ": %d classes, expected 10: apt-get install --reinstall "
                                          "dataset-fashion-mnist",
                        classes);
    }
    (*out)->info.class_names = names;
    return STN_OK;
}

static int32_t idx_label(const struct data_store *store, enum stn_subset subset, uint64_t index)
{
    return ((const struct idx_set *)store)->parts[subset].labels.values[index];
}

static enum stn_status idx_read(const struct data_store *store, enum stn_subset subset,
                                uint64_t index, const struct data_view_rule *rule,
                                struct data_workspace *workspace, struct data_sample *out)
{
    (void)workspace;
    const struct idx_part *part = &((const struct idx_set *)store)->parts[subset];
    int height = (int)part->images.lengths[1], width = (int)part->images.lengths[2];
    const uint8_t *pixels = part->images.values + index * (uint64_t)height * (uint64_t)width;
    *out = (struct data_sample){.picture = {.image = {pixels, width, height, 1},
                                            .view = data_view_choose(rule, width, height)},
                                .label = part->labels.values[index]};
    return STN_OK;
}

const struct data_store_kind data_idx = {
    .name = "idx",
    .argument = DATA_SPEC_DIR,
    .fit = DATA_FIT_WHOLE,
    .open = idx_open,
    .close = idx_close,
    .label = idx_label,
    .read = idx_read,
};

const struct data_store_kind data_fashion_mnist = {
    .name = "fashion-mnist",
    .argument = DATA_SPEC_NONE,
    .fit = DATA_FIT_WHOLE,
    .open = fashion_open,
    .close = idx_close,
    .label = idx_label,
    .read = idx_read,
};
