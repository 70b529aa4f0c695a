// SPDX-License-Identifier: Apache-2.0
// A net's memory: which buffers a step needs and when, one block that holds them all, and the
// pointers of every call into it.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "nn/memory_plan.h"
#include "nn/net_state.h"
#include "nn/views.h"

enum { LANE_ALIGNMENT = 4096 }; // bytes: lanes share no page

// What the planner knows of a buffer before it gets its place.
struct need {
    size_t row_bytes, fixed_bytes; // bytes of one sample, or in all
    int first, last;               // times
};

// Indices into needs; −1: has none (the image; a value without gradient).
struct layout {
    const struct nn_net *net;
    struct need *needs;
    int count;
    int *activation[NN_DIRECTIONS], *gradient; // [values]
    struct nn_views views;
    size_t *gradient_at;                         // [values] bytes into each sample of its need
    bool *gradient_view;                         // [values] is a part of another's gradient
    int *saved, *scratch[NN_ACTS];               // [ops]
    int *block;                                  // [moments] which block a time is in
    bool *activation_crosses, *gradient_crosses; // [values] lives beyond one block
};

static int need_new(struct layout *l, size_t row_bytes, size_t fixed_bytes, int time)
{
    l->needs[l->count] = (struct need){row_bytes, fixed_bytes, time, time};
    return l->count++;
}

static void need_use(struct layout *l, int need, int time)
{
    if (need >= 0) {
        l->needs[need].last = time;
    }
}

static bool need_crosses(const struct layout *l, int need)
{
    return need >= 0 && l->block[l->needs[need].first] != l->block[l->needs[need].last];
}

static size_t value_row_bytes(const struct layout *l, nn_value v)
{
    return kernel_tensor_row_floats(l->net->tensors[v]) * sizeof(float);
}

static int consumers(const struct nn_graph *g, nn_value v)
{
    int count = 0;
    for (int n = 0; n < g->op_count; n++) {
        for (int i = 0; i < g->ops[n].inputs; i++) {
            count += g->ops[n].x[i] == v;
        }
    }
    return count;
}

// Whether op n may write its output over its first input.
static bool may_overwrite_input(const struct layout *l, int n)
{
    const struct nn_graph *g = &l->net->graph;
    nn_value x = g->ops[n].x[0], y = g->ops[n].y;
    const struct kernel_op_traits *traits = kernel_op_traits(l->net->calls[n].op);
    int producer = g->values[x].producer;
    if (!traits->forward_in_place || producer < 0 || consumers(g, x) != 1 ||
        g->ops[producer].kind == NN_CONCAT || l->views.activation[x].parent >= 0 ||
        l->views.activation[y].parent >= 0 ||
        l->activation_crosses[x] != l->activation_crosses[y]) {
        return false;
    }
    unsigned produced = kernel_op_traits(l->net->calls[producer].op)->backward_reads;
    return l->net->config.inference ||
           (!(traits->backward_reads & KERNEL_READS_X) && !(produced & KERNEL_READS_Y));
}

// An op that does not gather keeps something for backward for each strip.
static size_t saved_stride(const struct kernel_op_traits *traits)
{
    return (traits->saved_bytes + NN_PLAN_ALIGNMENT - 1) / NN_PLAN_ALIGNMENT * NN_PLAN_ALIGNMENT;
}

// The memory of an output: of its own, its input's, or where the concat will have it that it goes
// into.
static int plan_output(struct layout *l, int n, int time, enum nn_direction direction)
{
    const struct nn_op *op = &l->net->graph.ops[n];
    if (direction == NN_BACKWARD) {
        return need_new(l, value_row_bytes(l, op->y), 0, time);
    }
    if (may_overwrite_input(l, n)) {
        return l->activation[direction][op->x[0]];
    }
    size_t offset = 0;
    nn_value root = nn_view_root(&l->views, op->y, &offset);
    int *need = &l->activation[direction][root];
    if (*need < 0) {
        *need = need_new(l, value_row_bytes(l, root), 0, time);
    }
    need_use(l, *need, time);
    return *need;
}

