// SPDX-License-Identifier: Apache-2.0
// Weight gradient of grouped 1×1 convolutions: for each group an outer product over pixels, added
// to the plain sums straight from registers.
#include <omp.h>

#include "kernel/native/grouped.h"
#include "kernel/native/parts.h"

// Three planes of x this long stay in the first-level cache; the maps of 224² images are cut into
// whole panels.
enum { PANEL_PIXELS = 196 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// Pixels of some samples.
struct outer {
    const struct grouped *gr;
    const float *x, *dy;
    float *dw;
    int sample, samples;
    size_t pixel, pixels;
};

// Where a tile of the gradient stands: channels of one group.
struct tile {
    int row, row_end;       // outputs, in one block
    int column, column_end; // inputs, in at most SIMD_PRODUCT_BLOCKS blocks
};

// Where a tile begins within a block, the lanes before it belong to another group: what they give
// is dropped.
static void outer_beside(const struct simd_kernels *simd, struct simd_outer call, int skipped)
{
    enum { WIDTH = SIMD_PRODUCT_BLOCKS * SIMD_BLOCK_MAX };
    float beside[SIMD_OUTER_ROWS * WIDTH] = {0}, *dw = call.dw;
    size_t stride = call.dw_stride;
    call.dw = beside;
    call.dw_stride = WIDTH;
    call.columns += skipped;
    simd->outer(&call);
    for (int r = 0; r < call.rows; r++, dw += stride) {
        for (int c = skipped; c < call.columns; c++) {
            dw[c - skipped] += beside[r * WIDTH + c];
        }
    }
}

static void outer_rows(const struct outer *o, const struct tile *tile, int row, int rows)
{
    const struct native_chunks *in = &o->gr->forward.in, *out = &o->gr->forward.out;
    int width = o->gr->forward.in_group, skipped = tile->column % in->block;
    size_t pixel = o->pixel * (size_t)in->block;
    struct simd_outer call = {
        .x = o->x + native_chunk_at(in, o->sample, tile->column / in->block) + pixel,
        .dy = o->dy + native_chunk_at(out, o->sample, row / out->block) + pixel + row % out->block,
        .dw = o->dw + (size_t)row * (size_t)width + tile->column % width,
        .x_stride = in->floats,
        .x_sample = (size_t)in->blocks * in->floats,
        .dy_sample = (size_t)out->blocks * out->floats,
        .dw_stride = (size_t)width,
        .pixels = o->pixels,
        .samples = o->samples,
        .rows = rows,
        .columns = tile->column_end - tile->column,
    };
    if (skipped) {
        outer_beside(o->gr->simd, call, skipped);
    } else {
        o->gr->simd->outer(&call);
    }
}

static void outer_tile(const struct outer *o, const struct tile *tile)
{
    for (int row = tile->row; row < tile->row_end; row += SIMD_OUTER_ROWS) {
        outer_rows(o, tile, row, smaller(SIMD_OUTER_ROWS, tile->row_end - row));
    }
}

// The blocks that a group's channels lie in.
struct blocks {
    int first, count;
};

static struct blocks blocks_of(int group, int channels, int block)
{
    int first = group * channels / block, last = ((group + 1) * channels - 1) / block;
    return (struct blocks){first, last - first + 1};
}

// One group's gradient over one panel: this thread's share of the tiles, blocks of outputs first.
static void outer_group(const struct outer *o, int group)
{
    const struct grouped_side *side = &o->gr->forward;
    int block = side->in.block, in_first = group * side->in_group,
        out_first = group * side->out_group;
    struct blocks rows = blocks_of(group, side->out_group, block),
                  columns = blocks_of(group, side->in_group, block);
    int items = rows.count * part_count(columns.count, SIMD_PRODUCT_BLOCKS);
    int team = omp_get_num_threads(), me = omp_get_thread_num();
    for (int i = items * me / team; i < items * (me + 1) / team; i++) {
        int row = rows.first + i % rows.count, part = i / rows.count;
        int from = columns.first + part_begin(columns.count, SIMD_PRODUCT_BLOCKS, part),
            to = columns.first + part_begin(columns.count, SIMD_PRODUCT_BLOCKS, part + 1);
        outer_tile(o, &(struct tile){
                          .row = larger(row * block, out_first),
                          .row_end = smaller((row + 1) * block, out_first + side->out_group),
                          .column = larger(from * block, in_first),
                          .column_end = smaller(to * block, in_first + side->in_group),
                      });
    }
}

// Panels are whole samples where these are small, else parts of one.
void native_grouped_outer(const struct grouped *gr, const float *x, const float *dy, int rows,
                          float *dw)
{
    struct outer o = {.gr = gr, .x = x, .dy = dy, .dw = dw};
    size_t pixels = gr->forward.in.pixels, parts = (pixels + PANEL_PIXELS - 1) / PANEL_PIXELS;
    int most = pixels < PANEL_PIXELS ? (int)(PANEL_PIXELS / pixels) : 1;
    for (o.sample = 0; o.sample < rows; o.sample += o.samples) {
        o.samples = smaller(most, rows - o.sample);
        for (size_t part = 0; part < parts; part++) {
            o.pixel = pixels * part / parts;
            o.pixels = pixels * (part + 1) / parts - o.pixel;
            for (int group = 0; group < gr->desc.groups; group++) {
                outer_group(&o, group);
            }
        }
    }
}
