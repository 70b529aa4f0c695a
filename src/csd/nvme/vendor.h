// SPDX-License-Identifier: Apache-2.0
// What a back end knows of its health. The vendor's log page (C0h) is this structure as it lies in
// memory, and zeros up to 4 KiB; `version` changes with it.
#ifndef CSD_NVME_VENDOR_H
#define CSD_NVME_VENDOR_H

#include <stdint.h>

enum { NVME_HEALTH_VERSION = 1, NVME_ERASE_BUCKETS = 32, NVME_HEALTH_TEXT_BYTES = 32 };

struct nvme_health {
    uint32_t version, size; // of this structure
    char profile[NVME_HEALTH_TEXT_BYTES], media[NVME_HEALTH_TEXT_BYTES];
    // Units of 4 KiB, over the life of the device.
    uint64_t units_read, units_written, units_trimmed;
    uint64_t gc_units, level_units, scrub_units, log_units, padding_units;
    uint64_t pages_programmed, blocks_erased, syncs, flushes;
    uint64_t corrected_bits, corrected_units, unrecovered_units, lost_units;
    uint64_t power_cuts, power_ons;
    uint64_t modelled_read_ns, modelled_program_ns, modelled_erase_ns;
    uint64_t units_total, units_used;
    double write_amplification, erases_mean;
    // Now.
    uint32_t blocks, blocks_bad_factory, blocks_bad_grown, blocks_free;
    uint32_t erases_min, erases_max, endurance;
    uint32_t erase_histogram[NVME_ERASE_BUCKETS]; // good blocks, between erases_min and erases_max
    uint32_t percentage_used, read_only;
    uint32_t ecc, timing; // as of csd/flash
};

_Static_assert(sizeof(struct nvme_health) <= 4096, "fits the log page");

#endif
