// SPDX-License-Identifier: Apache-2.0
// VGG-16 (Simonyan and Zisserman, 2014), plain and with batch norm; parameter names as in
// torchvision.
#include "nn/models/blocks.h"

// Configuration D of the paper's table 1: channels of the 3×3 convolutions, POOL between stages.
enum { POOL = 0, LAYERS = 18 };

static const int layers[LAYERS] = {
    64,  64,  POOL,       //
    128, 128, POOL,       //
    256, 256, 256,  POOL, //
    512, 512, 512,  POOL, //
    512, 512, 512,  POOL,
};

// What the dense layers take; the map of a 224 px image.
enum { MAP = 7 };

static nn_value features(struct nn_graph *g, nn_value x, bool batchnorm)
{
    bool skip_pool = nn_image_is_small(g, x);
    int index = 0; // torchvision counts activations and poolings too
    for (int l = 0; l < LAYERS; l++) {
        struct nn_conv conv = nn_square(layers[l], 3, 1);
        if (layers[l] == POOL) {
            x = skip_pool ? x : nn_max_pool(g, x, (struct nn_pool){.size = 2});
            skip_pool = false;
            index += 1;
            continue;
        }
        conv.bias = true;
        conv.activation = batchnorm ? KERNEL_LINEAR : KERNEL_RELU;
        x = batchnorm ? nn_conv_bn_at(g, "features", index, x, conv, KERNEL_RELU)
                      : nn_conv(g, nn_name(g, "features.%d", index), x, conv);
        index += batchnorm ? 3 : 2;
    }
    return x;
}

static nn_value build(struct nn_graph *g, nn_value x, int classes, bool batchnorm)
{
    x = nn_adaptive_pool(g, features(g, x, batchnorm), MAP);
    x = nn_dropout(g, nn_fc(g, "classifier.0", x, 4096, KERNEL_RELU), 0.5F);
    x = nn_dropout(g, nn_fc(g, "classifier.3", x, 4096, KERNEL_RELU), 0.5F);
    return nn_fc(g, "classifier.6", x, classes, KERNEL_LINEAR);
}

nn_value nn_build_vgg16(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, false);
}

nn_value nn_build_vgg16_bn(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, true);
}
