// SPDX-License-Identifier: Apache-2.0
// Running a net: blocks in order, strips through their ops, by lanes side by side or by the whole
// team; or several micro-batches abreast, each by one lane. Everything was planned; nothing is
// allocated here.
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "nn/net_state.h"
#include "nn/profile.h"

// One micro-batch on its way through some blocks.
struct run {
    struct nn_net *net;
    enum kernel_phase phase;
    const float *images;
    const uint64_t *row_keys;
    int rows;         // real samples in the micro-batch
    int slot;         // where it lies, and whose it is when it runs abreast
    int first, end;   // blocks
    atomic_int next;  // strip of the block at hand that no lane has taken yet, forward
    int told;         // moments before this one are told to whoever watches gradients
    atomic_int wrong; // enum stn_status: what went wrong first, in any lane
};

// A strip in the hands of a lane.
struct strip {
    int lane, number, samples;
    int share; // whose it is when lanes share the micro-batch: its gradients are summed up there
    bool ends; // the last one of its lane in this block
};

// The arguments of one call.
struct arguments {
    struct kernel_io io;
    const float *x[KERNEL_INPUTS_MAX];
    float *dx[KERNEL_INPUTS_MAX];
    float *param_grads[KERNEL_PARAMS_MAX];
    float *buffer_sums[KERNEL_BUFFERS_MAX];
};

// ---- calls --------------------------------------------------------------------------------------

static void *room_at(struct nn_rows rows, int slot, int lane)
{
    return rows.base + (size_t)slot * rows.slot_bytes + (size_t)lane * rows.lane_bytes;
}

static float *row_at(struct nn_rows rows, int slot, const struct strip *strip)
{
    size_t sample = (size_t)strip->number * (size_t)strip->samples;
    return (float *)(void *)((char *)room_at(rows, slot, strip->lane) + sample * rows.row_bytes);
}

// Where an op's sums lie among those of a part and a slot.
static void sums_at(const struct nn_net *net, int n, int part, int slot, struct arguments *out)
{
    const struct nn_op *op = &net->graph.ops[n];
    for (int i = 0; i < op->params && net->gradient_sums.data; i++) {
        out->param_grads[i] = nn_part_sums(net, part) + net->graph.tensors[op->param[i]].offset;
    }
    for (int i = 0; i < op->buffers && net->buffer_sums.data; i++) {
        out->buffer_sums[i] = nn_slot_statistics(net, slot) + net->calls[n].statistics_at[i];
    }
}

static enum nn_direction direction_of(enum nn_act act)
{
    return act < NN_ACT_LOSS && act != NN_ACT_AGAIN ? NN_FORWARD : NN_BACKWARD;
}

// Points the arguments at one strip.
static const struct kernel_io *call_begin(const struct run *run, const struct nn_moment *moment,
                                          const struct strip *strip, struct arguments *a)
{
    const struct nn_net *net = run->net;
    const struct nn_call *call = &net->calls[moment->op];
    const struct nn_op *op = &net->graph.ops[moment->op];
    enum nn_direction direction = direction_of(moment->act);
    int first = strip->number * strip->samples, left = run->rows - first, slot = run->slot;
    int part = slot * net->lanes + strip->share;
    for (int i = 0; i < op->inputs; i++) {
        a->x[i] = op->x[i] == net->image ? run->images + (size_t)first * net->image_floats
                                         : row_at(call->x[direction][i], slot, strip);
        a->dx[i] = call->dx[i].base ? row_at(call->dx[i], slot, strip) : NULL;
    }
    sums_at(net, moment->op, part, slot, a);
    a->io = (struct kernel_io){
        .phase = run->phase,
        .samples = strip->samples,
        .rows = left < 0                ? 0
                : left < strip->samples ? left
                                        : strip->samples,
        .strip = strip->number,
        .lane = strip->lane,
        .sums = part,
        .row_keys = run->row_keys ? run->row_keys + first : NULL,
        .x = a->x,
        .y = row_at(call->y[direction], slot, strip),
        .dy = call->dy.base ? row_at(call->dy, slot, strip) : NULL,
        .dx = a->dx,
        .params = call->params[net->current],
        .param_grads = a->param_grads,
        .buffers = call->buffers[net->current],
        .buffer_sums = a->buffer_sums,
        .saved = (char *)room_at(call->saved, slot, strip->lane) +
                 (size_t)strip->number * call->saved_strip_bytes,
        .scratch = room_at(call->scratch[moment->act], slot, strip->lane),
    };
    return &a->io;
}

