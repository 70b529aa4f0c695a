// SPDX-License-Identifier: Apache-2.0
// LeNet-5's plan (LeCun et al., 1998) with today's widths and ReLU: two 5×5 convolutions with
// pooling, two dense layers. Whatever the image size, the last pooling leaves about 7×7, so the
// dense layers stay small.
#include "nn/model.h"

nn_value nn_build_lenet(struct nn_graph *g, nn_value x, int classes)
{
    x = nn_conv(g, "conv1", x,
                (struct nn_conv){
                    .out = 32, .kernel = 5, .pad = 2, .bias = true, .activation = KERNEL_RELU});
    int size = nn_shape(g, x).h;
    x = nn_max_pool(g, x, (struct nn_pool){.size = size < 84 ? 2 : size / 28});
    x = nn_conv(g, "conv2", x,
                (struct nn_conv){
                    .out = 64, .kernel = 5, .pad = 2, .bias = true, .activation = KERNEL_RELU});
    x = nn_max_pool(g, x, (struct nn_pool){.size = nn_shape(g, x).h / 7});
    x = nn_fc(g, "fc1", x, 256, KERNEL_RELU);
    x = nn_dropout(g, x, 0.5F);
    return nn_fc(g, "fc2", x, classes, KERNEL_LINEAR);
}