static void plan_forward(struct layout *l, int n, int time, enum nn_direction direction)
{
    const struct nn_op *op = &l->net->graph.ops[n];
    const struct kernel_op_traits *traits = kernel_op_traits(l->net->calls[n].op);
    for (int i = 0; i < op->inputs; i++) {
        need_use(l, l->activation[direction][op->x[i]], time);
    }
    int y = plan_output(l, n, time, direction);
    l->activation[direction][op->y] = y;
    if (direction == NN_FORWARD) {
        l->activation[NN_BACKWARD][op->y] = y;
        if (!traits->gathers) {
            size_t strips = (size_t)(l->net->config.micro_batch / l->net->calls[n].strip);
            l->saved[n] = need_new(l, 0, strips * saved_stride(traits), time);
        }
    }
    need_use(l, l->saved[n], time);
}

static void plan_forward_gather(struct layout *l, int n, int time)
{
    const struct kernel_op_traits *traits = kernel_op_traits(l->net->calls[n].op);
    need_use(l, l->activation[NN_FORWARD][l->net->graph.ops[n].x[0]], time);
    l->saved[n] = need_new(l, 0, traits->saved_bytes, time);
}

static void plan_backward_reads(struct layout *l, int n, int time)
{
    const struct nn_op *op = &l->net->graph.ops[n];
    unsigned reads = kernel_op_traits(l->net->calls[n].op)->backward_reads;
    for (int i = 0; i < op->inputs && (reads & KERNEL_READS_X); i++) {
        need_use(l, l->activation[NN_BACKWARD][op->x[i]], time);
    }
    if (reads & KERNEL_READS_Y) {
        need_use(l, l->activation[NN_BACKWARD][op->y], time);
    }
    need_use(l, l->saved[n], time);
    need_use(l, l->gradient[op->y], time);
}

// The memory of the gradient of input i, of which op n is the first to write a part: of its own,
// over the output's gradient, or the part of that which is the input's anyway.
static void plan_gradient(struct layout *l, int n, int i, int time)
{
    const struct nn_op *op = &l->net->graph.ops[n];
    nn_value v = op->x[i], y = op->y;
    ptrdiff_t offset = nn_view_offset(l->net, &l->views, n, i);
    bool in_place = i == kernel_op_traits(l->net->calls[n].op)->in_place_input &&
                    l->gradient_crosses[v] == l->gradient_crosses[y] && !l->gradient_view[y];
    l->gradient_view[v] = offset >= 0;
    l->gradient_at[v] = offset >= 0 ? l->gradient_at[y] + (size_t)offset : 0;
    l->gradient[v] =
        offset >= 0 || in_place ? l->gradient[y] : need_new(l, value_row_bytes(l, v), 0, time);
}

static void plan_backward(struct layout *l, int n, int time, const struct nn_gradient_need *need)
{
    const struct nn_op *op = &l->net->graph.ops[n];
    plan_backward_reads(l, n, time);
    for (int i = 0; i < op->inputs; i++) {
        nn_value v = op->x[i];
        enum kernel_dx mode = nn_net_dx_mode(op, n, i, need);
        if (mode == KERNEL_DX_WRITE) {
            plan_gradient(l, n, i, time);
        }
        if (mode != KERNEL_DX_NONE) {
            need_use(l, l->gradient[v], time);
        }
    }
}

