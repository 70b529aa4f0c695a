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

extern const struct nn_model nn_model_lenet;
extern const struct nn_model nn_model_mobilenet_v2;
extern const struct nn_model nn_model_shufflenet_v1;
extern const struct nn_model nn_model_shufflenet_v2_x1_0;
extern const struct nn_model nn_model_nasnet_mobile;
extern const struct nn_model nn_model_squeezenet1_0;
extern const struct nn_model nn_model_squeezenet1_1;
extern const struct nn_model nn_model_densenet121;
extern const struct nn_model nn_model_inception_v3;
extern const struct nn_model nn_model_resnet18;
extern const struct nn_model nn_model_resnet50;
extern const struct nn_model nn_model_vgg16;
extern const struct nn_model nn_model_vgg16_bn;

const struct nn_model *nn_model_of(const struct stn_model_info *info);
bool nn_image_is_small(const struct nn_graph *g, nn_value image);

#endif
