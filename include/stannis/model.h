// SPDX-License-Identifier: Apache-2.0
// The networks Stannis knows, and what they cost.
#ifndef STANNIS_MODEL_H
#define STANNIS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Smallest and largest image edge a network can be built for.
enum { STN_IMAGE_SIZE_MIN = 28, STN_IMAGE_SIZE_MAX = 299 };

struct stn_model_shape {
    int image_size; // edge in pixels; 0: the model's default
    int channels;   // 1 or 3
    int classes;
};

struct stn_model_cost {
    int64_t parameters;
    int64_t macs;            // multiply-accumulates of one image's forward pass
    size_t activation_bytes; // planned memory of one training micro-batch
    int micro_batch;         // for which activation_bytes holds
};

struct stn_model_info {
    const char *name;
    const char *source; // where the definition comes from
    int default_image_size;
    int default_micro_batch;
    bool has_batchnorm;
    const char *small_input_note; // how the stem adapts below 64 px
};

// How many networks there are.
STN_EXPORT int stn_model_count(void);
// A network by its place in the list; NULL outside of 0 … count − 1.
STN_EXPORT const struct stn_model_info *stn_model_at(int index);
// A network by its name; NULL when there is no such network.
STN_EXPORT const struct stn_model_info *stn_model_find(const char *name);
// Says what a network costs: plans it without allocating its memory.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_model_measure(const struct stn_model_info *model,
                                                            struct stn_model_shape shape,
                                                            int micro_batch,
                                                            struct stn_model_cost *out);

#ifdef __cplusplus
}
#endif

#endif
