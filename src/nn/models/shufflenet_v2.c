// SPDX-License-Identifier: Apache-2.0
// ShuffleNetV2 1× (Ma et al., 2018); parameter names as in torchvision.
#include "nn/models/blocks.h"

// Table 5 of the paper: units and output channels of stages 2 to 4.
static const struct stage {
    int units, out;
} stages[] = {{4, 116}, {8, 232}, {4, 464}};

enum { STAGES = sizeof(stages) / sizeof(stages[0]), STEM = 24, LAST = 1024 };

// The branch that computes: 1×1, depthwise 3×3, 1×1.
static nn_value filter(struct nn_graph *g, const char *name, nn_value x, int channels, int stride)
{
    x = nn_conv_bn_at(g, name, 0, x, nn_pointwise(channels), KERNEL_RELU);
    x = nn_conv_bn_at(g, name, 3, x, nn_depthwise(channels, 3, stride), KERNEL_LINEAR);
    return nn_conv_bn_at(g, name, 5, x, nn_pointwise(channels), KERNEL_RELU);
}

static nn_value join(struct nn_graph *g, nn_value left, nn_value right)
{
    return nn_shuffle(g, nn_concat(g, 2, (nn_value[]){left, right}), 2);
}

// Half of the channels pass untouched.
static nn_value basic_unit(struct nn_graph *g, const char *name, nn_value x)
{
    int half = nn_shape(g, x).c / 2;
    nn_value left = nn_slice(g, x, 0, half), right = nn_slice(g, x, half, half);
    return join(g, left, filter(g, nn_name(g, "%s.branch2", name), right, half, 1));
}

// Both branches see all channels and halve the map.
static nn_value down_unit(struct nn_graph *g, const char *name, nn_value x, int out)
{
    const char *left = nn_name(g, "%s.branch1", name);
    nn_value l = nn_conv_bn_at(g, left, 0, x, nn_depthwise(nn_shape(g, x).c, 3, 2), KERNEL_LINEAR);
    l = nn_conv_bn_at(g, left, 2, l, nn_pointwise(out / 2), KERNEL_RELU);
    return join(g, l, filter(g, nn_name(g, "%s.branch2", name), x, out / 2, 2));
}

nn_value nn_build_shufflenet_v2_x1_0(struct nn_graph *g, nn_value x, int classes)
{
    bool small = nn_image_is_small(g, x);
    x = nn_conv_bn_at(g, "conv1", 0, x, nn_square(STEM, 3, small ? 1 : 2), KERNEL_RELU);
    if (!small) {
        x = nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .pad = 1});
    }
    for (int s = 0; s < STAGES; s++) {
        for (int u = 0; u < stages[s].units; u++) {
            const char *name = nn_name(g, "stage%d.%d", s + 2, u);
            x = u == 0 ? down_unit(g, name, x, stages[s].out) : basic_unit(g, name, x);
        }
    }
    x = nn_conv_bn_at(g, "conv5", 0, x, nn_pointwise(LAST), KERNEL_RELU);
    return nn_classifier(g, "fc", x, 0, classes);
}
