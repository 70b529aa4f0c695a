// SPDX-License-Identifier: Apache-2.0
// DenseNet-121 (Huang et al., 2016); parameter names as in torchvision.
#include "nn/models/blocks.h"

// Table 1 of the paper: layers of the dense blocks; each layer adds GROWTH channels.
static const int blocks[] = {6, 12, 24, 16};

enum {
    BLOCKS = sizeof(blocks) / sizeof(blocks[0]),
    STEM = 64,
    GROWTH = 32,
    BOTTLENECK = 4 * GROWTH
};

static nn_value bn_relu(struct nn_graph *g, const char *name, nn_value x)
{
    return nn_batchnorm(g, name, x, KERNEL_RELU);
}

// What all layers before have found, and beside it what this one finds: BN, ReLU, 1×1, BN, ReLU,
// 3×3.
static nn_value dense_layer(struct nn_graph *g, const char *name, nn_value before)
{
    nn_value x = bn_relu(g, nn_name(g, "%s.norm1", name), before);
    x = nn_conv(g, nn_name(g, "%s.conv1", name), x, nn_pointwise(BOTTLENECK));
    x = bn_relu(g, nn_name(g, "%s.norm2", name), x);
    x = nn_conv(g, nn_name(g, "%s.conv2", name), x, nn_square(GROWTH, 3, 1));
    return nn_concat(g, 2, (nn_value[]){before, x});
}

// Half the channels, half the map.
static nn_value transition(struct nn_graph *g, const char *name, nn_value x)
{
    x = bn_relu(g, nn_name(g, "%s.norm", name), x);
    x = nn_conv(g, nn_name(g, "%s.conv", name), x, nn_pointwise(nn_shape(g, x).c / 2));
    return nn_average_pool(g, x, (struct nn_pool){.size = 2});
}

nn_value nn_build_densenet121(struct nn_graph *g, nn_value x, int classes)
{
    bool small = nn_image_is_small(g, x);
    x = nn_conv_bn(g, "features.conv0", "features.norm0", x, nn_square(STEM, 7, small ? 1 : 2),
                   KERNEL_RELU);
    if (!small) {
        x = nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .pad = 1});
    }
    for (int b = 1; b <= BLOCKS; b++) {
        for (int l = 1; l <= blocks[b - 1]; l++) {
            x = dense_layer(g, nn_name(g, "features.denseblock%d.denselayer%d", b, l), x);
        }
        x = b < BLOCKS ? transition(g, nn_name(g, "features.transition%d", b), x)
                       : bn_relu(g, "features.norm5", x);
    }
    return nn_classifier(g, "classifier", x, 0, classes);
}