// Whether the moment does the next one's work too.
static bool is_joined(const struct nn_moment *moment, const struct run *run)
{
    return moment->joined && run->phase == KERNEL_TRAIN;
}

static enum stn_status moment_call(const struct run *run, const struct nn_moment *moment,
                                   const struct strip *strip)
{
    struct arguments own, norms;
    struct kernel_op *op = run->net->calls[moment->op].op;
    const struct kernel_io *io = call_begin(run, moment, strip, &own);
    if (is_joined(moment, run)) {
        struct kernel_op *norm = run->net->calls[moment[1].op].op;
        const struct kernel_io *norm_io = call_begin(run, moment + 1, strip, &norms);
        return moment->act == NN_ACT_FORWARD ? kernel_op_forward_gathered(op, io, norm, norm_io)
                                             : kernel_op_backward_gathered(op, io, norm, norm_io);
    }
    switch (moment->act) {
    case NN_ACT_FORWARD:
    case NN_ACT_AGAIN: return kernel_op_forward(op, io);
    case NN_ACT_BACKWARD: return kernel_op_backward(op, io);
    case NN_ACT_BACKWARD_GATHER: kernel_op_backward_gather(op, io); break;
    case NN_ACT_FORWARD_GATHER:
        if (run->phase == KERNEL_TRAIN) {
            kernel_op_forward_gather(op, io);
        }
        break;
    case NN_ACT_LOSS:
    case NN_ACTS: break;
    }
    return STN_OK;
}

static enum stn_status moment_run(const struct run *run, const struct nn_moment *moment,
                                  const struct strip *strip)
{
    if (moment->act == NN_ACT_LOSS) {
        return STN_OK; // between the halves, by whoever runs them
    }
    if (!run->net->profile || run->phase != KERNEL_TRAIN) {
        return moment_call(run, moment, strip);
    }
    int64_t begin = base_clock_ns();
    enum stn_status status = moment_call(run, moment, strip);
    nn_profile_add(run->net->profile, moment, strip->lane, strip->number, begin, base_clock_ns());
    return status;
}

// ---- gradients that are final -------------------------------------------------------------------

// Parameters lie in the order of their ops, and the last strip goes backwards through them: what
// lies from op n's first parameter on is done once op n is. The ops of the graph's beginning
// may have none.
static void tell_final(struct run *run, int until)
{
    struct nn_net *net = run->net;
    for (; run->told < until && atomic_load(&run->wrong) == STN_OK; run->told++) {
        const struct nn_moment *moment = &net->program.moments[run->told];
        const struct nn_call *call = moment->op >= 0 ? &net->calls[moment->op] : NULL;
        const float *first = call ? call->param_grads[0] : NULL;
        if (moment->act == NN_ACT_BACKWARD && first) {
            nn_op_collect(net, moment->op, 0, 0);
            net->watch.final(net->watch.context, (size_t)(first - net->gradient_sums.data));
        }
    }
}

// The last strip of a lane has come to moment `until` of a block. Lane 0, the caller's thread,
// tells of what all have passed.
static void pass(struct run *run, const struct nn_block *block, int lane, int until)
{
    struct nn_net *net = run->net;
    if (!net->watch.final) {
        return;
    }
    atomic_store(&net->watch.passed[lane], until);
    for (int other = 1; other < (block->together ? 1 : net->lanes); other++) {
        int passed = atomic_load(&net->watch.passed[other]);
        until = passed < until ? passed : until;
    }
    if (lane == 0) {
        tell_final(run, until);
    }
}

// ---- blocks -------------------------------------------------------------------------------------

// A strip through the moments of a block. Strips without a real sample go too: a block with longer
// strips may read what they leave, and zero times whatever lay there before might not be zero.
static enum stn_status strip_run(struct run *run, const struct nn_block *block,
                                 const struct strip *strip)
{
    for (int m = block->first; m < block->end; m++) {
        const struct nn_moment *moment = &run->net->program.moments[m];
        enum stn_status status = moment_run(run, moment, strip);
        if (status != STN_OK) {
            return status;
        }
        m += is_joined(moment, run);
        if (strip->ends) {
            pass(run, block, strip->lane, m + 1);
        }
    }
    return STN_OK;
}

// Whether any lane may take any strip. Backward each has strips of its own, for gradients are
// summed up in the order in which a lane takes them, and are to be the same bits in every run.
// Forward nothing depends on who does what.
static bool is_free(const struct nn_net *net, const struct nn_block *block)
{
    return !block->together && block < net->program.blocks + net->program.backward_block;
}

