// SPDX-License-Identifier: Apache-2.0
// Images with labels, in two subsets. A data set is named by a spec:
//
//     synthetic[:COUNT]   generated from the seed, learnable, no files
//     fashion-mnist       Debian package dataset-fashion-mnist
//     idx:DIR             (gzipped) IDX files as of MNIST: train-images-idx3-ubyte[.gz] and so on
//     cifar10:DIR         binary batches: data_batch_1.bin … data_batch_5.bin, test_batch.bin
//     folder:DIR          train/CLASS/*.jpg|jpeg|png and val/CLASS/…, any size
//
// Lifetime: open, hand to loaders (they borrow it), close after the last loader is gone.
// Threads: an open data set is read-only and may be shared by any number of threads.
#ifndef STANNIS_DATASET_H
#define STANNIS_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Every kind of data set: its name in the code and how its spec is written.
// clang-format off
#define STN_DATASET_LIST(row)               \
    row(synthetic, "synthetic[:COUNT]")     \
    row(fashion_mnist, "fashion-mnist")     \
    row(idx, "idx:DIR")                     \
    row(cifar10, "cifar10:DIR")             \
    row(folder, "folder:DIR")
// clang-format on

enum stn_subset { STN_SUBSET_TRAIN, STN_SUBSET_VAL, STN_SUBSET_COUNT };

struct stn_dataset_options {
    const char *spec;
    int image_size; // edge in pixels of what the network sees; 0: the data's own (folder: 224,
                    // synthetic: 32)
    int classes;    // synthetic only; 0: 10
    uint64_t seed;  // synthetic only: what is generated
    // The class list that labels must follow (a checkpoint's, for evaluation); NULL: the data set's
    // own order.
    const char *const *class_names;
    int class_count;
    // A file with such a list, one name a line; NULL: none. With class_names too it must say the
    // same.
    const char *class_list;
};

struct stn_dataset_info {
    const char *kind; // "folder", …
    int channels;     // 1 or 3
    int image_size;   // edge of what the network sees
    int classes;
    const char *const *class_names;  // [classes]
    int64_t count[STN_SUBSET_COUNT]; // samples in each subset
    float mean[3], std[3];           // of pixel values in 0…1, per channel: the normalisation
};

struct stn_dataset;

// Opens what a spec names. No image is read yet.
STN_EXPORT STN_MUST_CHECK enum stn_status
stn_dataset_open(const struct stn_dataset_options *options, struct stn_dataset **out);
// Opens pictures that only this node may read: DIR/CLASS/*.jpg|jpeg|png, all for training; or
// DIR/train/CLASS/… and, if there is one, DIR/val/CLASS/…. They are seen as those of `like` (the
// public set, needed during the call only): in the same size, channels and normalisation, with
// labels of its class list.
STN_EXPORT STN_MUST_CHECK enum stn_status
stn_dataset_open_private(const char *dir, const struct stn_dataset *like, struct stn_dataset **out);
// Closes a data set; NULL is fine.
STN_EXPORT void stn_dataset_close(struct stn_dataset *dataset);
// Says what is in a data set; NULL of NULL. Borrowed; valid until close.
STN_EXPORT const struct stn_dataset_info *stn_dataset_info(const struct stn_dataset *dataset);
// Counts how many samples of a subset each class has: counts[info.classes].
STN_EXPORT void stn_dataset_class_counts(const struct stn_dataset *dataset, enum stn_subset subset,
                                         int64_t counts[]);

#ifdef __cplusplus
}
#endif

#endif
