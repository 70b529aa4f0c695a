// SPDX-License-Identifier: Apache-2.0
// What the networks have in common: the convolutions they name and the pairs they come in. A
// network's own blocks stand in its own file.
#ifndef NN_MODELS_BLOCKS_H
#define NN_MODELS_BLOCKS_H

#include "nn/model.h"

// Odd windows with the padding that keeps the map's size at stride 1.
struct nn_conv nn_square(int out, int kernel, int stride);
struct nn_conv nn_pointwise(int out);
struct nn_conv nn_depthwise(int channels, int kernel, int stride);

// Convolution without bias, batch norm, activation.
nn_value nn_conv_bn(struct nn_graph *g, const char *conv_name, const char *bn_name, nn_value x,
                    struct nn_conv conv, enum kernel_activation activation);
// The same as members `index` and `index` + 1 of the sequence `name`.
nn_value nn_conv_bn_at(struct nn_graph *g, const char *name, int index, nn_value x,
                       struct nn_conv conv, enum kernel_activation activation);

// The usual end: global average, dropout, one dense layer.
nn_value nn_classifier(struct nn_graph *g, const char *name, nn_value x, float dropout,
                       int classes);

#endif
