// SPDX-License-Identifier: Apache-2.0
#include "nn/program.h"

#include <stdlib.h>

// Moments of an op: gather, run, again, backward, gather.
enum { MOMENTS_PER_NODE = 5 };

static void emit(struct nn_program *p, enum nn_act act, int op)
{
    p->moments[p->moment_count++] = (struct nn_moment){act, op, false};
}

// Whether op n, a convolution, makes the value that op `norm` gathers.
static bool makes_input(const struct nn_graph *g, int n, int norm)
{
    return g->ops[n].kind == NN_CONV && g->ops[n].y == g->ops[norm].x[0];
}

// Whether the gradient that op `norm` gathers is that of op n's input, n being a convolution.
static bool makes_gradient(const struct nn_graph *g, int n, int norm)
{
    return g->ops[n].kind == NN_CONV && g->ops[n].x[0] == g->ops[norm].y;
}

// The last moment of a block, which joins the one before if that makes what is gathered.
static void emit_gather(struct nn_program *p, const struct nn_graph *g, enum nn_act act, int norm)
{
    if (p->moment_count > p->blocks[p->block_count].first) {
        struct nn_moment *last = &p->moments[p->moment_count - 1];
        last->joined = act == NN_ACT_FORWARD_GATHER
                           ? last->act == NN_ACT_FORWARD && makes_input(g, last->op, norm)
                           : last->act == NN_ACT_BACKWARD && makes_gradient(g, last->op, norm);
    }
    emit(p, act, norm);
}

static void block_begin(struct nn_program *p, int strip, bool together)
{
    p->blocks[p->block_count] =
        (struct nn_block){.first = p->moment_count, .strip = strip, .together = together};
}

static void block_end(struct nn_program *p)
{
    p->blocks[p->block_count++].end = p->moment_count;
}

static void emit_forward(struct nn_program *p, const struct nn_graph *g, const struct nn_segment *s)
{
    block_begin(p, s->strip, s->together);
    if (s->left >= 0) {
        emit(p, NN_ACT_FORWARD, s->left);
    }
    for (int n = s->first; n < s->end; n++) {
        emit(p, NN_ACT_FORWARD, n);
    }
    if (s->right >= 0) {
        emit_gather(p, g, NN_ACT_FORWARD_GATHER, s->right);
    }
    block_end(p);
}

static void emit_backward(struct nn_program *p, const struct nn_graph *g,
                          const struct nn_segment *s, const bool *again, const bool *learns)
{
    block_begin(p, s->strip, s->together);
    if (s->right >= 0) {
        emit(p, NN_ACT_BACKWARD, s->right);
    }
    if (s->left >= 0 && again[s->left]) {
        emit(p, NN_ACT_AGAIN, s->left);
    }
    for (int n = s->end - 1; n >= s->first; n--) {
        if (learns[n]) {
            emit(p, NN_ACT_BACKWARD, n);
        }
    }
    if (s->left >= 0) {
        emit_gather(p, g, NN_ACT_BACKWARD_GATHER, s->left);
    }
    block_end(p);
}

enum stn_status nn_program_create(const struct nn_graph *g, const struct nn_segment *segments,
                                  int segment_count, const bool *again, const bool *learns,
                                  struct nn_program *out)
{
    struct nn_program p = {
        .moments = calloc(MOMENTS_PER_NODE * (size_t)g->op_count + 1, sizeof(*p.moments)),
        .blocks = calloc(2 * (size_t)segment_count + 1, sizeof(*p.blocks)),
    };
    if (!p.moments || !p.blocks) {
        nn_program_destroy(&p);
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    for (int s = 0; s < segment_count; s++) {
        emit_forward(&p, g, &segments[s]);
    }
    block_begin(&p, g->micro_batch, true);
    emit(&p, NN_ACT_LOSS, -1);
    block_end(&p);
    p.backward_block = p.block_count;
    for (int s = segment_count - 1; s >= 0 && learns; s--) {
        emit_backward(&p, g, &segments[s], again, learns);
    }
    *out = p;
    return STN_OK;
}

void nn_program_destroy(struct nn_program *program)
{
    free(program->moments);
    free(program->blocks);
    *program = (struct nn_program){0};
}
