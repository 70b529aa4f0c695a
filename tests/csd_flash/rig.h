// SPDX-License-Identifier: Apache-2.0
// A small device of faulty memory with one namespace, for the tests of csd/flash.
#ifndef TESTS_CSD_FLASH_RIG_H
#define TESTS_CSD_FLASH_RIG_H

#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "csd/flash/flash.h"
#include "csd/flash/state.h"
#include "csd/media/faulty.h"
#include "oracle.h"

struct rig {
    struct flash_profile profile;
    struct media *medium;
    struct flash_keys *keys;
    struct flash *flash;
    uint32_t id;
    uint64_t units;
};

static inline struct flash_profile tiny(enum flash_ecc ecc)
{
    struct flash_profile p = {.geometry = {.channels = 2, .dies = 1, .planes = 1, .pages = 8},
                              .units = 2,
                              .over_provisioning = 0.5,
                              .ecc = ecc,
                              .endurance = 100000,
                              .stripe = 1};
    assert_int_equal(flash_profile_fit(&p, 130 * FLASH_UNIT_BYTES, "tiny"), STN_OK);
    return p;
}

static struct capture caught;

static inline void capture_begin(void)
{
    capture_start(&caught);
}

static inline const char *capture_end(void)
{
    capture_stop();
    return caught.last;
}

static inline void rig_on(struct rig *r)
{
    assert_int_equal(flash_open(r->medium, r->keys, NULL, &r->flash), STN_OK);
}

static inline void rig_begin(struct rig *r, struct flash_profile profile)
{
    *r = (struct rig){.profile = profile};
    assert_int_equal(media_faulty_create(&profile.geometry, &r->medium), STN_OK);
    assert_int_equal(flash_keys_open(NULL, true, &r->keys), STN_OK);
    assert_int_equal(flash_format(r->medium, &profile), STN_OK);
    rig_on(r);
    struct flash_namespace ns = {.units = flash_units_total(r->flash)};
    assert_int_equal(flash_namespace_create(r->flash, &ns), STN_OK);
    r->id = ns.id;
    r->units = ns.units;
}

static inline void rig_end(struct rig *r)
{
    flash_drop(r->flash);
    flash_keys_close(r->keys);
    media_close(r->medium);
}

static inline enum flash_result put(struct rig *r, uint64_t lpn, uint32_t version)
{
    uint8_t data[FLASH_UNIT_BYTES];
    oracle_fill(r->id, lpn, version, data);
    return flash_write(r->flash, r->id, lpn, 1, data, NULL);
}

static inline enum flash_result get(struct rig *r, uint64_t lpn, uint32_t *version)
{
    uint8_t data[FLASH_UNIT_BYTES], want[FLASH_UNIT_BYTES];
    enum flash_result result = flash_read(r->flash, r->id, lpn, 1, data, NULL);
    if (!result) {
        memcpy(version, data, sizeof(*version));
        oracle_fill(r->id, lpn, *version, want);
        assert_memory_equal(data, want, sizeof(data)); // whatever it is, it was written once
    }
    return result;
}

static inline void fill(struct rig *r, uint32_t version)
{
    for (uint64_t lpn = 0; lpn < r->units; lpn++) {
        assert_int_equal(put(r, lpn, version), FLASH_OK);
    }
    assert_int_equal(flash_flush(r->flash), FLASH_OK);
}

static inline void expect_all(struct rig *r, uint32_t version)
{
    for (uint64_t lpn = 0; lpn < r->units; lpn++) {
        uint32_t got = 0;
        assert_int_equal(get(r, lpn, &got), FLASH_OK);
        assert_int_equal(got, version);
    }
}

static inline uint32_t place_of(const struct rig *r, uint64_t lpn)
{
    return r->flash->spaces[space_slot(r->flash, r->id)].map[lpn];
}

#endif
