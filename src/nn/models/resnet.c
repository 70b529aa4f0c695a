// SPDX-License-Identifier: Apache-2.0
// ResNet-18 and ResNet-50 (He et al., 2015); parameter names as in torchvision, which puts the
// stride of a bottleneck into its 3×3 convolution.
#include "nn/models/blocks.h"

// Table 1 of the paper: blocks in each of the four stages, which begin with 64, 128, 256 and 512
// channels.
struct plan {
    int blocks[4];
    bool bottleneck; // 1×1, 3×3, 1×1 to four times the channels; otherwise 3×3, 3×3
};

static const struct plan resnet18 = {{2, 2, 2, 2}, false};
static const struct plan resnet50 = {{3, 4, 6, 3}, true};

static nn_value conv_bn(struct nn_graph *g, const char *block, int index, nn_value x,
                        struct nn_conv conv)
{
    return nn_conv_bn(g, nn_name(g, "%s.conv%d", block, index), nn_name(g, "%s.bn%d", block, index),
                      x, conv, KERNEL_RELU);
}

// relu(F(x) + x); a 1×1 convolution brings x into shape where it differs from F(x).
static nn_value residual(struct nn_graph *g, const char *name, nn_value input, int width,
                         int stride, bool bottleneck)
{
    int out = bottleneck ? 4 * width : width, convs = bottleneck ? 3 : 2;
    nn_value x = input, shortcut = input;
    if (stride != 1 || nn_shape(g, input).c != out) {
        shortcut = nn_conv_bn_at(g, nn_name(g, "%s.downsample", name), 0, input,
                                 nn_square(out, 1, stride), KERNEL_LINEAR);
    }
    if (bottleneck) {
        x = conv_bn(g, name, 1, x, nn_pointwise(width));
    }
    x = conv_bn(g, name, convs - 1, x, nn_square(width, 3, stride));
    x = nn_conv(g, nn_name(g, "%s.conv%d", name, convs), x,
                bottleneck ? nn_pointwise(out) : nn_square(out, 3, 1));
    return nn_batchnorm_add(g, nn_name(g, "%s.bn%d", name, convs), x, shortcut, KERNEL_RELU);
}

static nn_value build(struct nn_graph *g, nn_value x, int classes, const struct plan *plan)
{
    bool small = nn_image_is_small(g, x);
    x = nn_conv_bn(g, "conv1", "bn1", x, nn_square(64, 7, small ? 1 : 2), KERNEL_RELU);
    if (!small) {
        x = nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .pad = 1});
    }
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < plan->blocks[stage]; i++) {
            x = residual(g, nn_name(g, "layer%d.%d", stage + 1, i), x, 64 << stage,
                         stage > 0 && i == 0 ? 2 : 1, plan->bottleneck);
        }
    }
    return nn_classifier(g, "fc", x, 0, classes);
}

nn_value nn_build_resnet18(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, &resnet18);
}

nn_value nn_build_resnet50(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, &resnet50);
}
