// SPDX-License-Identifier: Apache-2.0
// Namespaces: made with a key before the table knows them, unmade in the other order.
#include <stdlib.h>
#include <string.h>

#include "csd/flash/state.h"

enum { ID_MAX = (1 << 24) - 1 }; // what a summary's entry holds

enum stn_status space_open(struct flash *f, uint8_t slot)
{
    struct space *space = &f->spaces[slot];
    const uint8_t *key = keys_find(f->keys, space->about.id);
    if (!key) {
        return stn_fail(
            STN_ERR_NOT_FOUND,
            "%s: holds no key for namespace %u of %s: without it the data cannot be read",
            keys_name(f->keys), space->about.id, f->medium->name);
    }
    space->cipher = cipher_create(key);
    space->map = malloc(space->about.units * sizeof(*space->map));
    space->copies = calloc(space->about.units, sizeof(*space->copies));
    space->written = calloc(space->about.units, sizeof(*space->written));
    if (!space->cipher || !space->map || !space->copies || !space->written) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for namespace %u", f->medium->name,
                        space->about.id);
    }
    memset(space->map, 0xff, space->about.units * sizeof(*space->map)); // MAP_UNWRITTEN
    space->about.units_used = 0;
    return STN_OK;
}

void space_close(struct space *space)
{
    cipher_destroy(space->cipher);
    free(space->map);
    free(space->copies);
    free(space->written);
    *space = (struct space){0};
}

uint64_t flash_units_total(const struct flash *f)
{
    return f->total_units;
}

uint64_t flash_units_free(const struct flash *f)
{
    uint64_t used = 0;
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        used += f->spaces[i].about.units;
    }
    return used > f->total_units ? 0 : f->total_units - used;
}

static enum stn_status fail(const struct flash *f, enum flash_result result)
{
    return stn_fail(result == FLASH_NO_SPACE ? STN_ERR_NO_SPACE : STN_ERR_IO, "%s: %s",
                    f->medium->name, flash_result_text(result));
}

// Table, and all it needs to be believed, on the medium for good.
static enum stn_status commit(struct flash *f)
{
    enum flash_result result = f->lost ? FLASH_LOST : table_unmark(f);
    result = result ? result : collect_for_room(f);
    result = result ? result : table_write(f, false);
    result = result ? result : block_sync(f);
    return result ? fail(f, result) : STN_OK;
}

static int free_slot(const struct flash *f)
{
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        if (!f->spaces[i].about.id) {
            return i;
        }
    }
    return NOWHERE;
}

enum stn_status flash_namespace_create(struct flash *f, struct flash_namespace *ns)
{
    int slot = free_slot(f);
    if (slot == NOWHERE || f->next_id > ID_MAX) {
        return stn_fail(STN_ERR_NO_SPACE, "%s: has %d namespaces already", f->medium->name,
                        FLASH_NAMESPACES_MAX);
    }
    if (ns->units < 1 || ns->units > flash_units_free(f)) {
        return stn_fail(ns->units < 1 ? STN_ERR_INVALID : STN_ERR_NO_SPACE,
                        "%s: a namespace of %llu units is not possible: %llu are left",
                        f->medium->name, (unsigned long long)ns->units,
                        (unsigned long long)flash_units_free(f));
    }
    struct space *space = &f->spaces[slot];
    enum stn_status status = keys_make(f->keys, f->next_id);
    if (status) {
        return status;
    }
    ns->id = f->next_id++;
    space->about = *ns;
    status = space_open(f, (uint8_t)slot);
    if (!status) {
        status = commit(f);
    }
    if (status) {
        stream_forget_space(f, (uint8_t)slot);
        space_close(space);
        return keys_destroy(f->keys, ns->id) ? STN_ERR_IO : status;
    }
    ns->units_used = 0;
    return STN_OK;
}

static void forget_units(struct flash *f, uint8_t slot)
{
    struct space *space = &f->spaces[slot];
    stream_forget_space(f, slot);
    for (uint64_t lpn = 0; lpn < space->about.units; lpn++) {
        if (space->map[lpn] != MAP_UNWRITTEN) {
            map_set(f, slot, lpn, MAP_UNWRITTEN);
        }
    }
    for (uint64_t i = 0; i < (uint64_t)f->block_count * f->units_per_block; i++) {
        if (f->owners[i].kind == UNIT_DATA && f->owners[i].slot == slot) {
            f->owners[i].kind = UNIT_NONE;
        }
    }
}

enum stn_status flash_namespace_delete(struct flash *f, uint32_t id)
{
    int slot = space_slot(f, id);
    if (slot == NOWHERE) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: has no namespace %u", f->medium->name, id);
    }
    // Tables do not name it any more; its units move like others until such a table is durable.
    f->leaving = id;
    enum stn_status status = commit(f);
    f->leaving = 0;
    if (status) {
        return status;
    }
    forget_units(f, (uint8_t)slot);
    space_close(&f->spaces[slot]);
    return keys_destroy(f->keys, id);
}

enum stn_status flash_namespace_tag(struct flash *f, uint32_t id,
                                    const uint8_t tag[FLASH_TAG_BYTES])
{
    int slot = space_slot(f, id);
    if (slot == NOWHERE) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: has no namespace %u", f->medium->name, id);
    }
    memcpy(f->spaces[slot].about.tag, tag, FLASH_TAG_BYTES);
    return commit(f);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = ((const struct flash_namespace *)a)->id,
             y = ((const struct flash_namespace *)b)->id;
    return (x > y) - (x < y);
}

int flash_namespaces(const struct flash *f, struct flash_namespace out[FLASH_NAMESPACES_MAX])
{
    int count = 0;
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        if (f->spaces[i].about.id) {
            out[count++] = f->spaces[i].about;
        }
    }
    qsort(out, (size_t)count, sizeof(*out), compare_ids);
    return count;
}

bool flash_namespace_find(const struct flash *f, uint32_t id, struct flash_namespace *out)
{
    int slot = space_slot(f, id);
    if (slot != NOWHERE) {
        *out = f->spaces[slot].about;
    }
    return slot != NOWHERE;
}

void flash_device_tag(const struct flash *f, uint8_t out[FLASH_DEVICE_TAG_BYTES])
{
    memcpy(out, f->device_tag, FLASH_DEVICE_TAG_BYTES);
}

enum stn_status flash_device_tag_set(struct flash *f, const uint8_t tag[FLASH_DEVICE_TAG_BYTES])
{
    memcpy(f->device_tag, tag, FLASH_DEVICE_TAG_BYTES);
    return commit(f);
}
