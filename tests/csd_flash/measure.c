// SPDX-License-Identifier: Apache-2.0
// csd_measure WHAT …: what bench/csd measures of the flash layer, one JSON object a call.
//
//     csd_measure waf SPARE POLICY HOT FILLS BLOCKS
//         Write amplification of random 4 KiB writes on memory: SPARE flash beyond the namespace
//         (0.07), POLICY greedy or cost-benefit; HOT of the units get the rest of the writes (0.1:
//         90/10; 0: uniform).
//     csd_measure iops SECONDS ECC
//         4 KiB writes and reads on memory: translation, XTS, CRC, and BCH if ECC is bch.
//     csd_measure bch SECONDS
//         Encoding, against an encoder that takes a byte a step.
//     csd_measure recover FILE BLOCKS ECC
//         Opening a device after a power cut, against reading the same bytes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "csd/ecc/bch.h"
#include "csd/flash/flash.h"
#include "csd/flash/keys.h"
#include "csd/flash/state.h"
#include "csd/media/file.h"
#include "csd/media/memory.h"

static void must(bool well, const char *what)
{
    if (!well) {
        fprintf(stderr, "csd_measure: %s failed\n", what);
        exit(1);
    }
}

static struct flash_profile make_profile(int blocks, enum flash_ecc ecc, double spare)
{
    struct flash_profile p = {
        .geometry = {.channels = 16, .dies = 1, .planes = 1, .pages = blocks >= 2048 ? 64 : 256},
        .units = 4,
        .over_provisioning = spare,
        .ecc = ecc,
        .endurance = 100000,
        .stripe = 1};
    must(!flash_profile_fit(&p, 1, "measure"), "the profile");
    p.geometry.blocks = blocks / 16;
    return p;
}

static struct flash *open_new(struct media *medium, const struct flash_profile *profile,
                              struct flash_keys *keys, enum flash_policy policy, uint64_t units,
                              uint32_t *id)
{
    struct flash_options options = {.policy = policy};
    struct flash *flash = NULL;
    must(!flash_format(medium, profile) && !flash_open(medium, keys, &options, &flash), "opening");
    struct flash_namespace ns = {.units = units ? units : flash_units_total(flash)};
    must(!flash_namespace_create(flash, &ns), "making a namespace");
    *id = ns.id;
    return flash;
}

static void write_one(struct flash *flash, uint32_t id, uint64_t lpn, const void *data)
{
    enum flash_result result = flash_write(flash, id, lpn, 1, data, NULL);
    must(result == FLASH_OK, flash_result_text(result));
}

static void print_waf(const struct flash_stats *first, const struct flash_stats *last, double fills)
{
    struct flash_stats s = *last;
    s.host_units_written -= first->host_units_written;
    s.gc_units -= first->gc_units;
    s.level_units -= first->level_units;
    s.log_units -= first->log_units;
    s.padding_units -= first->padding_units;
    printf("{\"fills\": %.1f, \"waf\": %.4f, \"erases_min\": %u, \"erases_max\": %u, "
           "\"erases_mean\": %.1f, "
           "\"moved\": %llu, \"levelled\": %llu, \"log\": %llu, \"padding\": %llu, \"written\": "
           "%llu, \"histogram\": [",
           fills, flash_write_amplification(&s), s.erases_min, s.erases_max, s.erases_mean,
           (unsigned long long)s.gc_units, (unsigned long long)s.level_units,
           (unsigned long long)s.log_units, (unsigned long long)s.padding_units,
           (unsigned long long)s.host_units_written);
    for (int i = 0; i < FLASH_ERASE_BUCKETS; i++) {
        printf("%s%u", i ? ", " : "", s.erase_histogram[i]);
    }
    printf("]}\n");
}

static uint64_t draw_lpn(struct base_random *random, uint64_t units, double hot)
{
    uint64_t split = (uint64_t)((double)units * hot);
    if (split == 0) {
        return base_random_below(random, units);
    }
    return base_random_unit(random) < 1.0 - hot ? base_random_below(random, split)
                                                : split + base_random_below(random, units - split);
}

