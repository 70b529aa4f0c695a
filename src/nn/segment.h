// SPDX-License-Identifier: Apache-2.0
// A network cut into segments. Strips of samples go through a segment depth-first, one strip through
// all its nodes before the next, so that what a node writes the next one still finds in the cache.
//
// A node that gathers (batch norm) must see all strips before it changes any: it stands between two
// segments, and does its gathering with one and its running with the other:
//
//     forward    segment k: run(left)  node node …       gather(right)
//     backward   segment k: run(right) … node node       gather(left)
//
// Segments also end where the maps have shrunk so much that longer strips fit the cache. Pure.
#ifndef NN_SEGMENT_H
#define NN_SEGMENT_H

#include "nn/graph.h"

struct nn_segment {
    int first, end;  // its nodes, without the gathering ones at its borders; may be empty
    int left, right; // gathering nodes at its borders, −1: none
    int strip;       // samples in a strip; divides the micro-batch
};

bool nn_node_gathers(const struct nn_node *node);

// Cuts the graph so that the inputs and outputs of each node, for one strip, fit `cache_bytes`.
// `out` has room for 2 × nodes + 1 segments; returns how many there are.
int nn_segments_cut(const struct nn_graph *graph, size_t cache_bytes, struct nn_segment *out);

#endif