// The next strip for a lane that has done `done` of this block, −1: none. Of what is shared out
// beforehand the last lanes may get less, or nothing.
static int strip_next(struct run *run, const struct nn_block *block, int lane, int done)
{
    const struct nn_net *net = run->net;
    int strips = net->config.micro_batch / block->strip;
    int each = block->together ? strips : nn_lane_share(strips, net->lanes);
    bool free = is_free(net, block);
    int next = free ? atomic_fetch_add(&run->next, 1) : lane * each + done;
    return next < strips && (free || done < each) ? next : -1;
}

// A lane's part of a block.
static void block_run(struct run *run, const struct nn_block *block, int lane)
{
    enum stn_status status = STN_OK;
    for (int number, done = 0; (number = strip_next(run, block, lane, done)) >= 0; done++) {
        struct strip strip = {
            .lane = lane, .number = number, .samples = block->strip, .share = lane};
        strip.ends = !is_free(run->net, block) && strip_next(run, block, lane, done + 1) < 0;
        int none = STN_OK;
        if (status == STN_OK && (status = strip_run(run, block, &strip)) != STN_OK) {
            atomic_compare_exchange_strong(&run->wrong, &none, (int)status);
        }
    }
    pass(run, block, lane, block->end); // where nothing fell to this lane too
}

// The last moment of a block may have gathered; what all lanes did is settled by one. `lane`: whose
// scratch may be used for it.
static void block_settle(struct run *run, const struct nn_block *block, int lane)
{
    const struct nn_net *net = run->net;
    const struct nn_moment *moment = &net->program.moments[block->end - 1];
    if (block->first == block->end ||
        (moment->act != NN_ACT_FORWARD_GATHER && moment->act != NN_ACT_BACKWARD_GATHER)) {
        return;
    }
    struct strip all = {.lane = lane, .samples = net->config.micro_batch};
    struct arguments a;
    const struct kernel_io *io = call_begin(run, moment, &all, &a);
    if (moment->act == NN_ACT_FORWARD_GATHER) {
        kernel_op_forward_settle(net->calls[moment->op].op, io);
    } else {
        kernel_op_backward_settle(net->calls[moment->op].op, io);
    }
}

struct stage {
    struct run *run;
    const struct nn_block *block;
};

static void stage_settle(void *context)
{
    const struct stage *stage = context;
    block_settle(stage->run, stage->block, 0);
    atomic_store(&stage->run->next, 0);
}

// A lane's way through consecutive blocks that lanes run.
static void lane_run(void *context, int lane)
{
    struct run *run = context;
    struct nn_net *net = run->net;
    for (int b = run->first; b < run->end; b++) {
        struct stage stage = {run, &net->program.blocks[b]};
        block_run(run, stage.block, lane);
        kernel_lanes_meet(net->lane_kernel, stage_settle, &stage);
        if (lane == 0 && net->watch.final) {
            tell_final(run, stage.block->end);
        }
    }
}

static enum stn_status blocks_run(struct run *run, int first, int end)
{
    struct nn_net *net = run->net;
    const struct nn_block *blocks = net->program.blocks;
    run->told = blocks[first].first;
    for (int lane = 0; lane < net->lanes; lane++) {
        atomic_store(&net->watch.passed[lane], run->told);
    }
    for (int b = first; b < end; b = run->end) {
        run->first = b;
        run->end = b + 1;
        if (blocks[b].together) {
            block_run(run, &blocks[b], 0);
            block_settle(run, &blocks[b], 0);
            continue;
        }
        while (run->end < end && !blocks[run->end].together) {
            run->end++;
        }
        kernel_lanes_run(net->lane_kernel, lane_run, run);
    }
    return (enum stn_status)atomic_load(&run->wrong);
}

static enum stn_status forward(struct run *run)
{
    return blocks_run(run, 0, run->net->program.backward_block);
}

static enum stn_status backward(struct run *run)
{
    return blocks_run(run, run->net->program.backward_block, run->net->program.block_count);
}

static void loss(const struct run *run, const int32_t *labels, struct kernel_loss_totals *totals)
{
    const struct nn_net_config *config = &run->net->config;
    const bool learns = run->phase == KERNEL_TRAIN;
    kernel_loss_softmax(room_at(run->net->logits, run->slot, 0), labels, config->micro_batch,
                        run->rows, config->shape.classes, learns ? config->label_smoothing : 0,
                        learns ? room_at(run->net->dlogits, run->slot, 0) : NULL, totals);
}

