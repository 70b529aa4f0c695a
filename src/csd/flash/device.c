// SPDX-License-Identifier: Apache-2.0
// Making a device on a medium, powering it on and off.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "csd/ecc/crc32c.h"
#include "csd/flash/state.h"

// The label: magic, the profile's whole numbers, its reals as bit patterns, a CRC32C.
enum {
    LABEL_VERSION = 1,
    WHOLES = 16,
    REALS = 4,
    AT_WHOLES = 8,
    AT_REALS = AT_WHOLES + 8 * WHOLES,
    AT_CRC = AT_REALS + 8 * REALS
};
static const char magic[8] = "STNLOG1";

static void list_wholes(const struct flash_profile *p, int64_t out[WHOLES])
{
    const struct media_geometry *g = &p->geometry;
    const int64_t wholes[WHOLES] = {g->channels,        g->dies,
                                    g->planes,          g->blocks,
                                    g->pages,           g->page_bytes,
                                    p->units,           (int64_t)p->ecc,
                                    p->endurance,       p->stripe,
                                    p->timing.read_ns,  p->timing.program_ns,
                                    p->timing.erase_ns, p->timing.buffer_pages};
    memcpy(out, wholes, sizeof(wholes));
}

static void make_label(const struct flash_profile *p, uint8_t label[MEDIA_LABEL_BYTES])
{
    int64_t wholes[WHOLES];
    const double reals[REALS + 1] = {p->over_provisioning, p->error_rate, p->error_rate_worn,
                                     p->timing.channel_bytes_per_s};
    memset(label, 0, MEDIA_LABEL_BYTES);
    memcpy(label, magic, sizeof(magic));
    list_wholes(p, wholes);
    for (int i = 0; i < WHOLES; i++) {
        base_put_le(label + AT_WHOLES + 8 * i, (uint64_t)wholes[i], 8);
    }
    for (int i = 0; i < REALS; i++) {
        uint64_t bits;
        memcpy(&bits, &reals[i], 8);
        base_put_le(label + AT_REALS + 8 * i, bits, 8);
    }
    base_put_le(label + AT_CRC, ecc_crc32c(0, label, AT_CRC), 4);
}

static void parse_label(const uint8_t label[MEDIA_LABEL_BYTES], struct flash_profile *out)
{
    int64_t w[WHOLES];
    double reals[REALS];
    for (int i = 0; i < WHOLES; i++) {
        w[i] = (int64_t)base_get_le(label + AT_WHOLES + 8 * i, 8);
    }
    for (int i = 0; i < REALS; i++) {
        uint64_t bits = base_get_le(label + AT_REALS + 8 * i, 8);
        memcpy(&reals[i], &bits, 8);
    }
    *out = (struct flash_profile){
        .geometry = {(int)w[0], (int)w[1], (int)w[2], (int)w[3], (int)w[4], (int)w[5]},
        .units = (int)w[6],
        .ecc = (enum flash_ecc)w[7],
        .endurance = (int)w[8],
        .stripe = (int)w[9],
        .over_provisioning = reals[0],
        .error_rate = reals[1],
        .error_rate_worn = reals[2],
        .timing = {w[10], w[11], w[12], reals[3], (int)w[13]}};
}

enum stn_status flash_probe(struct media *medium, struct flash_profile *out)
{
    uint8_t label[MEDIA_LABEL_BYTES];
    if (medium->ops->read_label(medium, label)) {
        return stn_fail(STN_ERR_IO, "%s: the label cannot be read", medium->name);
    }
    if (memcmp(label, magic, sizeof(magic)) != 0 ||
        base_get_le(label + AT_CRC, 4) != ecc_crc32c(0, label, AT_CRC)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: not a formatted device", medium->name);
    }
    parse_label(label, out);
    if (memcmp(&out->geometry, &medium->geometry, sizeof(out->geometry)) != 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: the label is of a device of another size",
                        medium->name);
    }
    return STN_OK;
}

static bool dies_of_sense(const struct flash_profile *p)
{
    return p->geometry.page_bytes == p->units * layout_raw_bytes(p->ecc) && p->units <= UNITS_MAX &&
           p->stripe <= STRIPE_MAX;
}

