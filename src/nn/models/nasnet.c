// SPDX-License-Identifier: Apache-2.0
// NASNet-A (4 @ 1056), "mobile" (Zoph et al., 2018). A cell takes the outputs of the two cells
// before it, `current` and `previous`, brings both to its width, and adds pairs of operations on
// them; figure 4 of the paper draws the pairs. Even where a map is halved, windows are padded alike
// on both sides.
#include "nn/models/blocks.h"

enum { STEM = 32, FILTERS = 44, REPEATS = 4, STAGES = 3 };

// ---- operations ---------------------------------------------------------------------------------

static nn_value relu(struct nn_graph *g, nn_value x)
{
    return nn_activate(g, x, KERNEL_RELU);
}

// Depthwise, then pointwise.
static nn_value separable(struct nn_graph *g, const char *name, nn_value x, int out, int kernel,
                          int stride)
{
    x = nn_conv(g, nn_name(g, "%s.depthwise", name), x,
                nn_depthwise(nn_shape(g, x).c, kernel, stride));
    return nn_conv(g, nn_name(g, "%s.pointwise", name), x, nn_pointwise(out));
}

// "sep k×k": twice ReLU, separable convolution, batch norm; the first time with the stride.
static nn_value sep(struct nn_graph *g, const char *cell, const char *name, nn_value x, int out,
                    int kernel, int stride)
{
    const char *prefix = nn_name(g, "%s.%s", cell, name);
    x = separable(g, nn_name(g, "%s.conv1", prefix), relu(g, x), out, kernel, stride);
    x = nn_batchnorm(g, nn_name(g, "%s.bn1", prefix), x, KERNEL_RELU);
    x = separable(g, nn_name(g, "%s.conv2", prefix), x, out, kernel, 1);
    return nn_batchnorm(g, nn_name(g, "%s.bn2", prefix), x, KERNEL_LINEAR);
}

static nn_value average(struct nn_graph *g, nn_value x, int stride)
{
    return nn_average_pool(g, x, (struct nn_pool){.size = 3, .stride = stride, .pad = 1});
}

static nn_value maximum(struct nn_graph *g, nn_value x)
{
    return nn_max_pool(g, x, (struct nn_pool){.size = 3, .stride = 2, .pad = 1});
}

static nn_value sum(struct nn_graph *g, nn_value a, nn_value b)
{
    return nn_add(g, a, b, KERNEL_LINEAR);
}

// ---- what a cell begins with --------------------------------------------------------------------

static nn_value squeeze(struct nn_graph *g, const char *cell, const char *name, nn_value x, int out)
{
    const char *prefix = nn_name(g, "%s.%s", cell, name);
    return nn_conv_bn(g, nn_name(g, "%s.conv", prefix), nn_name(g, "%s.bn", prefix), relu(g, x),
                      nn_pointwise(out), KERNEL_LINEAR);
}

// To half the map: every second pixel, and the ones between, each give half of the channels.
static nn_value squeeze_and_halve(struct nn_graph *g, const char *cell, nn_value x, int out)
{
    x = relu(g, x);
    nn_value paths[2];
    for (int p = 0; p < 2; p++) {
        struct nn_pool every_second = {.size = 1, .stride = 2, .shift = p, .count_padding = true};
        paths[p] = nn_conv(g, nn_name(g, "%s.previous.path%d", cell, p + 1),
                           nn_average_pool(g, x, every_second), nn_pointwise(out / 2));
    }
    return nn_batchnorm(g, nn_name(g, "%s.previous.bn", cell), nn_concat(g, 2, paths),
                        KERNEL_LINEAR);
}

static nn_value fit_previous(struct nn_graph *g, const char *cell, nn_value previous,
                             nn_value current, int width)
{
    bool larger = nn_shape(g, previous).h != nn_shape(g, current).h;
    return larger ? squeeze_and_halve(g, cell, previous, width)
                  : squeeze(g, cell, "previous", previous, width);
}

// ---- cells --------------------------------------------------------------------------------------

static nn_value normal_cell(struct nn_graph *g, const char *cell, nn_value previous,
                            nn_value current, int width)
{
    nn_value p = fit_previous(g, cell, previous, current, width);
    nn_value c = squeeze(g, cell, "current", current, width);
    nn_value out[] = {
        p,
        sum(g, sep(g, cell, "sep0_left", c, width, 5, 1),
            sep(g, cell, "sep0_right", p, width, 3, 1)),
        sum(g, sep(g, cell, "sep1_left", p, width, 5, 1),
            sep(g, cell, "sep1_right", p, width, 3, 1)),
        sum(g, average(g, c, 1), p),
        sum(g, average(g, p, 1), average(g, p, 1)),
        sum(g, sep(g, cell, "sep4_left", c, width, 3, 1), c),
    };
    return nn_concat(g, 6, out);
}

// `p` as it comes: the first cell of all takes the stem's channels.
static nn_value reduce(struct nn_graph *g, const char *cell, nn_value p, nn_value c, int width)
{
    nn_value pair0 = sum(g, sep(g, cell, "sep0_left", c, width, 5, 2),
                         sep(g, cell, "sep0_right", p, width, 7, 2));
    nn_value pair1 = sum(g, maximum(g, c), sep(g, cell, "sep1_right", p, width, 7, 2));
    nn_value pair2 = sum(g, average(g, c, 2), sep(g, cell, "sep2_right", p, width, 5, 2));
    nn_value pair3 = sum(g, average(g, pair0, 1), pair1);
    nn_value pair4 = sum(g, sep(g, cell, "sep4_left", pair0, width, 3, 1), maximum(g, c));
    return nn_concat(g, 4, (nn_value[]){pair1, pair2, pair3, pair4});
}

static nn_value reduction_cell(struct nn_graph *g, const char *cell, nn_value previous,
                               nn_value current, int width)
{
    nn_value p = fit_previous(g, cell, previous, current, width);
    return reduce(g, cell, p, squeeze(g, cell, "current", current, width), width);
}

// ---- the network --------------------------------------------------------------------------------

static nn_value build(struct nn_graph *g, nn_value x, int classes)
{
    struct nn_conv first = {.out = STEM, .kernel = 3, .stride = nn_image_is_small(g, x) ? 1 : 2};
    nn_set_batchnorm_epsilon(g, 1e-3F);
    nn_value previous = nn_conv_bn(g, "stem.conv", "stem.bn", x, first, KERNEL_LINEAR);
    nn_value current =
        reduce(g, "stem.cell0", previous,
               squeeze(g, "stem.cell0", "current", previous, FILTERS / 4), FILTERS / 4);
    nn_value next = reduction_cell(g, "stem.cell1", previous, current, FILTERS / 2);
    for (int stage = 0; stage < STAGES; stage++) {
        int width = FILTERS << stage;
        if (stage > 0) {
            next = reduction_cell(g, nn_name(g, "reduction%d", stage), previous, current, width);
        }
        previous = current;
        current = next;
        for (int i = 0; i < REPEATS; i++) {
            next = normal_cell(g, nn_name(g, "stage%d.%d", stage, i), previous, current, width);
            previous = current;
            current = next;
        }
    }
    return nn_classifier(g, "classifier", relu(g, current), 0.5F, classes);
}

const struct nn_model nn_model_nasnet_mobile = {
    .info = {.name = "nasnet_mobile",
             .source = "Zoph et al. 2018, NASNet-A (4 @ 1056)",
             .default_image_size = 224,
             .default_micro_batch = 16,
             .has_batchnorm = true,
             .small_input_note = "stem with stride 1"},
    .build = build,
};