// The first half of the writes brings the device into its steady state; the second is measured.
static void measure_waf(double spare, const char *policy, double hot, double fills, int blocks)
{
    struct flash_profile p = make_profile(blocks, FLASH_ECC_CRC, spare);
    uint64_t units = flash_profile_units(&p, 0);
    struct media *medium;
    struct flash_keys *keys;
    uint32_t id;
    uint8_t data[FLASH_UNIT_BYTES] = {1};
    must(!media_memory_create(&p.geometry, &medium) && !flash_keys_open(NULL, true, &keys),
         "memory");
    struct flash *flash =
        open_new(medium, &p, keys,
                 strcmp(policy, "greedy") == 0 ? FLASH_GREEDY : FLASH_COST_BENEFIT, units, &id);
    for (uint64_t lpn = 0; lpn < units; lpn++) {
        write_one(flash, id, lpn, data);
    }
    struct base_random random = base_random_from(7);
    struct flash_stats first, last;
    uint64_t writes = (uint64_t)(fills * (double)units);
    flash_stats(flash, &first);
    for (uint64_t i = 0; i < writes; i++) {
        if (i == writes / 2) {
            flash_stats(flash, &first);
        }
        write_one(flash, id, draw_lpn(&random, units, hot), data);
    }
    flash_stats(flash, &last);
    print_waf(&first, &last, fills);
    must(flash_close(flash) == FLASH_OK, "closing");
    flash_keys_close(keys);
    media_close(medium);
}

static void measure_iops(double seconds, const char *ecc)
{
    struct flash_profile p =
        make_profile(512, strcmp(ecc, "bch") == 0 ? FLASH_ECC_BCH : FLASH_ECC_CRC, 0.28);
    struct media *medium;
    struct flash_keys *keys;
    uint32_t id;
    uint8_t data[FLASH_UNIT_BYTES] = {1};
    must(!media_memory_create(&p.geometry, &medium) && !flash_keys_open(NULL, true, &keys),
         "memory");
    struct flash *flash = open_new(medium, &p, keys, FLASH_COST_BENEFIT, 0, &id);
    uint64_t units = flash_units_total(flash), count = 0, reads = 0;
    struct base_random random = base_random_from(7);
    for (uint64_t lpn = 0; lpn < units; lpn++) {
        write_one(flash, id, lpn, data);
    }
    double start = base_clock_seconds(), now = start;
    while (now < start + seconds) {
        for (int i = 0; i < 1000; i++, count++) {
            write_one(flash, id, base_random_below(&random, units), data);
        }
        now = base_clock_seconds();
    }
    double write_iops = (double)count / (now - start);
    start = now;
    while (now < start + seconds) {
        for (int i = 0; i < 1000; i++, reads++) {
            must(!flash_read(flash, id, base_random_below(&random, units), 1, data, NULL),
                 "reading");
        }
        now = base_clock_seconds();
    }
    printf("{\"write_iops\": %.0f, \"read_iops\": %.0f}\n", write_iops,
           (double)reads / (now - start));
    must(flash_close(flash) == FLASH_OK, "closing");
    flash_keys_close(keys);
    media_close(medium);
}

// Division by the generator, a byte a step, from one table: how it is usually done.
static void encode_bytewise(uint8_t table[256][BCH_PARITY_BYTES], const uint8_t *data,
                            const uint8_t *meta, uint8_t parity[BCH_PARITY_BYTES])
{
    uint8_t r[BCH_PARITY_BYTES + 1] = {0};
    for (int i = 0; i < BCH_DATA_BYTES + BCH_META_BYTES; i++) {
        uint8_t byte = i < BCH_DATA_BYTES ? data[i] : meta[i - BCH_DATA_BYTES];
        const uint8_t *row = table[r[0] ^ byte];
        for (int k = 0; k < BCH_PARITY_BYTES; k++) {
            r[k] = r[k + 1] ^ row[k];
        }
    }
    memcpy(parity, r, BCH_PARITY_BYTES);
}

static void measure_bch(double seconds)
{
    enum { WORDS = 256 };
    static uint8_t table[256][BCH_PARITY_BYTES], data[WORDS][BCH_DATA_BYTES];
    uint8_t meta[BCH_META_BYTES] = {0}, parity[BCH_PARITY_BYTES], other[BCH_PARITY_BYTES];
    for (int byte = 0; byte < 256; byte++) { // the parity of a word that ends with this byte
        uint8_t zeros[BCH_DATA_BYTES] = {0}, last[BCH_META_BYTES] = {0};
        last[BCH_META_BYTES - 1] = (uint8_t)byte;
        ecc_bch_encode(zeros, last, table[byte]);
    }
    struct base_random random = base_random_from(3);
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i / BCH_DATA_BYTES][i % BCH_DATA_BYTES] = (uint8_t)base_random_u64(&random);
    }
    double spent[2] = {0};
    uint64_t words[2] = {0};
    while (spent[0] + spent[1] < seconds) {
        for (int kind = 0; kind < 2; kind++) { // in turns, so that both see the same machine
            double start = base_clock_seconds();
            for (int i = 0; i < WORDS; i++, words[kind]++) {
                if (kind) {
                    ecc_bch_encode(data[i], meta, parity);
                } else {
                    encode_bytewise(table, data[i], meta, other);
                }
            }
            spent[kind] += base_clock_seconds() - start;
        }
        must(memcmp(parity, other, sizeof(parity)) == 0, "the bytewise encoder");
    }
    double slow = (double)words[0] * BCH_DATA_BYTES / spent[0],
           fast = (double)words[1] * BCH_DATA_BYTES / spent[1];
    printf("{\"bytewise_mb_s\": %.0f, \"sliced_mb_s\": %.0f, \"ratio\": %.2f}\n", slow / 1e6,
           fast / 1e6, fast / slow);
}

