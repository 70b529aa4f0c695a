// SPDX-License-Identifier: Apache-2.0
// Inception v3 (Szegedy et al., 2015) without the auxiliary classifier; parameter names as in
// torchvision. A block's branches are tables: each row one convolution.
#include "nn/models/blocks.h"

// Smaller images do not survive the stem; torchvision has the same limit.
enum { SMALLEST_AS_PUBLISHED = 75 };

// One convolution of a branch. Windows of 1×7, 7×1, 1×3, 3×1 and those at stride 1 are padded.
struct row {
    const char *name;
    int out, h, w, stride;
};

static nn_value conv(struct nn_graph *g, const char *block, nn_value x, struct row row, bool padded)
{
    struct nn_conv c = {.out = row.out, .kernel_h = row.h, .kernel_w = row.w, .stride = row.stride};
    if (padded) {
        c.pad_h = row.h / 2;
        c.pad_w = row.w / 2;
    }
    const char *name = *block ? nn_name(g, "%s.%s", block, row.name) : row.name;
    return nn_conv_bn(g, nn_name(g, "%s.conv", name), nn_name(g, "%s.bn", name), x, c, KERNEL_RELU);
}

// Convolutions one after the other, up to the first row without a name.
static nn_value branch(struct nn_graph *g, const char *block, nn_value x, const struct row *rows)
{
    for (; rows->name; rows++) {
        x = conv(g, block, x, *rows, rows->stride == 1);
    }
    return x;
}

static nn_value pooled(struct nn_graph *g, const char *block, nn_value x, int out)
{
    struct nn_pool average = {.size = 3, .stride = 1, .pad = 1, .count_padding = true};
    return conv(g, block, nn_average_pool(g, x, average), (struct row){"branch_pool", out, 1, 1, 1},
                true);
}

static nn_value halved(struct nn_graph *g, nn_value x)
{
    return nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2});
}

#define BRANCH(...) branch(g, name, x, (const struct row[]){__VA_ARGS__, {0}})

// Figure 5 of the paper.
static nn_value block_a(struct nn_graph *g, const char *name, nn_value x, int pool)
{
    nn_value branches[] = {
        BRANCH({"branch1x1", 64, 1, 1, 1}),
        BRANCH({"branch5x5_1", 48, 1, 1, 1}, {"branch5x5_2", 64, 5, 5, 1}),
        BRANCH({"branch3x3dbl_1", 64, 1, 1, 1}, {"branch3x3dbl_2", 96, 3, 3, 1},
               {"branch3x3dbl_3", 96, 3, 3, 1}),
        pooled(g, name, x, pool),
    };
    return nn_concat(g, 4, branches);
}

// Halves the map: figure 10.
static nn_value block_b(struct nn_graph *g, const char *name, nn_value x)
{
    nn_value branches[] = {
        BRANCH({"branch3x3", 384, 3, 3, 2}),
        BRANCH({"branch3x3dbl_1", 64, 1, 1, 1}, {"branch3x3dbl_2", 96, 3, 3, 1},
               {"branch3x3dbl_3", 96, 3, 3, 2}),
        halved(g, x),
    };
    return nn_concat(g, 3, branches);
}

// Figure 6 with n = 7; `c` channels between.
static nn_value block_c(struct nn_graph *g, const char *name, nn_value x, int c)
{
    nn_value branches[] = {
        BRANCH({"branch1x1", 192, 1, 1, 1}),
        BRANCH({"branch7x7_1", c, 1, 1, 1}, {"branch7x7_2", c, 1, 7, 1},
               {"branch7x7_3", 192, 7, 1, 1}),
        BRANCH({"branch7x7dbl_1", c, 1, 1, 1}, {"branch7x7dbl_2", c, 7, 1, 1},
               {"branch7x7dbl_3", c, 1, 7, 1}, {"branch7x7dbl_4", c, 7, 1, 1},
               {"branch7x7dbl_5", 192, 1, 7, 1}),
        pooled(g, name, x, 192),
    };
    return nn_concat(g, 4, branches);
}

// Halves the map again.
static nn_value block_d(struct nn_graph *g, const char *name, nn_value x)
{
    nn_value branches[] = {
        BRANCH({"branch3x3_1", 192, 1, 1, 1}, {"branch3x3_2", 320, 3, 3, 2}),
        BRANCH({"branch7x7x3_1", 192, 1, 1, 1}, {"branch7x7x3_2", 192, 1, 7, 1},
               {"branch7x7x3_3", 192, 7, 1, 1}, {"branch7x7x3_4", 192, 3, 3, 2}),
        halved(g, x),
    };
    return nn_concat(g, 3, branches);
}

// Figure 7: two branches fan out at their end.
static nn_value block_e(struct nn_graph *g, const char *name, nn_value x)
{
    nn_value three = BRANCH({"branch3x3_1", 384, 1, 1, 1});
    nn_value twice = BRANCH({"branch3x3dbl_1", 448, 1, 1, 1}, {"branch3x3dbl_2", 384, 3, 3, 1});
    nn_value branches[] = {
        BRANCH({"branch1x1", 320, 1, 1, 1}),
        conv(g, name, three, (struct row){"branch3x3_2a", 384, 1, 3, 1}, true),
        conv(g, name, three, (struct row){"branch3x3_2b", 384, 3, 1, 1}, true),
        conv(g, name, twice, (struct row){"branch3x3dbl_3a", 384, 1, 3, 1}, true),
        conv(g, name, twice, (struct row){"branch3x3dbl_3b", 384, 3, 1, 1}, true),
        pooled(g, name, x, 192),
    };
    return nn_concat(g, 6, branches);
}

static nn_value stem(struct nn_graph *g, nn_value x)
{
    bool small = nn_shape(g, x).h < SMALLEST_AS_PUBLISHED;
    x = conv(g, "", x, (struct row){"Conv2d_1a_3x3", 32, 3, 3, small ? 1 : 2}, false);
    x = conv(g, "", x, (struct row){"Conv2d_2a_3x3", 32, 3, 3, 1}, false);
    x = conv(g, "", x, (struct row){"Conv2d_2b_3x3", 64, 3, 3, 1}, true);
    x = small ? x : halved(g, x);
    x = conv(g, "", x, (struct row){"Conv2d_3b_1x1", 80, 1, 1, 1}, false);
    x = conv(g, "", x, (struct row){"Conv2d_4a_3x3", 192, 3, 3, 1}, false);
    return halved(g, x);
}

// Table 1 of the paper.
nn_value nn_build_inception_v3(struct nn_graph *g, nn_value x, int classes)
{
    nn_set_batchnorm_epsilon(g, 1e-3F);
    x = stem(g, x);
    x = block_a(g, "Mixed_5b", x, 32);
    x = block_a(g, "Mixed_5c", x, 64);
    x = block_a(g, "Mixed_5d", x, 64);
    x = block_b(g, "Mixed_6a", x);
    x = block_c(g, "Mixed_6b", x, 128);
    x = block_c(g, "Mixed_6c", x, 160);
    x = block_c(g, "Mixed_6d", x, 160);
    x = block_c(g, "Mixed_6e", x, 192);
    x = block_d(g, "Mixed_7a", x);
    x = block_e(g, "Mixed_7b", x);
    x = block_e(g, "Mixed_7c", x);
    return nn_classifier(g, "fc", x, 0.5F, classes);
}
