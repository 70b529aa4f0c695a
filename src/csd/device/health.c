// SPDX-License-Identifier: Apache-2.0
#include "csd/device/health.h"

#include <stdio.h>
#include <string.h>

void health_about_init(const char *profile, const char *media, const struct flash_profile *flash,
                       enum flash_timing_mode timing, struct health_about *out)
{
    *out = (struct health_about){.endurance = (uint32_t)flash->endurance,
                                 .ecc = (uint32_t)flash->ecc,
                                 .timing = (uint32_t)timing};
    snprintf(out->profile, sizeof(out->profile), "%s", profile);
    snprintf(out->media, sizeof(out->media), "%s", media);
}

static void describe_life(const struct flash_stats *s, struct nvme_health *out)
{
    out->units_read = s->host_units_read;
    out->units_written = s->host_units_written;
    out->units_trimmed = s->host_units_trimmed;
    out->gc_units = s->gc_units;
    out->level_units = s->level_units;
    out->scrub_units = s->scrub_units;
    out->log_units = s->log_units;
    out->padding_units = s->padding_units;
    out->pages_programmed = s->pages_programmed;
    out->blocks_erased = s->blocks_erased;
    out->syncs = s->syncs;
    out->flushes = s->flushes;
    out->corrected_bits = s->corrected_bits;
    out->corrected_units = s->corrected_units;
    out->unrecovered_units = s->unrecovered_units;
    out->lost_units = s->lost_units;
    out->power_cuts = s->power_cuts;
    out->power_ons = s->power_ons;
    out->modelled_read_ns = s->modelled_read_ns;
    out->modelled_program_ns = s->modelled_program_ns;
    out->modelled_erase_ns = s->modelled_erase_ns;
}

static void describe_now(const struct flash_stats *s, struct nvme_health *out)
{
    out->units_total = s->units_total;
    out->units_used = s->units_used;
    out->erases_mean = s->erases_mean;
    out->blocks = s->blocks;
    out->blocks_bad_factory = s->blocks_bad_factory;
    out->blocks_bad_grown = s->blocks_bad_grown;
    out->blocks_free = s->blocks_free;
    out->erases_min = s->erases_min;
    out->erases_max = s->erases_max;
    _Static_assert((int)NVME_ERASE_BUCKETS == (int)FLASH_ERASE_BUCKETS, "the same histogram");
    memcpy(out->erase_histogram, s->erase_histogram, sizeof(out->erase_histogram));
    out->percentage_used = (uint32_t)s->percentage_used;
    out->read_only = s->read_only;
}

void health_describe(const struct flash *flash, const struct health_about *about,
                     struct nvme_health *out)
{
    struct flash_stats stats;
    flash_stats(flash, &stats);
    *out = (struct nvme_health){.version = NVME_HEALTH_VERSION,
                                .size = sizeof(*out),
                                .endurance = about->endurance,
                                .ecc = about->ecc,
                                .timing = about->timing,
                                .write_amplification = flash_write_amplification(&stats)};
    memcpy(out->profile, about->profile, sizeof(out->profile));
    memcpy(out->media, about->media, sizeof(out->media));
    describe_life(&stats, out);
    describe_now(&stats, out);
}
