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

// Every network, in the order in which they are shown: a file in models/ that defines
// nn_build_<word> and a row here: the word, where the definition comes from, the default image size
// and micro-batch, whether there are batch norms, and how the stem adapts to small images.
// clang-format off
#define NN_MODEL_LIST(row)                                                                        \
    row(lenet,              "LeCun et al. 1998, widened, ReLU",          28,  64, false,          \
        "as is; larger inputs are pooled to 7×7")                                                 \
    row(mobilenet_v2,       "Sandler et al. 2018, as torchvision",       224, 16, true,           \
        "stem and second stage with stride 1")                                                    \
    row(shufflenet_v1,      "Zhang et al. 2017, 2×, 3 groups",           224, 16, true,           \
        "stem with stride 1 and without pooling")                                                 \
    row(shufflenet_v2_x1_0, "Ma et al. 2018, as torchvision",            224, 16, true,           \
        "stem with stride 1 and without pooling")                                                 \
    row(nasnet_mobile,      "Zoph et al. 2018, NASNet-A (4 @ 1056)",     224, 16, true,           \
        "stem with stride 1")                                                                     \
    row(squeezenet1_0,      "Iandola et al. 2016, as torchvision",       224, 16, false,          \
        "stem with stride 1")                                                                     \
    row(squeezenet1_1,      "Iandola et al. 2016, as torchvision",       224, 16, false,          \
        "stem with stride 1")                                                                     \
    row(densenet121,        "Huang et al. 2016, as torchvision",         224, 16, true,           \
        "stem with stride 1 and without pooling")                                                 \
    row(inception_v3,       "Szegedy et al. 2015, as torchvision",       299, 16, true,           \
        "below 75: stem with stride 1 and without its first pooling")                             \
    row(resnet18,           "He et al. 2015, as torchvision",            224, 16, true,           \
        "stem with stride 1 and without pooling")                                                 \
    row(resnet50,           "He et al. 2015, as torchvision",            224, 16, true,           \
        "stem with stride 1 and without pooling")                                                 \
    row(vgg16,              "Simonyan & Zisserman 2014, as torchvision", 224, 16, false,          \
        "first pooling left out")                                                                 \
    row(vgg16_bn,           "Simonyan & Zisserman 2014, as torchvision", 224, 16, true,           \
        "first pooling left out")
// clang-format on

#define NN_MODEL_DECLARE(word, from, edge, micro_batch, batchnorm, note)                           \
    nn_value nn_build_##word(struct nn_graph *g, nn_value x, int classes);
NN_MODEL_LIST(NN_MODEL_DECLARE)
#undef NN_MODEL_DECLARE

const struct nn_model *nn_model_of(const struct stn_model_info *info);
bool nn_image_is_small(const struct nn_graph *g, nn_value image);

#endif
