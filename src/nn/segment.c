// SPDX-License-Identifier: Apache-2.0
#include "nn/segment.h"

bool nn_node_gathers(const struct nn_node *node)
{
    return node->kind == NN_BATCHNORM;
}

static size_t sample_bytes(const struct nn_graph *g, nn_value v)
{
    struct kernel_shape s = nn_shape(g, v);
    return (size_t)s.c * (size_t)s.h * (size_t)s.w * sizeof(float);
}

// The longest strip that divides the micro-batch and keeps the node's inputs and output in the cache.
static int longest_strip(const struct nn_graph *g, const struct nn_node *node, size_t cache_bytes)
{
    size_t bytes = sample_bytes(g, node->y);
    for (int i = 0; i < node->inputs; i++) {
        bytes += sample_bytes(g, node->x[i]);
    }
    int strip = g->micro_batch;
    while (strip > 1 && (g->micro_batch % strip != 0 || (size_t)strip * bytes > cache_bytes)) {
        strip--;
    }
    return strip;
}

// Whether node `n` makes smaller maps than node `first`. Only then a new segment pays: between maps of
// one size it would part nodes that find each other's results in the cache.
static bool shrinks(const struct nn_graph *g, int first, int n)
{
    struct kernel_shape before = nn_shape(g, g->nodes[first].y), y = nn_shape(g, g->nodes[n].y);
    return y.h * y.w < before.h * before.w;
}

int nn_segments_cut(const struct nn_graph *g, size_t cache_bytes, struct nn_segment *out)
{
    int count = 0;
    struct nn_segment open = {.left = -1, .right = -1, .strip = g->micro_batch};
    for (int n = 0; n < g->node_count; n++) {
        int strip = longest_strip(g, &g->nodes[n], cache_bytes);
        if (nn_node_gathers(&g->nodes[n])) {
            open.end = n;
            open.right = n;
            open.strip = strip < open.strip ? strip : open.strip;
            out[count++] = open;
            open = (struct nn_segment){.first = n + 1, .left = n, .right = -1, .strip = strip};
        } else if (strip > open.strip && open.first < n && shrinks(g, open.first, n)) {
            open.end = n;
            out[count++] = open;
            open = (struct nn_segment){.first = n, .left = -1, .right = -1, .strip = strip};
        } else {
            open.strip = strip < open.strip ? strip : open.strip;
        }
    }
    open.end = g->node_count;
    out[count++] = open;
    return count;
}