// Walks the program once and notes who needs what when.
static void layout_walk(struct layout *l, const struct nn_gradient_need *need)
{
    const struct nn_program *p = &l->net->program;
    nn_value logits = l->net->graph.logits;
    l->count = 0;
    memset(l->activation[NN_FORWARD], -1, (size_t)l->net->graph.value_count * sizeof(int));
    for (int time = 0; time < p->moment_count; time++) {
        int n = p->moments[time].op;
        if (n >= 0) {
            size_t scratch = kernel_op_traits(l->net->calls[n].op)->scratch_bytes;
            bool joined = time > 0 && p->moments[time - 1].joined;
            l->scratch[p->moments[time].act][n] = need_new(l, 0, scratch, joined ? time - 1 : time);
            need_use(l, l->scratch[p->moments[time].act][n], time);
        }
        switch (p->moments[time].act) {
        case NN_ACT_FORWARD_GATHER: plan_forward_gather(l, n, time); break;
        case NN_ACT_FORWARD: plan_forward(l, n, time, NN_FORWARD); break;
        case NN_ACT_AGAIN: plan_forward(l, n, time, NN_BACKWARD); break;
        case NN_ACT_LOSS:
            need_use(l, l->activation[NN_FORWARD][logits], time);
            l->gradient[logits] = need_new(l, value_row_bytes(l, logits), 0, time);
            break;
        case NN_ACT_BACKWARD: plan_backward(l, n, time, need); break;
        case NN_ACT_BACKWARD_GATHER: plan_backward_reads(l, n, time); break;
        case NN_ACTS: break;
        }
    }
}

// Sharing a buffer in place is decided by who lives beyond its block, which the first walk finds
// out.
static void layout_plan(struct layout *l, const struct nn_gradient_need *need)
{
    const struct nn_program *p = &l->net->program;
    for (int b = 0; b < p->block_count; b++) {
        for (int t = p->blocks[b].first; t < p->blocks[b].end; t++) {
            l->block[t] = b;
        }
    }
    layout_walk(l, need);
    for (nn_value v = 0; v < l->net->graph.value_count; v++) {
        l->activation_crosses[v] = need_crosses(l, l->activation[NN_FORWARD][v]);
        l->gradient_crosses[v] = need_crosses(l, l->gradient[v]);
    }
    layout_walk(l, need);
}

// A buffer that crosses blocks holds all samples and is there while any strip of its blocks runs;
// one that does not holds a strip, between its own moments only.
static struct nn_plan_buffer need_place(const struct layout *l, const struct need *need)
{
    const struct nn_program *p = &l->net->program;
    const struct nn_block *from = &p->blocks[l->block[need->first]];
    const struct nn_block *to = &p->blocks[l->block[need->last]];
    bool crosses = from != to;
    size_t samples = (size_t)(crosses ? l->net->config.micro_batch : from->strip);
    return (struct nn_plan_buffer){
        .bytes = need->fixed_bytes + need->row_bytes * samples,
        .first = crosses ? from->first : need->first,
        .last = crosses ? to->end - 1 : need->last,
    };
}

// Where everything lies. Buffers that cross blocks share one part of the memory, of which each
// micro-batch that may run abreast has its own; all others are planned as one lane uses them, and
// every lane has such a part of its own, for it may be anywhere in a block while the others are
// elsewhere.
struct places {
    struct nn_plan_buffer *of; // [needs]
    size_t slot_bytes, lane_bytes;
};

// Plans the needs that cross blocks, or those that do not.
static enum stn_status places_plan(const struct layout *l, bool crossing,
                                   struct nn_plan_buffer *some, struct places *places)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) {
        if (need_crosses(l, i) == crossing) {
            some[count++] = need_place(l, &l->needs[i]);
        }
    }
    size_t bytes = nn_memory_plan(some, count);
    if (bytes == SIZE_MAX) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    for (int i = l->count - 1; i >= 0; i--) {
        if (need_crosses(l, i) == crossing) {
            places->of[i] = some[--count];
        }
    }
    size_t whole = (bytes + LANE_ALIGNMENT - 1) / LANE_ALIGNMENT * LANE_ALIGNMENT;
    *(crossing ? &places->slot_bytes : &places->lane_bytes) = whole;
    return STN_OK;
}

