// SPDX-License-Identifier: Apache-2.0
// A net's flat arrays: parameters, running statistics, and the sums of both.
#include <stdlib.h>
#include <string.h>

#include "nn/net_state.h"

enum { TENSOR_ALIGNMENT = 16 }; // floats: tensors begin on cache lines

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

// Parameters before buffers, each kind in graph order; an op's indices follow.
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
    for (int n = 0; n < g->op_count; n++) {
        for (int i = 0; i < g->ops[n].params; i++) {
            g->ops[n].param[i] = place[g->ops[n].param[i]];
        }
        for (int i = 0; i < g->ops[n].buffers; i++) {
            g->ops[n].buffer[i] = place[g->ops[n].buffer[i]];
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

enum stn_status nn_parameters_create(struct nn_net *net)
{
    size_t parameters = 0, buffers = 0;
    enum stn_status status = tensors_sort(net, &parameters, &buffers);
    if (!net->config.inference) {
        net->part_sums.count = (size_t)(net->abreast * net->lanes - 1) * parameters;
        net->slot_statistics.count = (size_t)(net->abreast - 1) * buffers;
    }
    if (status != STN_OK || net->config.plan_only) {
        net->parameters[0].count = parameters;
        net->buffers[0].count = buffers;
        return status;
    }
    for (int copy = 0; copy < (net->config.inference ? 1 : NN_COPIES) && status == STN_OK; copy++) {
        if ((status = flat_create(&net->parameters[copy], parameters)) == STN_OK) {
            status = flat_create(&net->buffers[copy], buffers);
        }
    }
    if (status != STN_OK || net->config.inference) {
        return status;
    }
    if ((status = flat_create(&net->gradient_sums, parameters)) == STN_OK &&
        (status = flat_create(&net->buffer_sums, buffers)) == STN_OK &&
        (status = flat_create(&net->part_sums, net->part_sums.count)) == STN_OK) {
        status = flat_create(&net->slot_statistics, net->slot_statistics.count);
    }
    return status;
}

void nn_parameters_destroy(struct nn_net *net)
{
    for (int copy = 0; copy < NN_COPIES; copy++) {
        flat_destroy(&net->parameters[copy]);
        flat_destroy(&net->buffers[copy]);
    }
    flat_destroy(&net->gradient_sums);
    flat_destroy(&net->part_sums);
    flat_destroy(&net->slot_statistics);
    flat_destroy(&net->buffer_sums);
}
