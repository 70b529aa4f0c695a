// SPDX-License-Identifier: Apache-2.0
// The back end of a computational storage device: namespaces of 4 KiB units on flash memory. A
// page-mapped translation layer with garbage collection, wear levelling, encryption and error
// correction; its log is its own journal (docs/decisions/0030-flash.md).
//
//     flash_profile_fit → media_file_create → flash_format          once
//     flash_open → { namespace_… | read | write | trim | flush | work } … → flash_close |
//     flash_drop
//
// A write is acknowledged from a buffer. What was acknowledged before a flash_flush that returned
// FLASH_OK is on the medium for good, whatever is cut later; of what came after, each unit is after
// a power cut as before or as written. No unit ever reads as anything else.
//
// Opening, formatting and changing namespaces report failures with one line in the log and return a
// status. Reading, writing, trimming, flushing and work return a flash_result and log nothing: a
// client may cause them as often as it likes. One thread at a time calls a device; different
// devices are independent.
#ifndef CSD_FLASH_FLASH_H
#define CSD_FLASH_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csd/flash/media.h"
#include "stannis/status.h"

enum {
    FLASH_UNIT_BYTES = 4096,
    FLASH_NAMESPACES_MAX = 32,
    FLASH_TAG_BYTES = 48,
    FLASH_DEVICE_TAG_BYTES = 256,
};

//        name           text
#define FLASH_RESULT_MAP(X)                                                                        \
    X(OK, "success")                                                                               \
    X(NO_NAMESPACE, "there is no such namespace")                                                  \
    X(OUT_OF_RANGE, "units beyond the end of the namespace")                                       \
    X(UNRECOVERED, "more bit errors than can be corrected")                                        \
    X(READ_ONLY, "the flash is worn out: the device can only be read")                             \
    X(NO_SPACE, "the disk under the device is full")                                               \
    X(LOST, "the medium does not answer")

enum flash_result {
#define X(name, text) FLASH_##name,
    FLASH_RESULT_MAP(X)
#undef X
};

const char *flash_result_text(enum flash_result result);

// ---- What a device is made of -------------------------------------------------------------------

enum flash_ecc {
    FLASH_ECC_CRC, // CRC32C finds errors; nothing is corrected
    FLASH_ECC_BCH, // and BCH corrects 40 bits a KiB
};

struct flash_timing {
    int64_t read_ns;            // tR: array to page register
    int64_t program_ns;         // tPROG
    int64_t erase_ns;           // tERASE
    double channel_bytes_per_s; // raw bytes between die and controller; one transfer a time
    int buffer_pages;           // fast-release buffer: pages acknowledged before programmed
};

// A device profile, as share/devices/*.yaml says it. Kept on the medium by flash_format.
struct flash_profile {
    struct media_geometry geometry; // page_bytes is made by flash_profile_fit
    int units;                      // per page: data bytes of a page / 4096
    double over_provisioning;       // 0.07: 7 % more flash than is offered, reserves not counted
    enum flash_ecc ecc;
    int endurance;          // erases that a block is specified for
    int stripe;             // blocks that a stream writes to in turns, on different channels
    double error_rate;      // wrong bits per bit read: on a new block,
    double error_rate_worn; // and on one erased `endurance` times; between them it grows with the
                            // square
    struct flash_timing timing;
};

// Sets page_bytes, and blocks so that at least `bytes` can be offered. Refuses what cannot be
// built, with one line that begins with `label`.
STN_MUST_CHECK enum stn_status flash_profile_fit(struct flash_profile *profile, uint64_t bytes,
                                                 const char *label);
// Units that a device offers to all its namespaces together when `bad` of its blocks are bad.
uint64_t flash_profile_units(const struct flash_profile *profile, uint32_t bad);

// ---- Keys
// ----------------------------------------------------------------------------------------

// The key store: one AES-256-XTS key a namespace, in a file with mode 0600 apart from the medium
// (NULL: in memory only, for tests). Its owner and root can read it. Destroying a key overwrites it
// in place and syncs: what is encrypted with it is gone.
struct flash_keys;

STN_MUST_CHECK enum stn_status flash_keys_open(const char *path, bool create,
                                               struct flash_keys **out);
void flash_keys_close(struct flash_keys *keys); // takes NULL

// ---- Opening
// -------------------------------------------------------------------------------------

enum flash_policy {
    FLASH_COST_BENEFIT, // collects blocks by age and by what is to be gained
    FLASH_GREEDY,       // collects the block with the fewest valid units
};

enum flash_timing_mode {
    FLASH_TIMING_OFF,
    FLASH_TIMING_COUNTED,  // statistics say how long real flash would have taken
    FLASH_TIMING_ENFORCED, // and flash_ready_ns says when a caller may report completion
};

struct flash_options {
    enum flash_policy policy;
    enum flash_timing_mode timing;
    int64_t (*clock_ns)(void *context); // NULL: base_clock_ns
    void *clock_context;
};

struct flash;

// Makes an empty device on a medium of the profile's geometry; what was on it is gone.
STN_MUST_CHECK enum stn_status flash_format(struct media *medium,
                                            const struct flash_profile *profile);
