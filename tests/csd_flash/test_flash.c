// SPDX-License-Identifier: Apache-2.0
// What goes wrong with a device and its medium, one case at a time: nothing acknowledged is lost,
// nothing wrong is returned, and what fails says so.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"

// Flips bits in the first KiB of a unit on the medium.
static void rot(struct rig *r, uint64_t lpn, int bits)
{
    uint32_t place = place_of(r, lpn), units = (uint32_t)r->profile.units;
    size_t raw = (size_t)layout_raw_bytes(r->profile.ecc);
    assert_int_equal(
        media_faulty_rot(r->medium, place / units, place % units * raw, 1024, bits, lpn), STN_OK);
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    struct rig r;
    uint8_t data[2 * FLASH_UNIT_BYTES];
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    assert_int_equal(flash_read(r.flash, r.id + 1, 0, 1, data, NULL), FLASH_NO_NAMESPACE);
    assert_int_equal(flash_write(r.flash, 0, 0, 1, data, NULL), FLASH_NO_NAMESPACE);
    assert_int_equal(flash_read(r.flash, r.id, r.units - 1, 2, data, NULL), FLASH_OUT_OF_RANGE);
    assert_int_equal(flash_write(r.flash, r.id, UINT64_MAX, 2, data, NULL), FLASH_OUT_OF_RANGE);
    assert_int_equal(flash_trim(r.flash, r.id, 1, UINT64_MAX), FLASH_OUT_OF_RANGE);
    struct flash_namespace ns = {.units = 1};
    assert_int_equal(flash_namespace_create(r.flash, &ns), STN_ERR_NO_SPACE);
    assert_int_equal(flash_namespace_delete(r.flash, 99), STN_ERR_NOT_FOUND);
    expect_all(&r, 0);
    rig_end(&r);
}

static void test_errors_are_corrected_up_to_forty(void **state)
{
    (void)state;
    struct rig r;
    uint32_t got = 0;
    rig_begin(&r, tiny(FLASH_ECC_BCH));
    fill(&r, 7);
    rot(&r, 3, 40);
    rot(&r, 5, 41);
    assert_int_equal(get(&r, 3, &got), FLASH_OK);
    assert_int_equal(got, 7);
    assert_int_equal(get(&r, 5, &got), FLASH_UNRECOVERED);
    struct flash_stats stats;
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.corrected_bits, 40);
    assert_int_equal(stats.unrecovered_units, 1);
    rig_end(&r);
}

// Bits rot slowly: a scrub in between moves them to a fresh block, and they start anew.
static void test_scrubbing_comes_first(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, tiny(FLASH_ECC_BCH));
    fill(&r, 7);
    for (int round = 0; round < 4; round++) {
        uint32_t before = place_of(&r, 3);
        rot(&r, 3, 30);
        assert_int_equal(flash_scrub(r.flash), FLASH_OK);
        assert_int_not_equal(place_of(&r, 3), before);
    }
    expect_all(&r, 7);
    struct flash_stats stats;
    flash_stats(r.flash, &stats);
    assert_true(stats.scrub_units > 0);
    rig_end(&r);
}

// The unit stays lost when its block is collected, through power cuts, and until it is written
// again: an older version never comes back.
static void test_lost_units_stay_lost(void **state)
{
    (void)state;
    struct rig r;
    uint32_t got = 0;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 6);
    fill(&r, 7);
    rot(&r, 5, 1);
    for (uint32_t version = 8; version < 30; version++) {
        for (uint64_t lpn = 6; lpn < r.units; lpn++) {
            assert_int_equal(put(&r, lpn, version), FLASH_OK);
        }
        assert_int_equal(get(&r, 5, &got), FLASH_UNRECOVERED);
        assert_int_equal(flash_flush(r.flash), FLASH_OK);
    }
    flash_drop(r.flash);
    rig_on(&r);
    assert_int_equal(get(&r, 5, &got), FLASH_UNRECOVERED);
    assert_int_equal(put(&r, 5, 40), FLASH_OK);
    assert_int_equal(get(&r, 5, &got), FLASH_OK);
    assert_int_equal(got, 40);
    rig_end(&r);
}

