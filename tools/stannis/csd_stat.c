// SPDX-License-Identifier: Apache-2.0
// stannis csd stat: how a device is, in numbers and as a plot of its blocks' erase counts.
#include <stdio.h>
#include <string.h>

#include "csd.h"
#include "report/format.h"

enum { BAR_ROWS = 6 };

static const struct command command = {
    .verb = STN_VERB_CSD_STAT,
    .summary = "Shows how a device is: wear, errors, who wrote what.",
    .operands = "DEVICE",
    .about = "Over the life of the device. Write amplification is what the flash was\n"
             "programmed with, by what the clients wrote.",
    .examples = "  stannis csd stat rack/csd.0",
};

static const char *ecc_name(uint32_t ecc)
{
    return ecc ? "bch" : "crc";
}

static json_t *describe_erases(const struct nvme_health *h)
{
    json_t *histogram = json_array();
    for (int i = 0; i < NVME_ERASE_BUCKETS; i++) {
        json_array_append_new(histogram, json_integer(h->erase_histogram[i]));
    }
    return json_pack("{s:i, s:i, s:f, s:i, s:o}", "least", (int)h->erases_min, "most",
                     (int)h->erases_max, "mean", h->erases_mean, "endurance", (int)h->endurance,
                     "histogram", histogram);
}

static json_t *describe_units(const struct nvme_health *h)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "read", (json_int_t)h->units_read,
                     "written", (json_int_t)h->units_written, "trimmed",
                     (json_int_t)h->units_trimmed, "garbage_collection", (json_int_t)h->gc_units,
                     "wear_levelling", (json_int_t)h->level_units, "scrubbing",
                     (json_int_t)h->scrub_units, "log", (json_int_t)h->log_units, "padding",
                     (json_int_t)h->padding_units);
}

static json_t *describe_errors(const struct nvme_health *h)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "corrected_bits", (json_int_t)h->corrected_bits,
                     "corrected_units", (json_int_t)h->corrected_units, "unrecovered_units",
                     (json_int_t)h->unrecovered_units, "lost_units", (json_int_t)h->lost_units);
}

static json_t *describe_power(const struct nvme_health *h)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "ons", (json_int_t)h->power_ons, "cuts",
                     (json_int_t)h->power_cuts, "flushes", (json_int_t)h->flushes, "syncs",
                     (json_int_t)h->syncs);
}

static json_t *describe_blocks(const struct nvme_health *h)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:I, s:I}", "all", (int)h->blocks, "free",
                     (int)h->blocks_free, "bad_from_factory", (int)h->blocks_bad_factory,
                     "bad_grown", (int)h->blocks_bad_grown, "erased", (json_int_t)h->blocks_erased,
                     "pages_programmed", (json_int_t)h->pages_programmed);
}

static json_t *describe_timing(const struct nvme_health *h)
{
    return json_pack("{s:s, s:f, s:f, s:f}", "mode", csd_timing_names[h->timing], "read_s",
                     (double)h->modelled_read_ns / 1e9, "program_s",
                     (double)h->modelled_program_ns / 1e9, "erase_s",
                     (double)h->modelled_erase_ns / 1e9);
}

static json_t *describe(const char *device, const struct nvme_health *h,
                        const struct nvme_smart_log *smart)
{
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:b, s:i}",
        "device", device, "profile", h->profile, "ecc", ecc_name(h->ecc), "units_total",
        (json_int_t)h->units_total, "units_used", (json_int_t)h->units_used, "units",
        describe_units(h), "write_amplification", h->write_amplification, "erases",
        describe_erases(h), "errors", describe_errors(h), "power", describe_power(h), "blocks",
        describe_blocks(h), "timing", describe_timing(h), "percentage_used",
        (int)h->percentage_used, "spare", (int)smart->spare, "read_only", (int)h->read_only,
        "critical_warning", (int)smart->critical_warning);
}

static const char *units(struct report_text *to, uint64_t count)
{
    return report_bytes(to, count * NVME_BLOCK_BYTES);
}

