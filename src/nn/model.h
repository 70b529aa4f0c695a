// SPDX-License-Identifier: Apache-2.0
// A network definition: what stannis/model.h tells about it, and the function that builds its
// graph.
#ifndef NN_MODEL_H
#define NN_MODEL_H

#include "nn/graph.h"
#include "stannis/model.h"

// Inputs below this edge get a stem that keeps more of the resolution.
enum { NN_SMALL_IMAGE = 64 };

struct nn_model {
    struct stn_model_info info;
    // Returns the logits [n][classes][1][1].
    nn_value (*build)(struct nn_graph *g, nn_value image, int classes);
};

// Every network, in the order in which they are shown: a file in models/ and a row here.
// clang-format off
#define NN_MODEL_LIST(row)    \
    row(lenet)                \
    row(mobilenet_v2)         \
    row(shufflenet_v1)        \
    row(shufflenet_v2_x1_0)   \
    row(nasnet_mobile)        \
    row(squeezenet1_0)        \
    row(squeezenet1_1)        \
    row(densenet121)          \
    row(inception_v3)         \
    row(resnet18)             \
    row(resnet50)             \
    row(vgg16)                \
    row(vgg16_bn)
// clang-format on

#define NN_MODEL_DECLARE(name) extern const struct nn_model nn_model_##name;
NN_MODEL_LIST(NN_MODEL_DECLARE)
#undef NN_MODEL_DECLARE

const struct nn_model *nn_model_of(const struct stn_model_info *info);
bool nn_image_is_small(const struct nn_graph *g, nn_value image);

#endif