static void test_blocks_that_fail_are_retired(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 1);
    media_faulty_fail(r.medium, 3);
    media_faulty_fail(r.medium, 11);
    for (uint32_t version = 2; version < 12; version++) {
        fill(&r, version);
        expect_all(&r, version);
    }
    struct flash_stats stats;
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.blocks_bad_grown, 2);
    assert_false(stats.read_only);
    flash_drop(r.flash);
    rig_on(&r); // it is known after a power cut
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.blocks_bad_grown, 2);
    expect_all(&r, 11);
    assert_null(media_faulty_broken_rule(r.medium));
    rig_end(&r);
}

static void test_blocks_bad_from_the_factory(void **state)
{
    (void)state;
    struct rig r;
    struct flash_profile profile = tiny(FLASH_ECC_CRC);
    assert_int_equal(media_faulty_create(&profile.geometry, &r.medium), STN_OK);
    media_faulty_bad_from_factory(r.medium, 0);
    media_faulty_bad_from_factory(r.medium, 7);
    r.profile = profile;
    assert_int_equal(flash_keys_open(NULL, true, &r.keys), STN_OK);
    assert_int_equal(flash_format(r.medium, &profile), STN_OK);
    rig_on(&r);
    struct flash_namespace ns = {.units = flash_units_total(r.flash)};
    assert_int_equal(ns.units, flash_profile_units(&profile, 2));
    assert_int_equal(flash_namespace_create(r.flash, &ns), STN_OK);
    r.id = ns.id;
    r.units = ns.units;
    for (uint32_t version = 1; version < 6; version++) {
        fill(&r, version);
    }
    expect_all(&r, 5);
    assert_null(media_faulty_broken_rule(r.medium));
    rig_end(&r);
}

// Written until the blocks are worn out: then it can only be read, and all that was flushed is
// there.
static void test_end_of_life(void **state)
{
    (void)state;
    struct rig r;
    struct flash_profile profile = tiny(FLASH_ECC_CRC);
    profile.endurance = 6;
    rig_begin(&r, profile);
    uint32_t flushed[256] = {0}, version = 0;
    assert_true(r.units <= 256);
    enum flash_result result = FLASH_OK;
    while (!result) {
        uint32_t written[256];
        memcpy(written, flushed, sizeof(written));
        version++;
        assert_true(version < 1000);
        for (uint64_t lpn = 0; lpn < r.units && !result; lpn++) {
            result = put(&r, lpn, version);
            written[lpn] = result ? written[lpn] : version;
        }
        if (flash_flush(r.flash) == FLASH_OK) {
            memcpy(flushed, written, sizeof(flushed));
        }
    }
    assert_int_equal(result, FLASH_READ_ONLY);
    assert_int_equal(flash_trim(r.flash, r.id, 0, 1), FLASH_READ_ONLY);
    for (int power = 0; power < 2; power++) {
        for (uint64_t lpn = 0; lpn < r.units; lpn++) {
            uint32_t got = 0;
            assert_int_equal(get(&r, lpn, &got), FLASH_OK);
            assert_int_equal(got, flushed[lpn]);
        }
        flash_drop(r.flash);
        rig_on(&r);
        assert_int_equal(put(&r, 0, 1), FLASH_READ_ONLY);
    }
    rig_end(&r);
}