// Reads with pread what recovery must look at: the summary of every block that has one, all pages
// of open blocks.
static double read_same(const char *path, const struct flash *flash)
{
    const struct media_geometry *g = &flash->profile.geometry;
    size_t page = (size_t)g->page_bytes, block_bytes = page * (size_t)g->pages;
    uint8_t *buffer = malloc(block_bytes);
    int fd = open(path, O_RDONLY);
    must(buffer && fd >= 0, "reading back");
    double start = base_clock_seconds();
    for (uint32_t b = 0; b < flash->block_count; b++) {
        off_t at = 4096 + (off_t)b * (off_t)block_bytes;
        const struct block *block = &flash->blocks[b];
        if (block->state == BLOCK_CLOSED) {
            size_t skip = (size_t)flash->data_pages * page;
            must(pread(fd, buffer, block_bytes - skip, at + (off_t)skip) > 0, "reading back");
        } else if (block->state == BLOCK_OPEN || block->state == BLOCK_FULL) {
            must(pread(fd, buffer, block_bytes, at) > 0, "reading back");
        }
    }
    double seconds = base_clock_seconds() - start;
    close(fd);
    free(buffer);
    return seconds;
}

static void measure_recovery(const char *path, int blocks, const char *ecc)
{
    struct flash_profile p =
        make_profile(blocks, strcmp(ecc, "bch") == 0 ? FLASH_ECC_BCH : FLASH_ECC_CRC, 0.07);
    struct media *medium;
    struct flash_keys *keys;
    uint32_t id;
    uint8_t data[FLASH_UNIT_BYTES] = {1};
    p.stripe = 4;
    must(!media_file_create(path, &p.geometry, &medium) && !flash_keys_open(NULL, true, &keys),
         "the medium");
    struct flash *flash = open_new(medium, &p, keys, FLASH_COST_BENEFIT, 0, &id);
    uint64_t units = flash_units_total(flash);
    struct base_random random = base_random_from(7);
    for (uint64_t i = 0; i < units + units / 2; i++) {
        write_one(flash, id, i < units ? i : base_random_below(&random, units), data);
    }
    must(flash_flush(flash) == FLASH_OK, "flushing");
    flash_drop(flash);
    double best[2] = {1e9, 1e9};
    for (int round = 0; round < 5; round++) {
        double start = base_clock_seconds();
        must(!flash_open(medium, keys, NULL, &flash), "recovering");
        double seconds = base_clock_seconds() - start, same = read_same(path, flash);
        best[0] = seconds < best[0] ? seconds : best[0];
        best[1] = same < best[1] ? same : best[1];
        flash_drop(flash);
    }
    printf("{\"units\": %llu, \"recover_ms\": %.2f, \"pread_ms\": %.2f, \"ratio\": %.2f}\n",
           (unsigned long long)units, 1e3 * best[0], 1e3 * best[1], best[0] / best[1]);
    flash_keys_close(keys);
    media_close(medium);
    unlink(path);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "waf") == 0 && argc == 7) {
        measure_waf(atof(argv[2]), argv[3], atof(argv[4]), atof(argv[5]), atoi(argv[6]));
    } else if (strcmp(what, "iops") == 0 && argc == 4) {
        measure_iops(atof(argv[2]), argv[3]);
    } else if (strcmp(what, "bch") == 0 && argc == 3) {
        measure_bch(atof(argv[2]));
    } else if (strcmp(what, "recover") == 0 && argc == 5) {
        measure_recovery(argv[2], atoi(argv[3]), argv[4]);
    } else {
        fprintf(stderr, "csd_measure waf | iops | bch | recover …: see the source\n");
        return 2;
    }
    return 0;
}
