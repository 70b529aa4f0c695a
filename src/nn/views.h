// SPDX-License-Identifier: Apache-2.0
// Values that need no memory of their own: what goes into a concat can be written straight to its
// channels there. One sample's channels lie together, so where samples go one by one (strips of
// one) an op does not notice; where they do not, the concat copies. Pure.
#ifndef NN_VIEWS_H
#define NN_VIEWS_H

#include "nn/net_state.h"

struct nn_view {
    nn_value parent; // −1: has memory of its own
    size_t offset;   // bytes from the parent's sample to this one's
};

struct nn_views {
    struct nn_view *activation; // [values]
    bool *lone;                 // [values] all who touch it take one sample at a time
};

STN_MUST_CHECK enum stn_status nn_views_create(const struct nn_net *net, struct nn_views *out);
void nn_views_destroy(struct nn_views *views);

// Where input `i` of op `n` begins in a sample of its output, in bytes, or −1 where it cannot lie
// in there.
ptrdiff_t nn_view_offset(const struct nn_net *net, const struct nn_views *views, int n, int i);
// The value that owns the memory of `v`; its offset there is added to *offset.
nn_value nn_view_root(const struct nn_views *views, nn_value v, size_t *offset);

#endif
