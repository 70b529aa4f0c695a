// SPDX-License-Identifier: Apache-2.0
// Batch norm → convolution → batch norm, in strips: a convolution that gathers for its neighbours
// gives to the bit what separate gathering calls give, on one thread and on two. cmocka.h needs
// these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernel/kernel.h"

enum { SAMPLES = 4, ROWS = 3, STRIP = 2, STRIPS = SAMPLES / STRIP, CHANNELS_MAX = 256 };
enum { BEFORE, CONV, BEHIND, NODES };

// A node of the chain and all that its calls need.
struct node {
    struct kernel_op *op;
    const struct kernel_op_traits *traits;
    struct kernel_tensor x; // all samples
    float *params[2], *grads[2], *sums[2];
    void *saved[STRIPS], *scratch;
};

struct chain {
    struct node nodes[NODES];
    float *maps[NODES + 1], *gradients[NODES + 1]; // before and behind each node, all samples
    size_t rows[NODES + 1];                        // floats of one sample
};

static float *numbers(size_t count, uint64_t seed)
{
    float *at = malloc(count * sizeof *at);
    assert_non_null(at);
    struct base_random random = base_random_from(seed);
    for (size_t i = 0; i < count; i++)
        at[i] = seed ? (float)base_random_normal(&random) : 0.0f;
    return at;
}

// A random map whose padding lanes, and samples beyond `rows`, are zero.
static float *random_map(struct kernel_tensor t, int rows, uint64_t seed)
{
    const size_t floats = kernel_tensor_floats(t), row = kernel_tensor_row_floats(t);
    const size_t block = (size_t)kernel_layout_block(t.layout),
                 pixels = (size_t)t.shape.h * (size_t)t.shape.w;
    float *map = numbers(floats, seed);
    for (size_t i = 0; i < floats; i++) {
        const size_t channel = i % row / (pixels * block) * block + i % block;
        if (channel >= (size_t)t.shape.c || i / row >= (size_t)rows)
            map[i] = 0;
    }
    return map;
}

static void node_wire(struct node *node, struct kernel_op *op, struct kernel_tensor x,
                      size_t weights)
{
    *node = (struct node){.op = op, .traits = kernel_op_traits(op), .x = x};
    const struct kernel_op_traits *traits = node->traits;
    void *shared = NULL;
    for (int i = 0; i < 2; i++) {
        node->params[i] = numbers(weights, 7 + (uint64_t)i);
        node->grads[i] = numbers(weights, 0);
        node->sums[i] = numbers(weights, 0);
    }
    for (int s = 0; s < STRIPS; s++) {
        if (!shared || !traits->gathers)
            shared = aligned_alloc(64, (traits->saved_bytes + 127) / 64 * 64);
        node->saved[s] = shared;
    }
    node->scratch = aligned_alloc(64, (traits->scratch_bytes + 127) / 64 * 64);
    assert_true(shared && node->scratch);
}

static void chain_create(struct kernel *kernel, struct kernel_conv conv, struct chain *chain)
{
    struct kernel_tensor x = conv.x;
    x.shape.n = SAMPLES;
    conv.x.shape.n = STRIP;
    struct kernel_op *op;
    const struct kernel_batchnorm before = {
        .x = x, .epsilon = 1e-5f, .activation = KERNEL_RELU6, .dx = {KERNEL_DX_WRITE}};
    assert_int_equal(kernel_batchnorm_create(kernel, &before, &op), STN_OK);
    node_wire(&chain->nodes[BEFORE], op, x, CHANNELS_MAX);
    assert_int_equal(kernel_conv_create(kernel, &conv, &op), STN_OK);
    node_wire(&chain->nodes[CONV], op, x, CHANNELS_MAX * CHANNELS_MAX);
    struct kernel_tensor y = kernel_op_traits(op)->y;
    y.shape.n = SAMPLES;
    const struct kernel_batchnorm behind = {
        .x = y, .epsilon = 1e-5f, .activation = KERNEL_RELU, .dx = {KERNEL_DX_WRITE}};
    assert_int_equal(kernel_batchnorm_create(kernel, &behind, &op), STN_OK);
    node_wire(&chain->nodes[BEHIND], op, y, CHANNELS_MAX);
    const struct kernel_tensor tensors[NODES + 1] = {x, x, y, y};
    for (int i = 0; i <= NODES; i++) {
        chain->rows[i] = kernel_tensor_row_floats(tensors[i]);
        chain->maps[i] = random_map(tensors[i], SAMPLES, 11 + (uint64_t)i);
        chain->gradients[i] = random_map(tensors[i], ROWS, 21 + (uint64_t)i);
    }
    for (int n = 0; n < NODES; n++)
        kernel_op_prepare(chain->nodes[n].op, 0, (const float *const *)chain->nodes[n].params);
}