// Good blocks by how often they were erased: a column a bucket.
static void print_erases(const struct nvme_health *h)
{
    uint32_t most = 1;
    for (int i = 0; i < NVME_ERASE_BUCKETS; i++) {
        most = h->erase_histogram[i] > most ? h->erase_histogram[i] : most;
    }
    printf("erases    %u to %u a block, %.1f on average, of %u specified\n", h->erases_min,
           h->erases_max, h->erases_mean, h->endurance);
    for (int row = BAR_ROWS; row > 0; row--) {
        printf("          ");
        for (int i = 0; i < NVME_ERASE_BUCKETS; i++) {
            uint64_t eighths = (uint64_t)h->erase_histogram[i] * BAR_ROWS * 8 / most;
            uint64_t below = (uint64_t)(row - 1) * 8;
            uint64_t here = eighths > below ? eighths - below : 0;
            static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
            bool any = row == 1 && here == 0 && h->erase_histogram[i] > 0;
            fputs(blocks[any ? 1 : here > 8 ? 8 : here], stdout);
        }
        putchar('\n');
    }
    printf("          %-*u%*u\n", NVME_ERASE_BUCKETS / 2, h->erases_min, NVME_ERASE_BUCKETS / 2,
           h->erases_max);
}

void csd_print_health(const char *device, const struct nvme_health *h,
                      const struct nvme_smart_log *smart)
{
    struct report_text a, b, c, d;
    printf("%s: %s, ecc %s%s\n", device, h->profile, ecc_name(h->ecc),
           h->read_only ? "; WORN OUT: it can only be read" : "");
    printf("capacity  %s, %s hold data\n", units(&a, h->units_total), units(&b, h->units_used));
    printf("clients   wrote %s, read %s, trimmed %s\n", units(&a, h->units_written),
           units(&b, h->units_read), units(&c, h->units_trimmed));
    printf("flash     moved %s collecting garbage, %s levelling wear, %s scrubbing; %s of log\n",
           units(&a, h->gc_units), units(&b, h->level_units), units(&c, h->scrub_units),
           units(&d, h->log_units + h->padding_units));
    printf("          write amplification %.2f\n", h->write_amplification);
    printf("wear      %u %% of the endurance, %u %% of the spare blocks left\n", h->percentage_used,
           smart->spare);
    printf("blocks    %u, %u free, %u bad from the factory, %u since\n", h->blocks, h->blocks_free,
           h->blocks_bad_factory, h->blocks_bad_grown);
    print_erases(h);
    printf("errors    %llu bits corrected in %llu units; %llu units not recovered\n",
           (unsigned long long)h->corrected_bits, (unsigned long long)h->corrected_units,
           (unsigned long long)h->unrecovered_units);
    printf("power     on %llu times, %llu cuts survived; %llu flushes\n",
           (unsigned long long)h->power_ons, (unsigned long long)h->power_cuts,
           (unsigned long long)h->flushes);
    if (h->timing != FLASH_TIMING_OFF) {
        printf("timing    %s: dies were busy reading %.2f s, programming %.2f s, erasing %.2f s\n",
               csd_timing_names[h->timing], (double)h->modelled_read_ns / 1e9,
               (double)h->modelled_program_ns / 1e9, (double)h->modelled_erase_ns / 1e9);
    }
}

static enum stn_status run(const struct verb_call *call)
{
    struct csd_client *client;
    struct nvme_health health;
    struct nvme_smart_log smart;
    const char *device = NULL;
    enum stn_status status = csd_connect_operand(&command, &call->line, &device, &client);
    if (status != STN_OK) {
        return status;
    }
    status = csd_health(client, &health);
    if (status == STN_OK) {
        status = csd_smart(client, &smart);
    }
    csd_client_close(client);
    if (status == STN_OK && call->settings.values.json) {
        return verb_print_json(describe(device, &health, &smart));
    }
    if (status == STN_OK) {
        csd_print_health(device, &health, &smart);
    }
    return status;
}

const struct csd_subcommand csd_stat = {&command, run, false};
