// SPDX-License-Identifier: Apache-2.0
// SqueezeNet 1.0 and 1.1 (Iandola et al., 2016); parameter names as in torchvision.
#include "nn/model.h"

// The feature extractor as a list; a row's index is torchvision's features.N.
enum layer_kind { STEM, POOL, FIRE, END };

struct layer {
    enum layer_kind kind;
    int index;
    int squeeze, expand; // FIRE: channels of the squeeze, and of each expand
    int out, kernel;     // STEM
};

static const struct layer v1_0[] = {
    {.kind = STEM, .index = 0, .out = 96, .kernel = 7},
    {.kind = POOL, .index = 2},
    {.kind = FIRE, .index = 3, .squeeze = 16, .expand = 64},
    {.kind = FIRE, .index = 4, .squeeze = 16, .expand = 64},
    {.kind = FIRE, .index = 5, .squeeze = 32, .expand = 128},
    {.kind = POOL, .index = 6},
    {.kind = FIRE, .index = 7, .squeeze = 32, .expand = 128},
    {.kind = FIRE, .index = 8, .squeeze = 48, .expand = 192},
    {.kind = FIRE, .index = 9, .squeeze = 48, .expand = 192},
    {.kind = FIRE, .index = 10, .squeeze = 64, .expand = 256},
    {.kind = POOL, .index = 11},
    {.kind = FIRE, .index = 12, .squeeze = 64, .expand = 256},
    {.kind = END},
};

static const struct layer v1_1[] = {
    {.kind = STEM, .index = 0, .out = 64, .kernel = 3},
    {.kind = POOL, .index = 2},
    {.kind = FIRE, .index = 3, .squeeze = 16, .expand = 64},
    {.kind = FIRE, .index = 4, .squeeze = 16, .expand = 64},
    {.kind = POOL, .index = 5},
    {.kind = FIRE, .index = 6, .squeeze = 32, .expand = 128},
    {.kind = FIRE, .index = 7, .squeeze = 32, .expand = 128},
    {.kind = POOL, .index = 8},
    {.kind = FIRE, .index = 9, .squeeze = 48, .expand = 192},
    {.kind = FIRE, .index = 10, .squeeze = 48, .expand = 192},
    {.kind = FIRE, .index = 11, .squeeze = 64, .expand = 256},
    {.kind = FIRE, .index = 12, .squeeze = 64, .expand = 256},
    {.kind = END},
};

static nn_value conv_relu(struct nn_graph *g, const char *name, nn_value x, struct nn_conv conv)
{
    conv.bias = true;
    conv.activation = KERNEL_RELU;
    return nn_conv(g, name, x, conv);
}

static nn_value fire(struct nn_graph *g, const struct layer *l, nn_value x)
{
    x = conv_relu(g, nn_name(g, "features.%d.squeeze", l->index), x,
                  (struct nn_conv){.out = l->squeeze, .kernel = 1});
    nn_value expand[2] = {
        conv_relu(g, nn_name(g, "features.%d.expand1x1", l->index), x,
                  (struct nn_conv){.out = l->expand, .kernel = 1}),
        conv_relu(g, nn_name(g, "features.%d.expand3x3", l->index), x,
                  (struct nn_conv){.out = l->expand, .kernel = 3, .pad = 1}),
    };
    return nn_concat(g, 2, expand);
}

static nn_value build(struct nn_graph *g, nn_value x, int classes, const struct layer *layers)
{
    int stride = nn_image_is_small(g, x) ? 1 : 2;
    for (const struct layer *l = layers; l->kind != END; l++) {
        switch (l->kind) {
        case STEM:
            x = conv_relu(g, nn_name(g, "features.%d", l->index), x,
                          (struct nn_conv){.out = l->out, .kernel = l->kernel, .stride = stride});
            break;
        case POOL:
            x = nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .ceil = true});
            break;
        case FIRE: x = fire(g, l, x); break;
        case END: break;
        }
    }
    x = nn_dropout(g, x, 0.5F);
    x = conv_relu(g, "classifier.1", x,
                  (struct nn_conv){.out = classes, .kernel = 1, .init_std = 0.01F});
    return nn_global_pool(g, x);
}

nn_value nn_build_squeezenet1_0(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, v1_0);
}

nn_value nn_build_squeezenet1_1(struct nn_graph *g, nn_value x, int classes)
{
    return build(g, x, classes, v1_1);
}
