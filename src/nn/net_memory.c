// SPDX-License-Identifier: Apache-2.0
// A net's memory: which buffers a step needs and when, one block that holds them all, and the
// pointers of every call into it.
#include <stdlib.h>
#include <string.h>

#include "nn/memory_plan.h"
#include "nn/net_state.h"

enum { TENSOR_ALIGNMENT = 16 }; // floats: tensors begin on cache lines

// Indices into the planned buffers; −1: has none (the image; a value without gradient).
struct buffer_map {
    struct nn_plan_buffer *buffers;
    int count;
    int *activation, *gradient;                      // [values]
    int *saved, *scratch_forward, *scratch_backward; // [nodes]
};

static int buffer_new(struct buffer_map *map, size_t bytes, int first, int last)
{
    map->buffers[map->count] =
        (struct nn_plan_buffer){.bytes = bytes, .first = first, .last = last};
    return map->count++;
}

static void buffer_use(struct buffer_map *map, int buffer, int time)
{
    if (buffer >= 0 && map->buffers[buffer].last < time) {
        map->buffers[buffer].last = time;
    }
}

// Times: node n runs forward at n, the loss at N, node n backward at 2N − n.
static int backward_time(const struct nn_net *net, int n)
{
    return 2 * net->graph.node_count - n;
}

static int consumers(const struct nn_graph *g, nn_value v)
{
    int count = 0;
    for (int n = 0; n < g->node_count; n++) {
        for (int i = 0; i < g->nodes[n].inputs; i++) {
            count += g->nodes[n].x[i] == v;
        }
    }
    return count;
}

// Whether node n may write its output over its first input.
static bool may_overwrite_input(const struct nn_net *net, int n)
{
    const struct nn_graph *g = &net->graph;
    nn_value x = g->nodes[n].x[0];
    const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
    int producer = g->values[x].producer;
    if (!traits->forward_in_place || producer < 0 || consumers(g, x) != 1) {
        return false;
    }
    bool backward_runs = !net->config.inference;
    unsigned produced = kernel_op_traits(net->calls[producer].op)->backward_reads;
    return !backward_runs ||
           (!(traits->backward_reads & KERNEL_READS_X) && !(produced & KERNEL_READS_Y));
}

static void map_forward(struct nn_net *net, struct buffer_map *map)
{
    const struct nn_graph *g = &net->graph;
    for (int n = 0; n < g->node_count; n++) {
        const struct nn_node *node = &g->nodes[n];
        const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
        for (int i = 0; i < node->inputs; i++) {
            buffer_use(map, map->activation[node->x[i]], n);
        }
        map->activation[node->y] = may_overwrite_input(net, n)
                                       ? map->activation[node->x[0]]
                                       : buffer_new(map, kernel_tensor_bytes(traits->y), n, n);
        map->saved[n] = buffer_new(map, traits->saved_bytes, n, n);
        map->scratch_forward[n] = buffer_new(map, traits->scratch_bytes, n, n);
    }
    buffer_use(map, map->activation[g->logits], g->node_count);
}

static void map_backward(struct nn_net *net, struct buffer_map *map,
                         const struct nn_gradient_need *need)
{
    const struct nn_graph *g = &net->graph;
    map->gradient[g->logits] =
        buffer_new(map, kernel_tensor_bytes(net->tensors[g->logits]), g->node_count, g->node_count);
    for (int n = g->node_count - 1; n >= 0; n--) {
        const struct nn_node *node = &g->nodes[n];
        const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
        int now = backward_time(net, n);
        if (!need->value[node->y]) {
            continue;
        }
        buffer_use(map, map->saved[n], now);
        map->scratch_backward[n] = buffer_new(map, traits->scratch_bytes, now, now);
        buffer_use(map, map->gradient[node->y], now);
        if (traits->backward_reads & KERNEL_READS_Y) {
            buffer_use(map, map->activation[node->y], now);
        }
        for (int i = 0; i < node->inputs; i++) {
            nn_value v = node->x[i];
            if (traits->backward_reads & KERNEL_READS_X) {
                buffer_use(map, map->activation[v], now);
            }
            enum kernel_dx mode = nn_net_dx_mode(node, n, i, need);
            if (mode == KERNEL_DX_WRITE) {
                map->gradient[v] =
                    i == traits->in_place_input
                        ? map->gradient[node->y]
                        : buffer_new(map, kernel_tensor_bytes(net->tensors[v]), now, now);
            }
            if (mode != KERNEL_DX_NONE) {
                buffer_use(map, map->gradient[v], now);
            }
        }
    }
}