// Everything but what is on the medium.
static enum stn_status make(struct media *medium, struct flash_keys *keys,
                            const struct flash_options *options, struct flash **out)
{
    struct flash *f = calloc(1, sizeof(*f));
    if (!f) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", medium->name);
    }
    f->medium = medium;
    f->keys = keys;
    f->options = options ? *options : (struct flash_options){0};
    f->records.first_free = f->table_place[0] = f->table_place[1] = PLACE_NONE;
    *out = f;
    enum stn_status status = flash_probe(medium, &f->profile);
    if (status) {
        return status;
    }
    const struct flash_profile *p = &f->profile;
    if (!dies_of_sense(p)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: the label makes no sense", medium->name);
    }
    f->raw_bytes = layout_raw_bytes(p->ecc);
    f->data_units = (uint32_t)layout_data_units(p);
    f->data_pages = (int)f->data_units / p->units;
    f->units_per_block = (uint32_t)(p->geometry.pages * p->units);
    f->block_count = media_blocks(&p->geometry);
    f->least = 2 * (uint32_t)p->stripe + 2; // both streams of moved units may need blocks
    f->batch = (uint32_t)layout_batch(p);
    f->low = f->least + 2 * f->batch; // those of one reclaim are erased at the next
    f->blocks = calloc(f->block_count, sizeof(*f->blocks));
    f->owners = calloc((size_t)f->block_count * f->units_per_block, sizeof(*f->owners));
    f->scratch = malloc((size_t)p->geometry.page_bytes);
    bool well = f->blocks && f->owners && f->scratch;
    for (int i = 0; i < STREAMS; i++) {
        memset(f->streams[i].open, 0xff, sizeof(f->streams[i].open));
        f->streams[i].page = calloc(1, (size_t)p->geometry.page_bytes);
        well = well && f->streams[i].page;
    }
    return well ? timing_init(f)
                : stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", medium->name);
}

void flash_drop(struct flash *f)
{
    if (!f) {
        return;
    }
    for (uint32_t i = 0; f->blocks && i < f->block_count; i++) {
        free(f->blocks[i].entries);
    }
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        space_close(&f->spaces[i]);
    }
    for (int i = 0; i < STREAMS; i++) {
        free(f->streams[i].page);
    }
    timing_fini(f);
    free(f->records.at);
    free(f->blocks);
    free(f->owners);
    free(f->scratch);
    free(f);
}

// Blanks the label first: power cut from here on leaves a medium that is not formatted.
enum stn_status flash_format(struct media *medium, const struct flash_profile *profile)
{
    uint8_t label[MEDIA_LABEL_BYTES] = {0};
    enum media_result result = medium->ops->write_label(medium, label);
    for (uint32_t i = 0; i < media_blocks(&medium->geometry) && !result; i++) {
        if (!medium->ops->bad_from_factory(medium, i)) {
            result = medium->ops->erase(medium, i);
            result = result == MEDIA_FAILED ? MEDIA_OK : result; // found again when it is used
        }
    }
    result = result ? result : medium->ops->sync(medium);
    if (!result) {
        make_label(profile, label);
        result = medium->ops->write_label(medium, label);
    }
    return result
               ? stn_fail(result == MEDIA_NO_SPACE ? STN_ERR_NO_SPACE : STN_ERR_IO,
                          "%s: formatting failed: %s", medium->name,
                          flash_result_text(result == MEDIA_NO_SPACE ? FLASH_NO_SPACE : FLASH_LOST))
               : STN_OK;
}

enum stn_status flash_open(struct media *medium, struct flash_keys *keys,
                           const struct flash_options *options, struct flash **out)
{
    struct flash *f = NULL;
    enum stn_status status = make(medium, keys, options, &f);
    if (!status) {
        status = recover_device(f);
    }
    if (status) {
        flash_drop(f);
        return status;
    }
    f->stats.power_ons++;
    *out = f;
    return STN_OK;
}

// After this an erased block of the medium needs no second thought when power comes back.
static enum flash_result power_off(struct flash *f)
{
    enum flash_result result = flash_flush(f);
    for (uint32_t i = 0; i < f->block_count && !result; i++) {
        if (f->blocks[i].state == BLOCK_UNPROVEN) {
            result = block_erase(f, i);
        }
    }
    result = result ? result : records_put(f, STREAM_HOT);
    result = result ? result : stream_flush(f, STREAM_HOT);
    result = result ? result : block_sync(f);
    result = result ? result : table_write(f, true);
    return result ? result : result_of_media(f, f->medium->ops->sync(f->medium));
}

enum flash_result flash_close(struct flash *f)
{
    enum flash_result result = FLASH_OK;
    if (f && !f->clean_mark) {
        result = f->lost ? FLASH_LOST : power_off(f);
    }
    flash_drop(f);
    return result;
}