static void chain_destroy(struct chain *chain)
{
    for (int n = 0; n < NODES; n++) {
        struct node *node = &chain->nodes[n];
        for (int i = 0; i < 2; i++) {
            free(node->params[i]);
            free(node->grads[i]);
            free(node->sums[i]);
        }
        for (int s = 0; s < (node->traits->gathers ? 1 : STRIPS); s++)
            free(node->saved[s]);
        free(node->scratch);
        kernel_op_destroy(node->op);
    }
    for (int i = 0; i <= NODES; i++) {
        free(chain->maps[i]);
        free(chain->gradients[i]);
    }
}

// ---- running -----------------------------------------------------------------------------------

struct call {
    struct kernel_io io;
    const float *x[1], *params[2];
    float *dx[1];
};

static const struct kernel_io *call_at(const struct chain *chain, int n, int strip,
                                       struct call *call)
{
    const struct node *node = &chain->nodes[n];
    const size_t first = (size_t)strip * STRIP;
    const int left = ROWS - (int)first;
    call->x[0] = chain->maps[n] + first * chain->rows[n];
    call->dx[0] = chain->gradients[n] + first * chain->rows[n];
    for (int i = 0; i < 2; i++)
        call->params[i] = node->params[i];
    call->io = (struct kernel_io){
        .phase = KERNEL_TRAIN,
        .samples = STRIP,
        .rows = left < STRIP ? left : STRIP,
        .strip = strip,
        .x = call->x,
        .y = chain->maps[n + 1] + first * chain->rows[n + 1],
        .dy = chain->gradients[n + 1] + first * chain->rows[n + 1],
        .dx = call->dx,
        .params = call->params,
        .param_grads = node->grads,
        .buffer_sums = node->sums,
        .saved = node->saved[strip],
        .scratch = node->scratch,
    };
    return &call->io;
}

static void conv_strip(const struct chain *chain, int strip, bool backward, bool joined)
{
    struct call call, other;
    struct kernel_op *conv = chain->nodes[CONV].op,
                     *norm = chain->nodes[backward ? BEFORE : BEHIND].op;
    const struct kernel_io *io = call_at(chain, CONV, strip, &call),
                           *norm_io = call_at(chain, backward ? BEFORE : BEHIND, strip, &other);
    enum stn_status status;
    if (joined)
        status = backward ? kernel_op_backward_gathered(conv, io, norm, norm_io)
                          : kernel_op_forward_gathered(conv, io, norm, norm_io);
    else
        status = backward ? kernel_op_backward(conv, io) : kernel_op_forward(conv, io);
    assert_int_equal(status, STN_OK);
    if (!joined && backward)
        kernel_op_backward_gather(norm, norm_io);
    else if (!joined)
        kernel_op_forward_gather(norm, norm_io);
}

static void norm_strip(const struct chain *chain, int n, int strip, bool backward)
{
    struct call call;
    const struct kernel_io *io = call_at(chain, n, strip, &call);
    assert_int_equal(backward ? kernel_op_backward(chain->nodes[n].op, io)
                              : kernel_op_forward(chain->nodes[n].op, io),
                     STN_OK);
}

static void norm_settle(const struct chain *chain, int n, bool backward)
{
    struct call call;
    struct kernel_io io = *call_at(chain, n, 0, &call);
    io.samples = SAMPLES;
    io.rows = ROWS;
    if (backward)
        kernel_op_backward_settle(chain->nodes[n].op, &io);
    else
        kernel_op_forward_settle(chain->nodes[n].op, &io);
}

