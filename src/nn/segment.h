// SPDX-License-Identifier: Apache-2.0
// A network cut into segments. Strips of samples go through a segment depth-first, one strip
// through all its ops before the next, so that what an op writes the next one still finds in the
// cache.
//
// An op that gathers (batch norm) must see all strips before it changes any: it stands between two
// segments, and does its gathering with one and its running with the other:
//
//     forward    segment k: run(left)  op op …       gather(right)
//     backward   segment k: run(right) … op op       gather(left)
//
// Segments also end where the maps have shrunk so much that longer strips fit the cache. Pure.
//
// With several lanes (kernel.h) each takes strips of its own through a segment, and they meet at
// its end. Where the weights are the most of what is read, as in VGG's fully connected layers, all
// threads go through a segment together instead, so that they are read once.
#ifndef NN_SEGMENT_H
#define NN_SEGMENT_H

#include "nn/graph.h"

struct nn_segment {
    int first, end;  // its ops, without the gathering ones at its borders; may be empty
    int left, right; // gathering ops at its borders, −1: none
    int strip;       // samples in a strip; divides the micro-batch
    bool together;   // the whole team takes strip after strip
};

// How the work is cut: lanes and the cache that they share.
struct nn_cut {
    int lanes;          // 1: all segments are taken together
    size_t cache_bytes; // of all threads together
};

bool nn_op_gathers(const struct nn_op *op);

// How many of `count` samples or strips fall to each lane; the last lanes may get fewer.
int nn_lane_share(int count, int lanes);
// Cuts the graph so that the inputs and outputs of each op, for the strips that are under way at
// once, fit the cache. `out` has room for 2 × ops + 1 segments; returns how many there are.
int nn_segments_cut(const struct nn_graph *graph, struct nn_cut cut, struct nn_segment *out);

#endif
