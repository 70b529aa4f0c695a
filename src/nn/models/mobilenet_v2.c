// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 (Sandler et al., 2018), width 1.0; parameter names as in torchvision.
#include "nn/models/blocks.h"

// Table 2 of the paper: expansion t, output channels c, repeats n, stride s of the first.
static const struct stage {
    int t, c, n, s;
} stages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
};

enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

// Expand 1×1, filter depthwise 3×3, project 1×1; the input is added where the shape stays the same.
static nn_value inverted_residual(struct nn_graph *g, const char *name, nn_value input, int t,
                                  int out, int stride)
{
    int in = nn_shape(g, input).c, hidden = t * in, layer = 0;
    nn_value x = input;
    if (t != 1) {
        x = nn_conv_bn_at(g, nn_name(g, "%s.%d", name, layer++), 0, x, nn_pointwise(hidden),
                          KERNEL_RELU6);
    }
    x = nn_conv_bn_at(g, nn_name(g, "%s.%d", name, layer++), 0, x, nn_depthwise(hidden, 3, stride),
                      KERNEL_RELU6);
    x = nn_conv(g, nn_name(g, "%s.%d", name, layer++), x, nn_pointwise(out));
    const char *last = nn_name(g, "%s.%d", name, layer);
    return stride == 1 && in == out ? nn_batchnorm_add(g, last, x, input, KERNEL_LINEAR)
                                    : nn_batchnorm(g, last, x, KERNEL_LINEAR);
}

nn_value nn_build_mobilenet_v2(struct nn_graph *g, nn_value x, int classes)
{
    bool small = nn_image_is_small(g, x);
    int block = 0;
    x = nn_conv_bn_at(g, nn_name(g, "features.%d", block++), 0, x, nn_square(32, 3, small ? 1 : 2),
                      KERNEL_RELU6);
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; i < stages[s].n; i++) {
            int stride = i > 0 || (small && s == 1) ? 1 : stages[s].s;
            x = inverted_residual(g, nn_name(g, "features.%d.conv", block++), x, stages[s].t,
                                  stages[s].c, stride);
        }
    }
    x = nn_conv_bn_at(g, nn_name(g, "features.%d", block), 0, x, nn_pointwise(1280), KERNEL_RELU6);
    return nn_classifier(g, "classifier.1", x, 0.2F, classes);
}