static enum stn_status buffer_map_init(struct buffer_map *map, const struct nn_graph *g)
{
    size_t values = (size_t)g->value_count, nodes = (size_t)g->node_count;
    *map = (struct buffer_map){
        .buffers = calloc(2 * values + 3 * nodes + 1, sizeof(*map->buffers)),
        .activation = malloc(values * sizeof(int)),
        .gradient = malloc(values * sizeof(int)),
        .saved = malloc(nodes * sizeof(int)),
        .scratch_forward = malloc(nodes * sizeof(int)),
        .scratch_backward = malloc(nodes * sizeof(int)),
    };
    if (!map->buffers || !map->activation || !map->gradient || !map->saved ||
        !map->scratch_forward || !map->scratch_backward) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    memset(map->activation, -1, values * sizeof(int));
    memset(map->gradient, -1, values * sizeof(int));
    memset(map->scratch_backward, -1, nodes * sizeof(int));
    return STN_OK;
}

static void buffer_map_fini(struct buffer_map *map)
{
    free(map->buffers);
    free(map->activation);
    free(map->gradient);
    free(map->saved);
    free(map->scratch_forward);
    free(map->scratch_backward);
}

static enum stn_status flat_create(struct nn_flat *flat, size_t count)
{
    // An empty array (a network without BatchNorm has no buffers) still gets an address.
    flat->count = count;
    flat->data = base_pages_alloc((count ? count : 1) * sizeof(float));
    return flat->data ? STN_OK
                      : stn_fail(STN_ERR_NO_MEMORY, "out of memory: %zu MB for parameters",
                                 count * sizeof(float) >> 20);
}

static void flat_destroy(struct nn_flat *flat)
{
    base_pages_free(flat->data, (flat->count ? flat->count : 1) * sizeof(float));
}

