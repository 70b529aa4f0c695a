// SPDX-License-Identifier: Apache-2.0
#include "sim/epoch.h"

#include <string.h>

#include "plan/mixture.h"

static int64_t sum_of(const int64_t counts[], int sources)
{
    int64_t sum = 0;
    for (int i = 0; i < sources; i++) {
        sum += counts[i];
    }
    return sum;
}

enum stn_status sim_epoch_init(struct sim_epoch *epoch, struct base_arena *arena,
                               const struct sim_cluster *cluster, int64_t public_samples)
{
    size_t bytes = (size_t)(cluster->count + 1) * sizeof(int64_t);
    *epoch = (struct sim_epoch){
        .nodes = cluster->count,
        .counts = base_arena_alloc(arena, bytes),
        .whole = base_arena_alloc(arena, bytes),
        .taken = base_arena_alloc(arena, bytes),
    };
    if (!epoch->counts || !epoch->whole || !epoch->taken) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate %d nodes", cluster->count);
    }
    epoch->whole[0] = public_samples;
    for (int i = 0; i < cluster->count; i++) {
        epoch->whole[1 + i] = cluster->nodes[i].private_samples;
    }
    return STN_OK;
}

// What is left begins now, as a mixture of its own.
static void restart(struct sim_epoch *epoch)
{
    epoch->position = epoch->saved = 0;
    epoch->samples = sum_of(epoch->counts, 1 + epoch->nodes);
}

void sim_epoch_begin(struct sim_epoch *epoch)
{
    epoch->number++;
    epoch->steps = epoch->before = 0;
    memcpy(epoch->counts, epoch->whole, (size_t)(1 + epoch->nodes) * sizeof(*epoch->counts));
    restart(epoch);
}

int64_t sim_epoch_left(const struct sim_epoch *epoch)
{
    return epoch->samples - epoch->position;
}

int64_t sim_epoch_whole(const struct sim_epoch *epoch)
{
    return sum_of(epoch->whole, 1 + epoch->nodes);
}

struct plan_step sim_epoch_step(const struct sim_epoch *epoch, int64_t batch, int micro_batch,
                                const int split[])
{
    int64_t left = sim_epoch_left(epoch);
    return (struct plan_step){
        .begin = epoch->position,
        .end = epoch->position + (left < batch ? left : batch),
        .micro_batch = micro_batch,
        .split = split,
        .counts = epoch->counts,
        .nodes = epoch->nodes,
    };
}

void sim_epoch_advance(struct sim_epoch *epoch, const struct plan_step *step)
{
    epoch->position = step->end;
    epoch->steps++;
}

int64_t sim_epoch_rewind(struct sim_epoch *epoch)
{
    int64_t again = epoch->position - epoch->saved;
    epoch->before += epoch->saved;
    plan_mixture_at(epoch->counts, 1 + epoch->nodes, epoch->saved, epoch->taken);
    for (int i = 0; i <= epoch->nodes; i++) {
        epoch->counts[i] -= epoch->taken[i];
    }
    restart(epoch);
    return again;
}

void sim_epoch_lose(struct sim_epoch *epoch, int node, int64_t *lost)
{
    *lost += epoch->counts[1 + node];
    epoch->gone += epoch->whole[1 + node];
    epoch->counts[1 + node] = epoch->whole[1 + node] = 0;
    restart(epoch);
}
