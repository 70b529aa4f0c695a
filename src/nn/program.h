// SPDX-License-Identifier: Apache-2.0
// What one micro-batch does, as a list: blocks of moments. A block takes strip after strip through
// its moments, in each lane by itself or all together; a moment is one call of one op's kernel.
// What a block gathers is settled at its end. A moment's place in the list is its time, by which
// memory is planned; the runner walks the same list.
#ifndef NN_PROGRAM_H
#define NN_PROGRAM_H

#include "nn/segment.h"

enum nn_act {
    NN_ACT_FORWARD_GATHER,
    NN_ACT_FORWARD,
    NN_ACT_AGAIN, // forward once more, in the backward half, where y was not kept
    NN_ACT_LOSS,
    NN_ACT_BACKWARD,
    NN_ACT_BACKWARD_GATHER,
    NN_ACTS,
};

struct nn_moment {
    enum nn_act act;
    int op;      // −1 for the loss
    bool joined; // training does it together with the next moment, which gathers what it makes
};

struct nn_block {
    int first, end; // its moments
    int strip;      // samples in a strip
    bool together;  // one strip at a time; else one in each lane
};

struct nn_program {
    struct nn_moment *moments;
    struct nn_block *blocks;
    int moment_count, block_count;
    int backward_block; // the first of the backward half
};

// `again[n]`: op n's output is not kept but computed again. `learns[n]`: op n has a backward
// call; NULL: there is no backward half.
STN_MUST_CHECK enum stn_status nn_program_create(const struct nn_graph *graph,
                                                 const struct nn_segment *segments,
                                                 int segment_count, const bool *again,
                                                 const bool *learns, struct nn_program *out);
void nn_program_destroy(struct nn_program *program);

#endif