static enum stn_status places_create(const struct layout *l, struct places *out)
{
    assert(l->count > 0);
    struct nn_plan_buffer *some = calloc((size_t)l->count, sizeof(*some));
    *out = (struct places){.of = calloc((size_t)l->count, sizeof(*out->of))};
    enum stn_status status =
        some && out->of ? STN_OK
                        : stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    if (status == STN_OK && (status = places_plan(l, true, some, out)) == STN_OK) {
        status = places_plan(l, false, some, out);
    }
    free(some);
    if (status != STN_OK) {
        free(out->of);
    }
    return status;
}

// ---- pointers -----------------------------------------------------------------------------------

// `at` is where a sample begins in the buffer's.
static struct nn_rows rows_of(const struct layout *l, const struct places *places, int need,
                              size_t at)
{
    if (need < 0) {
        return (struct nn_rows){0};
    }
    char *base = (char *)l->net->activations + places->of[need].offset + at;
    size_t slots = (size_t)l->net->abreast;
    return need_crosses(l, need)
               ? (struct nn_rows){base, l->needs[need].row_bytes, 0, places->slot_bytes}
               : (struct nn_rows){base + slots * places->slot_bytes, 0, places->lane_bytes, 0};
}

static struct nn_rows activation_rows(const struct layout *l, const struct places *places,
                                      int direction, nn_value v)
{
    size_t at = 0;
    (void)nn_view_root(&l->views, v, &at);
    return rows_of(l, places, l->activation[direction][v], at);
}

static struct nn_rows gradient_rows(const struct layout *l, const struct places *places, nn_value v)
{
    return rows_of(l, places, l->gradient[v], l->gradient_at[v]);
}

static void call_wire_tensors(struct nn_net *net, int n)
{
    const struct nn_op *op = &net->graph.ops[n];
    const struct nn_tensor *tensors = net->graph.tensors;
    struct nn_call *call = &net->calls[n];
    for (int i = 0; i < op->params; i++) {
        size_t offset = tensors[op->param[i]].offset;
        for (int copy = 0; copy < NN_COPIES && net->parameters[copy].data; copy++) {
            call->params[copy][i] = net->parameters[copy].data + offset;
        }
        call->param_grads[i] = net->gradient_sums.data ? net->gradient_sums.data + offset : NULL;
    }
    for (int i = 0; i < op->buffers; i++) {
        size_t offset = tensors[op->buffer[i]].offset;
        for (int copy = 0; copy < NN_COPIES && net->buffers[copy].data; copy++) {
            call->buffers[copy][i] = net->buffers[copy].data + offset;
        }
        call->statistics_at[i] = offset;
    }
}

static void call_wire(struct nn_net *net, const struct layout *l, const struct places *places,
                      int n, const struct nn_gradient_need *need)
{
    const struct nn_op *op = &net->graph.ops[n];
    const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
    struct nn_call *call = &net->calls[n];
    call_wire_tensors(net, n);
    for (int d = NN_FORWARD; d < NN_DIRECTIONS; d++) {
        for (int i = 0; i < op->inputs; i++) {
            call->x[d][i] = activation_rows(l, places, d, op->x[i]);
        }
        call->y[d] = activation_rows(l, places, d, op->y);
    }
    for (int act = 0; act < NN_ACTS; act++) {
        call->scratch[act] = rows_of(l, places, l->scratch[act][n], 0);
    }
    for (int i = 0; i < op->inputs; i++) {
        if (nn_net_dx_mode(op, n, i, need) != KERNEL_DX_NONE) {
            call->dx[i] = gradient_rows(l, places, op->x[i]);
        }
    }
    call->dy = gradient_rows(l, places, op->y);
    call->saved = rows_of(l, places, l->saved[n], 0);
    call->saved_strip_bytes = traits->gathers ? 0 : saved_stride(traits);
}

