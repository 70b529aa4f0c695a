// SPDX-License-Identifier: Apache-2.0
// NASNet-A (4 @ 1056), "mobile" (Zoph et al., 2018). A cell takes the outputs of the two cells
// before it, `current` and `previous`, brings both to its width, and adds pairs of operations on
// them; figure 4 of the paper draws the pairs. Even where a map is halved, windows are padded alike
// on both sides.
#include "nn/models/blocks.h"

enum { STEM = 32, FILTERS = 44, REPEATS = 4, STAGES = 3 };

// Most operations on a map begin with a ReLU, which is computed once for all of them.
struct map {
    nn_value x, relu;
};

static struct map map_of(struct nn_graph *g, nn_value x)
{
    return (struct map){x, nn_activate(g, x, KERNEL_RELU)};
}

// ---- operations --------------------------------------------------------------------------------

// Depthwise, then pointwise.
static nn_value separable(struct nn_graph *g, const char *name, nn_value x, int out, int kernel,
                          int stride)
{
    x = nn_conv(g, nn_name(g, "%s.depthwise", name), x,
                nn_depthwise(nn_shape(g, x).c, kernel, stride));
    return nn_conv(g, nn_name(g, "%s.pointwise", name), x, nn_pointwise(out));
}

// "sep k×k": twice ReLU, separable convolution, batch norm; the first time with the stride.
static nn_value sep(struct nn_graph *g, const char *cell, const char *name, struct map map, int out,
                    int kernel, int stride)
{
    const char *prefix = nn_name(g, "%s.%s", cell, name);
    nn_value x = separable(g, nn_name(g, "%s.conv1", prefix), map.relu, out, kernel, stride);
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

// ---- what a cell begins with -------------------------------------------------------------------

static struct map squeeze(struct nn_graph *g, const char *cell, const char *name, struct map map,
                          int out)
{
    const char *prefix = nn_name(g, "%s.%s", cell, name);
    return map_of(g, nn_conv_bn(g, nn_name(g, "%s.conv", prefix), nn_name(g, "%s.bn", prefix),
                                map.relu, nn_pointwise(out), KERNEL_LINEAR));
}

// To half the map: every second pixel, and the ones between, each give half of the channels.
static struct map squeeze_and_halve(struct nn_graph *g, const char *cell, struct map map, int out)
{
    nn_value paths[2];
    for (int p = 0; p < 2; p++) {
        struct nn_pool every_second = {.size = 1, .stride = 2, .shift = p, .count_padding = true};
        paths[p] = nn_conv(g, nn_name(g, "%s.previous.path%d", cell, p + 1),
                           nn_average_pool(g, map.relu, every_second), nn_pointwise(out / 2));
    }
    return map_of(g, nn_batchnorm(g, nn_name(g, "%s.previous.bn", cell), nn_concat(g, 2, paths),
                                  KERNEL_LINEAR));
}

static struct map fit_previous(struct nn_graph *g, const char *cell, struct map previous,
                               struct map current, int width)
{
    bool larger = nn_shape(g, previous.x).h != nn_shape(g, current.x).h;
    return larger ? squeeze_and_halve(g, cell, previous, width)
                  : squeeze(g, cell, "previous", previous, width);
}

// ---- cells -------------------------------------------------------------------------------------

static struct map normal_cell(struct nn_graph *g, const char *cell, struct map previous,
                              struct map current, int width)
{
    struct map p = fit_previous(g, cell, previous, current, width);
    struct map c = squeeze(g, cell, "current", current, width);
    nn_value p_average = average(g, p.x, 1);
    nn_value out[] = {
        p.x,
        sum(g, sep(g, cell, "sep0_left", c, width, 5, 1),
            sep(g, cell, "sep0_right", p, width, 3, 1)),
        sum(g, sep(g, cell, "sep1_left", p, width, 5, 1),
            sep(g, cell, "sep1_right", p, width, 3, 1)),
        sum(g, average(g, c.x, 1), p.x),
        sum(g, p_average, p_average),
        sum(g, sep(g, cell, "sep4_left", c, width, 3, 1), c.x),
    };
    return map_of(g, nn_concat(g, 6, out));
}

// `p` as it comes: the first cell of all takes the stem's channels.
static struct map reduce(struct nn_graph *g, const char *cell, struct map p, struct map c,
                         int width)
{
    nn_value pair0 = sum(g, sep(g, cell, "sep0_left", c, width, 5, 2),
                         sep(g, cell, "sep0_right", p, width, 7, 2));
    nn_value c_maximum = maximum(g, c.x);
    nn_value pair1 = sum(g, c_maximum, sep(g, cell, "sep1_right", p, width, 7, 2));
    nn_value pair2 = sum(g, average(g, c.x, 2), sep(g, cell, "sep2_right", p, width, 5, 2));
    nn_value pair3 = sum(g, average(g, pair0, 1), pair1);
    nn_value pair4 = sum(g, sep(g, cell, "sep4_left", map_of(g, pair0), width, 3, 1), c_maximum);
    return map_of(g, nn_concat(g, 4, (nn_value[]){pair1, pair2, pair3, pair4}));
}

static struct map reduction_cell(struct nn_graph *g, const char *cell, struct map previous,
                                 struct map current, int width)
{
    struct map p = fit_previous(g, cell, previous, current, width);
    return reduce(g, cell, p, squeeze(g, cell, "current", current, width), width);
}

// ---- the network -------------------------------------------------------------------------------

nn_value nn_build_nasnet_mobile(struct nn_graph *g, nn_value x, int classes)
{
    struct nn_conv first = {.out = STEM, .kernel = 3, .stride = nn_image_is_small(g, x) ? 1 : 2};
    nn_set_batchnorm_epsilon(g, 1e-3F);
    struct map previous = map_of(g, nn_conv_bn(g, "stem.conv", "stem.bn", x, first, KERNEL_LINEAR));
    struct map current =
        reduce(g, "stem.cell0", previous,
               squeeze(g, "stem.cell0", "current", previous, FILTERS / 4), FILTERS / 4);
    struct map next = reduction_cell(g, "stem.cell1", previous, current, FILTERS / 2);
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
    return nn_classifier(g, "classifier", current.relu, 0.5F, classes);
}
