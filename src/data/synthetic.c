// SPDX-License-Identifier: Apache-2.0
// synthetic[:COUNT]: pictures drawn from (seed, subset, index), for trials without files. A
// textured disc lies somewhere on a noisy grey ground; its colour, texture (bars, columns, rings,
// checks) and fineness make the class. None of them changes when the picture is mirrored or
// shifted, so augmentation does not contradict the labels.
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "data/store.h"

enum { COUNT_DEFAULT = 10000, CLASSES_DEFAULT = 10, CLASSES_MAX = 100000, SIZE_DEFAULT = 32 };
enum texture { TEXTURE_BARS, TEXTURE_COLUMNS, TEXTURE_RINGS, TEXTURE_CHECKS, TEXTURE_COUNT };
// Few classes differ by colours far apart; where those and the textures run out, by fineness too.
enum { HUES_FEW = 6, HUES_MANY = 12 };
enum { WAVE_STEPS = 256, WAVE_HEIGHT = 64, NOISE = 32, GROUND = 112 };

struct synthetic {
    struct data_store store;
    uint64_t seed;
    int hues, levels;        // colours and finenesses: hues · TEXTURE_COUNT · levels ≥ classes
    int8_t wave[WAVE_STEPS]; // one period, −WAVE_HEIGHT … WAVE_HEIGHT
};

// What to draw. Phases advance by 1/WAVE_STEPS of a period; positions are in pixels from the disc's
// centre.
struct drawing {
    enum texture texture;
    int tint[3]; // added to the ground inside the disc
    int centre_x, centre_y, radius;
    int step; // phase per pixel, in 1/256
    int phase;
    uint64_t noise;
};

static double hue_weight(double hue, int channel)
{
    const double turn = 6.283185307179586;
    return cos(turn * (hue - channel / 3.0));
}

static struct drawing drawing_plan(const struct synthetic *set, uint64_t key, int label)
{
    struct base_random random = base_random_from(key);
    int size = set->store.info.image_size;
    double hue = (label % set->hues) / (double)set->hues;
    int level = label / set->hues / TEXTURE_COUNT;
    double fineness = (level + 0.5) / set->levels;
    double brightness = 0.75 + 0.5 * base_random_unit(&random);
    int radius = (int)(size * (0.28 + 0.10 * base_random_unit(&random))) + 1;
    double periods = 0.75 + 2 * fineness; // across the radius
    struct drawing drawing = {
        .texture = (enum texture)(label / set->hues % TEXTURE_COUNT),
        .radius = radius,
        .step = (int)(periods * WAVE_STEPS * 256 / radius),
        .phase = (int)base_random_below(&random, WAVE_STEPS),
    };
    uint64_t room = (uint64_t)(size > 2 * radius ? size - 2 * radius : 1);
    drawing.centre_x = radius + (int)base_random_below(&random, room);
    drawing.centre_y = radius + (int)base_random_below(&random, room);
    for (int c = 0; c < 3; c++) {
        drawing.tint[c] = (int)(70 * brightness * hue_weight(hue, c));
    }
    drawing.noise = base_random_u64(&random);
    return drawing;
}

static int wave_at(const struct synthetic *set, int phase)
{
    return set->wave[phase & (WAVE_STEPS - 1)];
}

static int texture_at(const struct synthetic *set, const struct drawing *drawing, int dx, int dy)
{
    int along_x = ((dx * drawing->step) >> 8) + drawing->phase;
    int along_y = ((dy * drawing->step) >> 8) + drawing->phase;
    int outwards = (dx * dx + dy * dy) / drawing->radius; // grows faster outwards: no square root
    switch (drawing->texture) {
    case TEXTURE_BARS: return wave_at(set, along_y);
    case TEXTURE_COLUMNS: return wave_at(set, along_x);
    case TEXTURE_RINGS: return wave_at(set, (outwards * drawing->step) >> 8);
    default: return wave_at(set, along_x) * wave_at(set, along_y) / WAVE_HEIGHT;
    }
}

