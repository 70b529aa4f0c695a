// SPDX-License-Identifier: Apache-2.0
#include "nn/segment.h"

bool nn_op_gathers(const struct nn_op *op)
{
    return op->kind == NN_BATCHNORM;
}

static size_t sample_bytes(const struct nn_graph *g, nn_value v)
{
    struct kernel_shape s = nn_shape(g, v);
    return (size_t)s.c * (size_t)s.h * (size_t)s.w * sizeof(float);
}

int nn_lane_share(int count, int lanes)
{
    return (count + lanes - 1) / lanes;
}

// Whether strips of this length leave the lanes as even as strips of one would.
static bool is_even(int micro_batch, int lanes, int strip)
{
    int strips = micro_batch / strip;
    return nn_lane_share(strips, lanes) * strip <= nn_lane_share(micro_batch, lanes);
}

// The longest strip that divides the micro-batch and keeps the op's inputs and output in the
// cache.
static int longest_strip(const struct nn_graph *g, const struct nn_op *op, struct nn_cut cut)
{
    size_t bytes = sample_bytes(g, op->y), most = cut.cache_bytes / (size_t)cut.lanes;
    for (int i = 0; i < op->inputs; i++) {
        bytes += sample_bytes(g, op->x[i]);
    }
    int strip = g->micro_batch;
    while (strip > 1 && (g->micro_batch % strip != 0 || (size_t)strip * bytes > most ||
                         !is_even(g->micro_batch, cut.lanes, strip))) {
        strip--;
    }
    return strip;
}

// Whether op `n` makes smaller maps than op `first`. Only then a new segment pays: between maps
// of one size it would part ops that find each other's results in the cache.
static bool shrinks(const struct nn_graph *g, int first, int n)
{
    struct kernel_shape before = nn_shape(g, g->ops[first].y), y = nn_shape(g, g->ops[n].y);
    return y.h * y.w < before.h * before.w;
}

// Whether a lane would do little with each weight, and no cache keeps them for the next.
static bool is_heavy(const struct nn_graph *g, const struct nn_op *op)
{
    enum { WEIGHT_BYTES = 16 << 20 };
    return op->kind == NN_FC &&
           g->tensors[op->param[0]].count * sizeof(float) >= (size_t)WEIGHT_BYTES;
}

// The segment that begins with op `first`, behind the gathering op `left`.
static struct nn_segment segment_at(int first, int left, int strip, struct nn_cut cut)
{
    return (struct nn_segment){
        .first = first, .left = left, .right = -1, .strip = strip, .together = cut.lanes == 1};
}

int nn_segments_cut(const struct nn_graph *g, struct nn_cut cut, struct nn_segment *out)
{
    int count = 0;
    struct nn_segment open = segment_at(0, -1, g->micro_batch, cut);
    for (int n = 0; n < g->op_count; n++) {
        const struct nn_op *op = &g->ops[n];
        bool heavy = cut.lanes > 1 && is_heavy(g, op);
        cut.lanes = heavy ? 1 : cut.lanes; // from here on
        int strip = longest_strip(g, op, cut);
        if (nn_op_gathers(op)) {
            open.end = n;
            open.right = n;
            open.strip = strip < open.strip ? strip : open.strip;
            out[count++] = open;
            open = segment_at(n + 1, n, strip, cut);
        } else if (heavy || (strip > open.strip && open.first < n && shrinks(g, open.first, n))) {
            open.end = n;
            out[count++] = open;
            open = segment_at(n, -1, strip, cut);
        } else {
            open.strip = strip < open.strip ? strip : open.strip;
        }
    }
    open.end = g->op_count;
    out[count++] = open;
    return count;
}