// Parameters before buffers, each kind in graph order; a node's indices follow.
static enum stn_status tensors_sort(struct nn_net *net, size_t *parameters, size_t *buffers)
{
    struct nn_graph *g = &net->graph;
    size_t count = (size_t)g->tensor_count;
    struct nn_tensor *sorted = calloc(count, sizeof(*sorted));
    struct nn_init *inits = calloc(count, sizeof(*inits));
    int *place = calloc(count, sizeof(*place));
    enum stn_status status = STN_OK;
    if (!sorted || !inits || !place) {
        status = stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
        goto out_free;
    }
    int next = 0;
    size_t *ends[] = {[NN_PARAMETER] = parameters, [NN_BUFFER] = buffers};
    for (int kind = NN_PARAMETER; kind <= NN_BUFFER; kind++) {
        size_t offset = 0;
        for (int t = 0; t < g->tensor_count; t++) {
            if ((int)g->tensors[t].kind != kind) {
                continue;
            }
            g->tensors[t].offset = offset;
            offset +=
                (g->tensors[t].count + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
            sorted[next] = g->tensors[t];
            inits[next] = g->inits[t];
            place[t] = next++;
        }
        *ends[kind] = offset;
        if (kind == NN_PARAMETER) {
            net->parameter_tensors = next;
        }
    }
    memcpy(g->tensors, sorted, count * sizeof(*sorted));
    memcpy(g->inits, inits, count * sizeof(*inits));
    for (int n = 0; n < g->node_count; n++) {
        for (int i = 0; i < g->nodes[n].params; i++) {
            g->nodes[n].param[i] = place[g->nodes[n].param[i]];
        }
        for (int i = 0; i < g->nodes[n].buffers; i++) {
            g->nodes[n].buffer[i] = place[g->nodes[n].buffer[i]];
        }
    }
    for (int t = 0; t < net->parameter_tensors; t++) {
        net->parameter_elements += (int64_t)g->tensors[t].count;
    }
out_free:
    free(sorted);
    free(inits);
    free(place);
    return status;
}

// ---- pointers
// -----------------------------------------------------------------------------------------------

static void *buffer_at(const struct nn_net *net, const struct buffer_map *map, int buffer)
{
    return buffer < 0 ? NULL : (char *)net->activations + map->buffers[buffer].offset;
}

static void call_wire(struct nn_net *net, const struct buffer_map *map, int n,
                      const struct nn_gradient_need *need)
{
    const struct nn_node *node = &net->graph.nodes[n];
    const struct nn_tensor *tensors = net->graph.tensors;
    struct nn_call *call = &net->calls[n];
    for (int i = 0; i < node->inputs; i++) {
        call->x[i] = buffer_at(net, map, map->activation[node->x[i]]);
        if (nn_net_dx_mode(node, n, i, need) != KERNEL_DX_NONE) {
            call->dx[i] = buffer_at(net, map, map->gradient[node->x[i]]);
        }
    }
    for (int i = 0; i < node->params; i++) {
        size_t offset = tensors[node->param[i]].offset;
        call->params[i] = net->parameters.data + offset;
        call->param_grads[i] = net->gradient_sums.data ? net->gradient_sums.data + offset : NULL;
    }
    for (int i = 0; i < node->buffers; i++) {
        size_t offset = tensors[node->buffer[i]].offset;
        call->buffers[i] = net->buffers.data + offset;
        call->buffer_sums[i] = net->buffer_sums.data ? net->buffer_sums.data + offset : NULL;
    }
    call->io = (struct kernel_io){
        .x = call->x,
        .y = buffer_at(net, map, map->activation[node->y]),
        .dy = buffer_at(net, map, map->gradient[node->y]),
        .dx = call->dx,
        .params = call->params,
        .param_grads = call->param_grads,
        .buffers = call->buffers,
        .buffer_sums = call->buffer_sums,
        .saved = buffer_at(net, map, map->saved[n]),
    };
}

static enum stn_status parameters_create(struct nn_net *net)
{
    size_t parameters = 0, buffers = 0;
    enum stn_status status = tensors_sort(net, &parameters, &buffers);
    if (status != STN_OK || net->config.plan_only) {
        net->parameters.count = parameters;
        net->buffers.count = buffers;
        return status;
    }
    if ((status = flat_create(&net->parameters, parameters)) != STN_OK ||
        (status = flat_create(&net->buffers, buffers)) != STN_OK || net->config.inference) {
        return status;
    }
    status = flat_create(&net->gradient_sums, parameters);
    return status == STN_OK ? flat_create(&net->buffer_sums, buffers) : status;
}

static enum stn_status activations_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    const struct nn_graph *g = &net->graph;
    struct buffer_map map;
    enum stn_status status = buffer_map_init(&map, g);
    if (status != STN_OK) {
        goto out_map;
    }
    map_forward(net, &map);
    if (!net->config.inference) {
        map_backward(net, &map, need);
    }
    net->activation_bytes = nn_memory_plan(map.buffers, map.count);
    if (net->config.plan_only) {
        goto out_map;
    }
    net->activations = base_pages_alloc(net->activation_bytes);
    if (!net->activations) {
        status = stn_fail(STN_ERR_NO_MEMORY,
                          "out of memory: %zu MB for the activations of %d images; "
                          "use a smaller --micro-batch",
                          net->activation_bytes >> 20, net->config.micro_batch);
        goto out_map;
    }
    for (int n = 0; n < g->node_count; n++) {
        call_wire(net, &map, n, need);
        net->calls[n].scratch[0] = buffer_at(net, &map, map.scratch_forward[n]);
        net->calls[n].scratch[1] = buffer_at(net, &map, map.scratch_backward[n]);
    }
    net->logits = buffer_at(net, &map, map.activation[g->logits]);
    net->dlogits = buffer_at(net, &map, map.gradient[g->logits]);
out_map:
    buffer_map_fini(&map);
    return status;
}

enum stn_status nn_net_memory_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    enum stn_status status = parameters_create(net);
    return status == STN_OK ? activations_create(net, need) : status;
}

void nn_net_memory_destroy(struct nn_net *net)
{
    flat_destroy(&net->parameters);
    flat_destroy(&net->gradient_sums);
    flat_destroy(&net->buffers);
    flat_destroy(&net->buffer_sums);
    base_pages_free(net->activations, net->activation_bytes);
}