// Profile of a formatted medium; STN_ERR_CORRUPT with a line for any other.
STN_MUST_CHECK enum stn_status flash_probe(struct media *medium, struct flash_profile *out);
// Powers on: recovers if power was cut. Keeps medium and keys, which the caller closes after the
// device. `options` may be NULL.
STN_MUST_CHECK enum stn_status flash_open(struct media *medium, struct flash_keys *keys,
                                          const struct flash_options *options, struct flash **out);
// Powers off: flushes, leaves a mark that all is well, and frees the device, also when it fails.
// Takes NULL.
enum flash_result flash_close(struct flash *flash);
// Frees the device without another access to the medium, as if power was cut. Takes NULL.
void flash_drop(struct flash *flash);

// ---- Namespaces
// ----------------------------------------------------------------------------------

// `tag` belongs to the caller (a name, attachments, write protection, …); the device keeps it on
// the medium, not encrypted.
struct flash_namespace {
    uint32_t id; // from 1; never used again after the namespace is deleted
    uint64_t units;
    uint64_t units_used; // that hold data
    uint8_t tag[FLASH_TAG_BYTES];
};

// Durable when they return STN_OK. Creating sets id; a new namespace reads as zeros.
// STN_ERR_NO_SPACE: not that many units are left (flash_units_free), or there are
// FLASH_NAMESPACES_MAX namespaces.
STN_MUST_CHECK enum stn_status flash_namespace_create(struct flash *flash,
                                                      struct flash_namespace *ns);
STN_MUST_CHECK enum stn_status flash_namespace_delete(struct flash *flash, uint32_t id);
STN_MUST_CHECK enum stn_status flash_namespace_tag(struct flash *flash, uint32_t id,
                                                   const uint8_t tag[FLASH_TAG_BYTES]);
// The namespaces by rising id; returns how many there are.
int flash_namespaces(const struct flash *flash, struct flash_namespace out[FLASH_NAMESPACES_MAX]);
bool flash_namespace_find(const struct flash *flash, uint32_t id, struct flash_namespace *out);
uint64_t flash_units_total(const struct flash *flash);
uint64_t flash_units_free(const struct flash *flash); // not of any namespace
// Bytes of the caller's about the device as a whole; zeros after flash_format.
void flash_device_tag(const struct flash *flash, uint8_t out[FLASH_DEVICE_TAG_BYTES]);
STN_MUST_CHECK enum stn_status flash_device_tag_set(struct flash *flash,
                                                    const uint8_t tag[FLASH_DEVICE_TAG_BYTES]);

// ---- Data
// ----------------------------------------------------------------------------------------

// Units [first, first + count) of a namespace, plain bytes. What was never written, or trimmed,
// reads as zeros. Units are taken in order; at the first failure the rest is left as it is: *done
// (or NULL) says how many were done.
enum flash_result flash_read(struct flash *flash, uint32_t id, uint64_t first, uint32_t count,
                             void *out, uint32_t *done);
enum flash_result flash_write(struct flash *flash, uint32_t id, uint64_t first, uint32_t count,
                              const void *data, uint32_t *done);
enum flash_result flash_trim(struct flash *flash, uint32_t id, uint64_t first, uint64_t count);
// All that was acknowledged is programmed and synced.
enum flash_result flash_flush(struct flash *flash);
// One small piece of what a device does when it has time: collecting garbage ahead, scrubbing,
// levelling wear. *more says whether there is something left to do soon; a caller that gets false
// may sleep and try again after a second.
enum flash_result flash_work(struct flash *flash, bool *more);
// Reads every unit of the device once and moves what had many bit errors. For `stannis csd` and
// tests.
enum flash_result flash_scrub(struct flash *flash);

// When the call that returned last is complete by the timing model, on the clock of the options. 0
// unless timing is enforced.
int64_t flash_ready_ns(const struct flash *flash);

// ---- Statistics
// ----------------------------------------------------------------------------------

enum { FLASH_ERASE_BUCKETS = 32 };

struct flash_stats {
    // Over the life of the device; what happened since the last flush is not counted after a power
    // cut.
    uint64_t host_units_read, host_units_written, host_units_trimmed;
    uint64_t gc_units, level_units, scrub_units; // moved, by origin
    uint64_t log_units;                          // summaries, records and tables
    uint64_t padding_units;                      // to fill a page at a flush
    uint64_t pages_programmed, blocks_erased, syncs, flushes;
    uint64_t corrected_bits, corrected_units, unrecovered_units;
    uint64_t lost_units; // were unreadable when power came back, and nothing says whose they were
    uint64_t power_cuts, power_ons;
    uint64_t modelled_read_ns, modelled_program_ns, modelled_erase_ns; // busy time of all dies
    // Now.
    uint32_t blocks, blocks_bad_factory, blocks_bad_grown, blocks_free;
    uint32_t erases_min, erases_max; // of good blocks
    double erases_mean;
    uint32_t erase_histogram[FLASH_ERASE_BUCKETS]; // good blocks, between erases_min and erases_max
    uint64_t units_total, units_used;
    int percentage_used; // of the endurance; may be above 100
    bool read_only;
};

void flash_stats(const struct flash *flash, struct flash_stats *out);
// Units programmed / units written by the host; 0 before the first write.
double flash_write_amplification(const struct flash_stats *stats);

#endif