static enum stn_status layout_init(struct layout *l, const struct nn_net *net)
{
    size_t values = (size_t)net->graph.value_count, ops = (size_t)net->graph.op_count;
    size_t moments = (size_t)net->program.moment_count;
    // Each moment makes at most an output, scratch, saved state, and a gradient per input.
    *l = (struct layout){
        .net = net,
        .needs = calloc(moments * (3 + KERNEL_INPUTS_MAX), sizeof(*l->needs)),
        .activation = {malloc(values * sizeof(int)), malloc(values * sizeof(int))},
        .gradient = malloc(values * sizeof(int)),
        .saved = malloc(ops * sizeof(int)),
        .block = calloc(moments, sizeof(int)),
        .activation_crosses = calloc(values, sizeof(bool)),
        .gradient_crosses = calloc(values, sizeof(bool)),
        .gradient_at = calloc(values, sizeof(size_t)),
        .gradient_view = calloc(values, sizeof(bool)),
    };
    if (!l->needs || !l->activation[0] || !l->activation[1] || !l->gradient || !l->saved ||
        !l->block || !l->activation_crosses || !l->gradient_crosses || !l->gradient_at ||
        !l->gradient_view) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    for (int d = NN_FORWARD; d < NN_DIRECTIONS; d++) {
        memset(l->activation[d], -1, values * sizeof(int));
    }
    for (int act = 0; act < NN_ACTS; act++) {
        l->scratch[act] = malloc(ops * sizeof(int));
        if (!l->scratch[act]) {
            return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
        }
        memset(l->scratch[act], -1, ops * sizeof(int));
    }
    memset(l->gradient, -1, values * sizeof(int));
    memset(l->saved, -1, ops * sizeof(int));
    return nn_views_create(net, &l->views);
}

static void layout_fini(struct layout *l)
{
    free(l->needs);
    free(l->activation[0]);
    free(l->activation[1]);
    free(l->gradient);
    free(l->saved);
    for (int act = 0; act < NN_ACTS; act++) {
        free(l->scratch[act]);
    }
    free(l->block);
    free(l->activation_crosses);
    free(l->gradient_crosses);
    free(l->gradient_at);
    free(l->gradient_view);
    nn_views_destroy(&l->views);
}

static enum stn_status block_create(struct nn_net *net, const struct layout *l,
                                    const struct nn_gradient_need *need)
{
    struct places places;
    enum stn_status status = places_create(l, &places);
    if (status != STN_OK) {
        return status;
    }
    net->activation_bytes =
        (size_t)net->abreast * places.slot_bytes + (size_t)net->lanes * places.lane_bytes;
    if (net->config.plan_only) {
        goto out_places;
    }
    net->activations = base_pages_alloc(net->activation_bytes);
    if (!net->activations) {
        status = stn_fail(STN_ERR_NO_MEMORY,
                          "out of memory: %zu MB for the activations of %d images; "
                          "use a smaller " BASE_SETTING "micro-batch",
                          net->activation_bytes >> 20, net->config.micro_batch);
        goto out_places;
    }
    for (int n = 0; n < net->graph.op_count; n++) {
        call_wire(net, l, &places, n, need);
    }
    nn_value logits = net->graph.logits;
    net->logits = activation_rows(l, &places, NN_FORWARD, logits);
    net->dlogits = gradient_rows(l, &places, logits);
out_places:
    free(places.of);
    return status;
}

static enum stn_status activations_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    struct layout layout;
    enum stn_status status = layout_init(&layout, net);
    if (status == STN_OK) {
        layout_plan(&layout, need);
        status = block_create(net, &layout, need);
    }
    layout_fini(&layout);
    return status;
}

enum stn_status nn_net_memory_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    enum stn_status status = nn_parameters_create(net);
    return status == STN_OK ? activations_create(net, need) : status;
}

void nn_net_memory_destroy(struct nn_net *net)
{
    nn_parameters_destroy(net);
    base_pages_free(net->activations, net->activation_bytes);
}