// The disk under the device is full: writes are refused when the buffers are, reads go on, and with
// space again everything is as it was acknowledged.
static void test_no_space_under_the_device(void **state)
{
    (void)state;
    struct rig r;
    uint32_t done = 0;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    for (uint64_t lpn = 0; lpn < r.units / 2; lpn++) {
        assert_int_equal(put(&r, lpn, 1), FLASH_OK);
    }
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    media_faulty_full(r.medium, true);
    enum flash_result result = FLASH_OK;
    while (!result && done < r.units) {
        result = put(&r, done, 2);
        done += !result;
    }
    assert_int_equal(result, FLASH_NO_SPACE);
    assert_int_equal(flash_flush(r.flash), FLASH_NO_SPACE);
    for (uint64_t lpn = 0; lpn < r.units / 2; lpn++) {
        uint32_t got = 0;
        assert_int_equal(get(&r, lpn, &got), FLASH_OK);
        assert_int_equal(got, lpn < done ? 2 : 1);
    }
    media_faulty_full(r.medium, false);
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    flash_drop(r.flash);
    rig_on(&r);
    for (uint64_t lpn = 0; lpn < r.units / 2; lpn++) {
        uint32_t got = 0;
        assert_int_equal(get(&r, lpn, &got), FLASH_OK);
        assert_int_equal(got, lpn < done ? 2 : 1);
    }
    rig_end(&r);
}

static void test_medium_that_goes_away(void **state)
{
    (void)state;
    struct rig r;
    uint32_t got = 0;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 1);
    media_faulty_lost(r.medium, true);
    assert_int_equal(get(&r, 0, &got), FLASH_LOST);
    assert_int_equal(put(&r, 0, 2), FLASH_LOST);
    assert_int_equal(flash_flush(r.flash), FLASH_LOST);
    assert_int_equal(flash_close(r.flash), FLASH_LOST);
    media_faulty_lost(r.medium, false);
    rig_on(&r);
    expect_all(&r, 1);
    rig_end(&r);
}

// What deleting a namespace leaves on the medium is of no use: its key is gone, from the file as
// well.
static void test_deleting_destroys_the_key(void **state)
{
    (void)state;
    char path[] = "/tmp/stannis-keys-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct rig r;
    struct stat stat_of;
    struct flash_profile profile = tiny(FLASH_ECC_CRC);
    assert_int_equal(media_faulty_create(&profile.geometry, &r.medium), STN_OK);
    assert_int_equal(flash_keys_open(path, true, &r.keys), STN_OK);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
    assert_int_equal(flash_format(r.medium, &profile), STN_OK);
    rig_on(&r);
    struct flash_namespace ns = {.units = 10};
    assert_int_equal(flash_namespace_create(r.flash, &ns), STN_OK);
    uint8_t key[KEY_BYTES], bytes[8192];
    memcpy(key, keys_find(r.keys, ns.id), KEY_BYTES);
    for (int round = 0; round < 2; round++) { // before, so that the search can fail; and after
        fd = open(path, O_RDONLY);
        ssize_t size = read(fd, bytes, sizeof(bytes));
        close(fd);
        assert_true(size > 0);
        assert_int_equal(memmem(bytes, (size_t)size, key, 16) != NULL, round == 0);
        assert_int_equal(memmem(bytes, (size_t)size, key + 32, 16) != NULL, round == 0);
        if (round == 0) {
            assert_int_equal(flash_namespace_delete(r.flash, ns.id), STN_OK);
        }
    }
    assert_false(flash_namespace_find(r.flash, ns.id, &ns));
    unlink(path);
    rig_end(&r);
}

static void test_data_is_encrypted(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    char data[FLASH_UNIT_BYTES];
    for (int i = 0; i < FLASH_UNIT_BYTES; i += 16) {
        memcpy(data + i, "a canary, a bird", 16);
    }
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(flash_write(r.flash, r.id, 0, 1, data, NULL), FLASH_OK);
        assert_int_equal(flash_flush(r.flash), FLASH_OK);
    }
    size_t page = (size_t)r.profile.geometry.page_bytes;
    uint8_t *raw = malloc(page);
    assert_non_null(raw);
    uint32_t pages = media_blocks(&r.profile.geometry) * (uint32_t)r.profile.geometry.pages;
    for (uint32_t i = 0; i < pages; i++) {
        assert_int_equal(r.medium->ops->read(r.medium, i, 0, page, raw), MEDIA_OK);
        assert_null(memmem(raw, page, data, 16));
    }
    free(raw);
    rig_end(&r);
}