static uint8_t byte_clamp(int value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void draw(const struct synthetic *set, const struct drawing *drawing, uint8_t *pixels)
{
    int size = set->store.info.image_size;
    uint64_t at = 0;
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            uint64_t noise = base_random_at(drawing->noise, at++);
            int dx = x - drawing->centre_x, dy = y - drawing->centre_y;
            bool inside = dx * dx + dy * dy <= drawing->radius * drawing->radius;
            int value = GROUND + (inside ? texture_at(set, drawing, dx, dy) : 0);
            for (int c = 0; c < 3; c++, noise >>= 8) {
                int grain = (int)(noise & (2 * NOISE - 1)) - NOISE;
                *pixels++ = byte_clamp(value + grain + (inside ? drawing->tint[c] : 0));
            }
        }
    }
}

// Classes in turn: every one occurs, equally often.
static int32_t synthetic_label(const struct data_store *store, enum stn_subset subset,
                               uint64_t index)
{
    (void)subset;
    return (int32_t)(index % (uint64_t)store->info.classes);
}

static enum stn_status synthetic_read(const struct data_store *store, enum stn_subset subset,
                                      uint64_t index, const struct data_view_rule *rule,
                                      struct data_workspace *workspace, struct data_sample *out)
{
    const struct synthetic *set = (const struct synthetic *)store;
    int size = store->info.image_size;
    uint8_t *pixels =
        data_workspace_reserve(workspace, &workspace->pixels, 3 * (size_t)size * (size_t)size);
    if (!pixels) {
        return STN_ERR_NO_MEMORY;
    }
    int32_t label = synthetic_label(store, subset, index);
    struct drawing drawing =
        drawing_plan(set, base_key(base_key(set->seed, (uint64_t)subset), index), label);
    draw(set, &drawing, pixels);
    *out = (struct data_sample){
        .picture = {.image = {pixels, size, size, 3}, .view = data_view_choose(rule, size, size)},
        .label = label};
    return STN_OK;
}

static void synthetic_close(struct data_store *store)
{
    free(store);
}

static enum stn_status synthetic_open(const struct data_spec *spec,
                                      const struct stn_dataset_options *options,
                                      struct data_store **out)
{
    int classes = options->classes ? options->classes : CLASSES_DEFAULT;
    if (classes < 2 || classes > CLASSES_MAX) {
        return stn_fail(STN_ERR_INVALID, "synthetic data: %d classes; there must be 2 to %d",
                        classes, CLASSES_MAX);
    }
    struct synthetic *set = calloc(1, sizeof(*set));
    if (!set) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a data set");
    }
    int64_t count = spec->count ? spec->count : COUNT_DEFAULT;
    set->store.info = (struct stn_dataset_info){
        .channels = 3,
        .image_size = options->image_size ? options->image_size : SIZE_DEFAULT,
        .classes = classes,
        .count = {[STN_SUBSET_TRAIN] = count,
                  [STN_SUBSET_VAL] = count / 10 > classes ? count / 10 : classes},
        .mean = {0.45f, 0.45f, 0.45f},
        .std = {0.2f, 0.2f, 0.2f},
    };
    set->seed = options->seed;
    bool few = classes <= HUES_FEW * TEXTURE_COUNT;
    set->hues = !few ? HUES_MANY : classes < HUES_FEW ? classes : HUES_FEW;
    set->levels = (classes + set->hues * TEXTURE_COUNT - 1) / (set->hues * TEXTURE_COUNT);
    for (int i = 0; i < WAVE_STEPS; i++) {
        set->wave[i] = (int8_t)lround(WAVE_HEIGHT * sin(6.283185307179586 * i / WAVE_STEPS));
    }
    *out = &set->store;
    return STN_OK;
}

const struct data_store_kind data_synthetic = {
    .name = "synthetic",
    .argument = DATA_SPEC_COUNT,
    .fit = DATA_FIT_WHOLE,
    .open = synthetic_open,
    .close = synthetic_close,
    .label = synthetic_label,
    .read = synthetic_read,
};
