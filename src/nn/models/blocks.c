// SPDX-License-Identifier: Apache-2.0
#include "nn/models/blocks.h"

struct nn_conv nn_square(int out, int kernel, int stride)
{
    return (struct nn_conv){.out = out, .kernel = kernel, .stride = stride, .pad = kernel / 2};
}

struct nn_conv nn_pointwise(int out)
{
    return nn_square(out, 1, 1);
}

struct nn_conv nn_depthwise(int channels, int kernel, int stride)
{
    struct nn_conv conv = nn_square(channels, kernel, stride);
    conv.groups = channels;
    return conv;
}

nn_value nn_conv_bn(struct nn_graph *g, const char *conv_name, const char *bn_name, nn_value x,
                    struct nn_conv conv, enum kernel_activation activation)
{
    return nn_batchnorm(g, bn_name, nn_conv(g, conv_name, x, conv), activation);
}

nn_value nn_conv_bn_at(struct nn_graph *g, const char *name, int index, nn_value x,
                       struct nn_conv conv, enum kernel_activation activation)
{
    return nn_conv_bn(g, nn_name(g, "%s.%d", name, index), nn_name(g, "%s.%d", name, index + 1), x,
                      conv, activation);
}

nn_value nn_classifier(struct nn_graph *g, const char *name, nn_value x, float dropout, int classes)
{
    x = nn_dropout(g, nn_global_pool(g, x), dropout);
    return nn_fc(g, name, x, classes, KERNEL_LINEAR);
}
