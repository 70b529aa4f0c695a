// SPDX-License-Identifier: Apache-2.0
// ShuffleNet 2× with 3 groups (Zhang et al., 2017): table 1 of the paper with twice the channels.
#include "nn/models/blocks.h"

enum { GROUPS = 3, STEM = 48 };

// Units and output channels of stages 2 to 4.
static const struct stage {
    int units, out;
} stages[] = {{4, 480}, {8, 960}, {4, 1920}};

enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

static struct nn_conv grouped(int out, int groups)
{
    struct nn_conv conv = nn_pointwise(out);
    conv.groups = groups;
    return conv;
}

// Grouped 1×1 to a quarter of the channels, shuffle, depthwise 3×3, grouped 1×1. The input is
// added; in the first unit of a stage, which halves the map, it is averaged and put beside instead.
static nn_value unit(struct nn_graph *g, const char *name, nn_value input, int out, int stride,
                     int first_groups)
{
    int middle = out / 4, own = stride == 2 ? out - nn_shape(g, input).c : out;
    nn_value x = nn_conv_bn(g, nn_name(g, "%s.conv1", name), nn_name(g, "%s.bn1", name), input,
                            grouped(middle, first_groups), KERNEL_RELU);
    x = nn_shuffle(g, x, GROUPS);
    x = nn_conv_bn(g, nn_name(g, "%s.conv2", name), nn_name(g, "%s.bn2", name), x,
                   nn_depthwise(middle, 3, stride), KERNEL_LINEAR);
    x = nn_conv(g, nn_name(g, "%s.conv3", name), x, grouped(own, GROUPS));
    const char *last = nn_name(g, "%s.bn3", name);
    if (stride == 1) {
        return nn_batchnorm_add(g, last, x, input, KERNEL_RELU);
    }
    struct nn_pool average = {.size = 3, .stride = 2, .pad = 1, .count_padding = true};
    nn_value beside = nn_average_pool(g, input, average);
    return nn_concat(g, 2, (nn_value[]){beside, nn_batchnorm(g, last, x, KERNEL_RELU)});
}

nn_value nn_build_shufflenet_v1(struct nn_graph *g, nn_value x, int classes)
{
    bool small = nn_image_is_small(g, x);
    x = nn_conv_bn(g, "conv1", "bn1", x, nn_square(STEM, 3, small ? 1 : 2), KERNEL_RELU);
    if (!small) {
        x = nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .pad = 1});
    }
    for (int s = 0; s < STAGES; s++) {
        for (int u = 0; u < stages[s].units; u++) {
            // The very first pointwise convolution has too few input channels for groups.
            x = unit(g, nn_name(g, "stage%d.%d", s + 2, u), x, stages[s].out, u == 0 ? 2 : 1,
                     s == 0 && u == 0 ? 1 : GROUPS);
        }
    }
    return nn_classifier(g, "fc", x, 0, classes);
}