static int64_t made_up_clock(void *context)
{
    return *(int64_t *)context;
}

// Two units on two channels are read at the same time, two on one die one after the other; a write
// waits only for the buffer.
static void test_timing(void **state)
{
    (void)state;
    struct rig r;
    struct flash_profile profile = tiny(FLASH_ECC_CRC);
    profile.timing = (struct flash_timing){.read_ns = 1000,
                                           .program_ns = 100000,
                                           .erase_ns = 500000,
                                           .channel_bytes_per_s = 4160e6,
                                           .buffer_pages = 2};
    rig_begin(&r, profile);
    fill(&r, 1);
    assert_int_equal(flash_close(r.flash), FLASH_OK);
    int64_t now = 5000000;
    struct flash_options options = {
        .timing = FLASH_TIMING_ENFORCED, .clock_ns = made_up_clock, .clock_context = &now};
    assert_int_equal(flash_open(r.medium, r.keys, &options, &r.flash), STN_OK);
    uint32_t got = 0;
    struct flash_stats before, stats; // opening reads, too
    flash_stats(r.flash, &before);
    now += 10000000;
    assert_int_equal(get(&r, 0, &got), FLASH_OK);
    assert_int_equal(flash_ready_ns(r.flash) - now, 1000 + 1000);
    assert_int_equal(get(&r, 0, &got), FLASH_OK); // the same die, in the same instant
    assert_int_equal(flash_ready_ns(r.flash) - now, 2000 + 1000);
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.modelled_read_ns - before.modelled_read_ns, 4000);
    now += 10000000;
    assert_int_equal(flash_trim(r.flash, r.id, 0, 40), FLASH_OK); // takes the clean mark away
    now += 10000000;
    assert_int_equal(put(&r, 0, 2), FLASH_OK);
    assert_int_equal(flash_ready_ns(r.flash), now);
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    assert_true(flash_ready_ns(r.flash) >= now + 100000);
    rig_end(&r);
}

// A block is emptied and erased while a newer version of one of its units waits, acknowledged, in a
// buffer.
static void test_collecting_under_a_waiting_unit(void **state)
{
    (void)state;
    for (int flushed = 0; flushed < 2; flushed++) {
        struct rig r;
        uint64_t counter = 0;
        uint32_t got = 0;
        rig_begin(&r, tiny(FLASH_ECC_CRC));
        fill(&r, 1);
        assert_int_equal(put(&r, 20, 2), FLASH_OK);
        assert_int_equal(collect_block(r.flash, place_block(r.flash, place_of(&r, 20)), &counter),
                         FLASH_OK);
        assert_true(counter > 0);
        for (int round = 0; round < 3; round++) {
            assert_int_equal(collect_reclaim(r.flash), FLASH_OK);
        }
        if (flushed) {
            assert_int_equal(flash_flush(r.flash), FLASH_OK);
        }
        assert_int_equal(get(&r, 20, &got), FLASH_OK);
        assert_int_equal(got, 2);
        flash_drop(r.flash);
        rig_on(&r);
        assert_int_equal(get(&r, 20, &got), FLASH_OK);
        assert_int_equal(got, flushed ? 2 : 1);
        rig_end(&r);
    }
}