// ---- abreast ------------------------------------------------------------------------------------

// Blocks by one lane alone. Strips go in their order, as they do where lanes share them out; of
// what they sum up every share is kept apart.
static enum stn_status blocks_run_alone(struct run *run, int first, int end)
{
    const struct nn_net *net = run->net;
    for (int b = first; b < end; b++) {
        const struct nn_block *block = &net->program.blocks[b];
        int strips = net->config.micro_batch / block->strip;
        int each = nn_lane_share(strips, net->lanes);
        for (int number = 0; number < strips; number++) {
            struct strip strip = {.lane = run->slot,
                                  .number = number,
                                  .samples = block->strip,
                                  .share = number / each};
            enum stn_status status = strip_run(run, block, &strip);
            if (status != STN_OK) {
                return status;
            }
        }
        block_settle(run, block, run->slot);
    }
    return STN_OK;
}

struct abreast {
    struct run runs[NN_ABREAST_MAX];
    const struct nn_micro_batch *batches;
    struct kernel_loss_totals totals[NN_ABREAST_MAX];
    enum stn_status status[NN_ABREAST_MAX];
};

static void lane_run_abreast(void *context, int lane)
{
    struct abreast *all = context;
    struct run *run = &all->runs[lane];
    const struct nn_program *program = &run->net->program;
    enum stn_status *status = &all->status[lane];
    *status = blocks_run_alone(run, 0, program->backward_block);
    if (*status == STN_OK) {
        loss(run, all->batches[lane].labels, &all->totals[lane]);
        *status = blocks_run_alone(run, program->backward_block, program->block_count);
    }
}

int nn_net_abreast(const struct nn_net *net)
{
    return net->abreast;
}

enum stn_status nn_net_train_abreast(struct nn_net *net, const struct nn_micro_batch batches[],
                                     struct kernel_loss_totals *totals)
{
    struct abreast all = {.batches = batches};
    assert(net->abreast > 1 && !net->watch.final);
    for (int i = 0; i < net->abreast; i++) {
        all.runs[i] = (struct run){.net = net,
                                   .phase = KERNEL_TRAIN,
                                   .images = batches[i].images,
                                   .row_keys = batches[i].row_keys,
                                   .rows = batches[i].rows,
                                   .slot = i};
    }
    net->slots = net->abreast;
    kernel_lanes_run(net->lane_kernel, lane_run_abreast, &all);
    enum stn_status status = STN_OK;
    for (int i = 0; i < net->abreast; i++) {
        status = status != STN_OK ? status : all.status[i];
        totals->loss_sum += all.totals[i].loss_sum;
        totals->correct += all.totals[i].correct;
        totals->count += all.totals[i].count;
    }
    if (net->profile) {
        net->profile->micro_batches += net->abreast;
    }
    return status;
}

// ---- a micro-batch by all lanes -----------------------------------------------------------------

enum stn_status nn_net_train(struct nn_net *net, const float *images, const int32_t *labels,
                             const uint64_t *row_keys, int rows, struct kernel_loss_totals *totals)
{
    struct run run = {
        .net = net, .phase = KERNEL_TRAIN, .images = images, .row_keys = row_keys, .rows = rows};
    net->slots = net->slots > 1 ? net->slots : 1;
    enum stn_status status = forward(&run);
    if (status != STN_OK) {
        return status;
    }
    loss(&run, labels, totals);
    if (net->profile) {
        net->profile->micro_batches++;
    }
    status = backward(&run);
    if (status == STN_OK && net->watch.final) {
        net->watch.final(net->watch.context, 0);
    }
    return status;
}

void nn_net_watch_gradients(struct nn_net *net, nn_gradients_final *final, void *context)
{
    net->watch.final = final;
    net->watch.context = context;
}

enum stn_status nn_net_eval(struct nn_net *net, const float *images, const int32_t *labels,
                            int rows, struct kernel_loss_totals *totals)
{
    struct run run = {.net = net, .phase = KERNEL_EVAL, .images = images, .rows = rows};
    enum stn_status status = forward(&run);
    if (status == STN_OK) {
        loss(&run, labels, totals);
    }
    return status;
}

enum stn_status nn_net_logits(struct nn_net *net, const float *images, int rows,
                              const float **logits)
{
    struct run run = {.net = net, .phase = KERNEL_EVAL, .images = images, .rows = rows};
    *logits = room_at(net->logits, 0, 0);
    return forward(&run);
}
