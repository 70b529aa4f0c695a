// SPDX-License-Identifier: Apache-2.0
// The timing model: a die works on one command, a channel carries one transfer at a time.
#include <stdlib.h>

#include "base/clock.h"
#include "csd/flash/state.h"

static int64_t now_ns(const struct flash *f)
{
    return f->options.clock_ns ? f->options.clock_ns(f->options.clock_context) : base_clock_ns();
}

enum stn_status timing_init(struct flash *f)
{
    struct timing *t = &f->timing;
    const struct media_geometry *g = &f->profile.geometry;
    t->mode = f->options.timing;
    if (t->mode == FLASH_TIMING_OFF) {
        return STN_OK;
    }
    t->die_until = calloc((size_t)g->channels * (size_t)g->dies, sizeof(int64_t));
    t->channel_until = calloc((size_t)g->channels, sizeof(int64_t));
    t->buffer_until = calloc((size_t)f->profile.timing.buffer_pages + 1, sizeof(int64_t));
    if (!t->die_until || !t->channel_until || !t->buffer_until) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for the timing model");
    }
    return STN_OK;
}

void timing_fini(struct flash *f)
{
    free(f->timing.die_until);
    free(f->timing.channel_until);
    free(f->timing.buffer_until);
}

void timing_begin(struct flash *f)
{
    if (f->timing.mode != FLASH_TIMING_OFF) {
        f->timing.now = f->timing.ready = now_ns(f);
    }
}

// Uses a resource for a time, not before `from`; returns when that ends.
static int64_t occupy(int64_t *until, int64_t from, int64_t time)
{
    int64_t start = *until > from ? *until : from;
    *until = start + time;
    return *until;
}

static int64_t *die_of(struct flash *f, uint32_t block)
{
    uint32_t channels = (uint32_t)f->profile.geometry.channels;
    uint32_t dies = (uint32_t)f->profile.geometry.dies;
    return &f->timing.die_until[block % channels * dies + block / channels % dies];
}

static int64_t *channel_of(struct flash *f, uint32_t block)
{
    return &f->timing.channel_until[block % (uint32_t)f->profile.geometry.channels];
}

static int64_t transfer_ns(const struct flash *f, size_t bytes)
{
    double rate = f->profile.timing.channel_bytes_per_s;
    return rate > 0.0 ? (int64_t)((double)bytes / rate * 1e9) : 0;
}

static void wait_until(struct flash *f, int64_t when)
{
    f->timing.ready = when > f->timing.ready ? when : f->timing.ready;
}

void timing_read(struct flash *f, uint32_t block, size_t bytes)
{
    if (f->timing.mode == FLASH_TIMING_OFF) {
        return;
    }
    int64_t read_ns = f->profile.timing.read_ns, move_ns = transfer_ns(f, bytes);
    f->stats.modelled_read_ns += (uint64_t)(read_ns + move_ns);
    int64_t sensed = occupy(die_of(f, block), f->timing.now, read_ns);
    wait_until(f, occupy(channel_of(f, block), sensed, move_ns));
}

// What the caller waits for is room in the buffer: the program that began buffer_pages before this
// one must be over.
void timing_program(struct flash *f, uint32_t block, bool waited_for)
{
    struct timing *t = &f->timing;
    if (t->mode == FLASH_TIMING_OFF) {
        return;
    }
    int64_t program_ns = f->profile.timing.program_ns;
    int64_t move_ns = transfer_ns(f, (size_t)f->profile.geometry.page_bytes);
    f->stats.modelled_program_ns += (uint64_t)(program_ns + move_ns);
    int64_t moved = occupy(channel_of(f, block), t->now, move_ns);
    int64_t done = occupy(die_of(f, block), moved, program_ns);
    if (waited_for) {
        t->buffer_until[t->buffer_next] = done;
        t->buffer_next = (t->buffer_next + 1) % (f->profile.timing.buffer_pages + 1);
        wait_until(f, t->buffer_until[t->buffer_next]);
    }
}

void timing_erase(struct flash *f, uint32_t block)
{
    if (f->timing.mode != FLASH_TIMING_OFF) {
        f->stats.modelled_erase_ns += (uint64_t)f->profile.timing.erase_ns;
        occupy(die_of(f, block), f->timing.now, f->profile.timing.erase_ns);
    }
}

void timing_flush(struct flash *f)
{
    const struct media_geometry *g = &f->profile.geometry;
    for (int i = 0; f->timing.mode != FLASH_TIMING_OFF && i < g->channels * g->dies; i++) {
        wait_until(f, f->timing.die_until[i]);
    }
}

int64_t flash_ready_ns(const struct flash *f)
{
    return f->timing.mode == FLASH_TIMING_ENFORCED ? f->timing.ready : 0;
}