static void chain_run(const struct chain *chain, bool joined)
{
    struct call call;
    for (int s = 0; s < STRIPS; s++)
        kernel_op_forward_gather(chain->nodes[BEFORE].op, call_at(chain, BEFORE, s, &call));
    norm_settle(chain, BEFORE, false);
    for (int s = 0; s < STRIPS; s++) {
        norm_strip(chain, BEFORE, s, false);
        conv_strip(chain, s, false, joined);
    }
    norm_settle(chain, BEHIND, false);
    for (int s = 0; s < STRIPS; s++) {
        norm_strip(chain, BEHIND, s, false);
        kernel_op_backward_gather(chain->nodes[BEHIND].op, call_at(chain, BEHIND, s, &call));
    }
    norm_settle(chain, BEHIND, true);
    for (int s = 0; s < STRIPS; s++) {
        norm_strip(chain, BEHIND, s, true);
        conv_strip(chain, s, true, joined);
    }
    norm_settle(chain, BEFORE, true);
    for (int s = 0; s < STRIPS; s++)
        norm_strip(chain, BEFORE, s, true);
}

// ---- comparing ---------------------------------------------------------------------------------

static void same(const struct chain *a, const struct chain *b)
{
    for (int i = 0; i <= NODES; i++) {
        const size_t bytes = SAMPLES * a->rows[i] * sizeof(float);
        assert_memory_equal(a->maps[i], b->maps[i], bytes);
        assert_memory_equal(a->gradients[i], b->gradients[i], bytes);
    }
    for (int n = 0; n < NODES; n++) {
        const size_t count = n == CONV ? CHANNELS_MAX * CHANNELS_MAX : CHANNELS_MAX;
        for (int i = 0; i < 2; i++) {
            assert_memory_equal(a->nodes[n].grads[i], b->nodes[n].grads[i], count * sizeof(float));
            assert_memory_equal(a->nodes[n].sums[i], b->nodes[n].sums[i], count * sizeof(float));
        }
    }
}

static void check(const char *backend, struct kernel_conv conv)
{
    struct kernel *kernels[2];
    struct chain chains[2][2]; // threads, joined
    struct kernel_op *probe;
    for (int t = 0; t < 2; t++) {
        assert_int_equal(kernel_create(backend, t + 1, &kernels[t]), STN_OK);
        conv.x.layout = KERNEL_NCHW;
        assert_int_equal(kernel_conv_create(kernels[t], &conv, &probe), STN_OK);
        conv.x.layout = kernel_op_traits(probe)->y.layout; // the backend's own
        kernel_op_destroy(probe);
        for (int joined = 0; joined < 2; joined++) {
            chain_create(kernels[t], conv, &chains[t][joined]);
            chain_run(&chains[t][joined], joined);
        }
    }
    assert_true(chains[0][0].nodes[BEHIND].sums[1][0] > 0);
    same(&chains[0][0], &chains[0][1]);
    same(&chains[1][0], &chains[1][1]);
    same(&chains[0][0], &chains[1][1]);
    for (int t = 0; t < 2; t++) {
        chain_destroy(&chains[t][0]);
        chain_destroy(&chains[t][1]);
        kernel_destroy(kernels[t]);
    }
}

static struct kernel_conv conv_of(int channels, int size, int out, int groups, int kernel,
                                  int stride)
{
    const int pad = kernel / 2;
    return (struct kernel_conv){
        .x = {{STRIP, channels, size, size}, KERNEL_NCHW},
        .out_channels = out,
        .groups = groups,
        .window = {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}},
        .dx = KERNEL_DX_WRITE,
    };
}

static void check_all(const char *backend)
{
    check(backend, conv_of(20, 14, 44, 1, 1, 1));
    check(backend, conv_of(200, 7, 12, 1, 1, 1)); // channels in two parts
    check(backend, conv_of(16, 15, 24, 1, 1, 2));
    check(backend, conv_of(96, 14, 144, 3, 1, 1));
    check(backend, conv_of(200, 14, 40, 2, 1, 1)); // a block of two groups; in two parts
    check(backend, conv_of(60, 7, 60, 3, 1, 1));
    check(backend, conv_of(20, 13, 20, 20, 3, 1));
    check(backend, conv_of(24, 14, 24, 24, 3, 2));
}

static void best(void **state)
{
    (void)state;
    check_all(kernel_backend_names()[0]);
}

static void native(void **state)
{
    (void)state;
    check_all("native");
}

static void reference(void **state)
{
    (void)state;
    check_all("reference");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(best), cmocka_unit_test(native),
                                       cmocka_unit_test(reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