// The other way round: what was moved waits, and the caller's newer version is programmed first.
static void test_writing_under_a_moved_unit(void **state)
{
    (void)state;
    struct rig r;
    uint64_t counter = 0;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 1);
    uint32_t block = place_block(r.flash, place_of(&r, 20));
    assert_int_equal(flash_trim(r.flash, r.id, 20, 1),
                     FLASH_OK); // an odd number is left: one waits
    assert_int_equal(collect_block(r.flash, block, &counter), FLASH_OK);
    for (uint64_t lpn = 0; lpn < 40; lpn++) {
        assert_int_equal(put(&r, lpn, 2), FLASH_OK);
    }
    assert_int_equal(stream_flush(r.flash, STREAM_MOVE), FLASH_OK);
    assert_int_equal(stream_flush(r.flash, STREAM_REST), FLASH_OK);
    for (uint64_t lpn = 0; lpn < 40; lpn++) {
        uint32_t got = 0;
        assert_int_equal(get(&r, lpn, &got), FLASH_OK);
        assert_int_equal(got, 2);
    }
    fill(&r, 2);
    flash_drop(r.flash);
    rig_on(&r);
    expect_all(&r, 2);
    rig_end(&r);
}

// Namespaces, tags and counters are there after power off and on; a clean start is no power cut.
static void test_power_off_and_on(void **state)
{
    (void)state;
    struct rig r;
    struct flash_stats stats;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 3);
    uint8_t tag[FLASH_TAG_BYTES] = "photos", device[FLASH_DEVICE_TAG_BYTES] = "rack 1";
    assert_int_equal(flash_namespace_tag(r.flash, r.id, tag), STN_OK);
    assert_int_equal(flash_device_tag_set(r.flash, device), STN_OK);
    for (int round = 0; round < 3; round++) {
        uint64_t changes = media_faulty_changes(r.medium);
        assert_int_equal(flash_close(r.flash), FLASH_OK);
        if (round > 0) {
            assert_int_equal(media_faulty_changes(r.medium),
                             changes); // nothing was done, nothing is programmed
        }
        rig_on(&r);
        expect_all(&r, 3);
    }
    struct flash_namespace found;
    assert_true(flash_namespace_find(r.flash, r.id, &found));
    assert_string_equal((char *)found.tag, "photos");
    assert_int_equal(found.units_used, r.units);
    flash_device_tag(r.flash, device);
    assert_string_equal((char *)device, "rack 1");
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.power_cuts, 0);
    assert_int_equal(stats.host_units_written, r.units);
    assert_int_equal(put(&r, 0, 4), FLASH_OK);
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    flash_drop(r.flash);
    rig_on(&r);
    flash_stats(r.flash, &stats);
    assert_int_equal(stats.power_cuts, 1);
    rig_end(&r);
}

static void test_static_levelling(void **state)
{
    (void)state;
    struct rig r;
    struct flash_stats stats;
    rig_begin(&r, tiny(FLASH_ECC_CRC));
    fill(&r, 1);
    for (uint32_t i = 0; i < 100 * r.units;
         i++) { // a tenth is written all the time, the rest never
        assert_int_equal(put(&r, i % (1 + r.units / 10), 2 + i), FLASH_OK);
    }
    flash_stats(r.flash, &stats);
    assert_true(stats.erases_mean > 20.0);
    assert_in_range(stats.erases_max - stats.erases_min, 0, 25);
    assert_true(stats.level_units > 0);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_errors_are_corrected_up_to_forty),
        cmocka_unit_test(test_scrubbing_comes_first),
        cmocka_unit_test(test_lost_units_stay_lost),
        cmocka_unit_test(test_blocks_that_fail_are_retired),
        cmocka_unit_test(test_blocks_bad_from_the_factory),
        cmocka_unit_test(test_end_of_life),
        cmocka_unit_test(test_no_space_under_the_device),
        cmocka_unit_test(test_medium_that_goes_away),
        cmocka_unit_test(test_deleting_destroys_the_key),
        cmocka_unit_test(test_data_is_encrypted),
        cmocka_unit_test(test_timing),
        cmocka_unit_test(test_collecting_under_a_waiting_unit),
        cmocka_unit_test(test_writing_under_a_moved_unit),
        cmocka_unit_test(test_power_off_and_on),
        cmocka_unit_test(test_static_levelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
