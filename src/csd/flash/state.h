// SPDX-License-Identifier: Apache-2.0
// The device from inside: what the files of csd/flash share. docs/decisions/0030-flash.md says why
// the log is enough to recover from.
//
// Numbers: a unit's place is page · units + position in the page, over the whole medium. What is
// wrong when a program or an erase fails is decided in block.c; the others pass results on.
#ifndef CSD_FLASH_STATE_H
#define CSD_FLASH_STATE_H

#include "csd/flash/cipher.h"
#include "csd/flash/unit.h"

enum stream_name {
    STREAM_HOT,  // the caller's units that are written often
    STREAM_COLD, // and the others
    STREAM_MOVE, // units that collecting, levelling and scrubbing move, and the log's own
    STREAM_REST, // those of them that were not written for long
    STREAMS,
};

enum {
    UNITS_MAX = 16,       // per page
    STRIPE_MAX = 64,      // blocks of a stream
    WEAR_SPREAD_MAX = 12, // erases between the least and the most erased block, before levelling
    NOWHERE = -1,
};

// What the map says of a unit of a namespace: a place, or one of these.
#define MAP_UNWRITTEN UINT32_MAX
#define MAP_TRIMMED   0x80000000u // + index of the trim record that says so
#define PLACE_NONE    UINT32_MAX

enum block_state {
    BLOCK_FREE,     // erased, and the erase is durable
    BLOCK_UNPROVEN, // nothing of worth, but power was cut: to be erased again before use
    BLOCK_ERASING,  // erased; the next sync makes it free
    BLOCK_OPEN,     // of a stream
    BLOCK_FULL,     // all pages programmed; its summary follows the next sync
    BLOCK_CLOSED,
    BLOCK_DYING, // to be erased when its burial is durable
    BLOCK_BAD,
};

struct entry { // of a block's summary
    uint32_t lpn, ns;
    uint8_t kind;
    uint64_t seq;
};

struct block {
    uint8_t state, stream;
    bool proven;    // something of this generation is durable
    bool failing;   // programs fail: move what it holds and retire it
    bool urgent;    // has many bit errors: move what it holds
    bool empty;     // nothing in it is current, and all that took its place is durable
    bool collected; // moved from already, up to what waits in a page buffer
    bool retired;   // its burial says that it is bad
    uint16_t next;  // position to program next
    uint32_t generation;
    uint32_t valid; // units that are current
    double age;     // stamp at which its units were written, on average: moving keeps them old
    uint32_t aged;  // units in that average
    uint64_t stamp; // of its last page
    struct entry *entries; // OPEN, FULL: by unit
};

// Whose a programmed unit is.
struct owner {
    uint32_t lpn; // DATA; RECORDS: how many of its records live
    uint8_t kind, slot;
};

enum record_kind {
    RECORD_NONE, // not in use
    RECORD_TRIM, // units [lpn, lpn + count) of namespace `a` were trimmed at seq
    RECORD_BURY, // block `a` up to generation `lpn` holds nothing; count 1: and is bad
    RECORD_VOID, // place `a`, in generation `lpn` of its block, was unreadable when power came back
};

struct record {
    uint8_t kind;
    uint32_t a;
    uint64_t lpn, count, seq;
    uint32_t home;  // place of the unit that holds it; PLACE_NONE: not programmed yet
    uint64_t batch; // seq of the unit it waits in, 0: of none
    uint32_t refs;  // TRIM: units that read as zeros because of it and have an older copy somewhere
};

struct records {
    struct record *at;
    uint32_t count, room, first_free; // first_free chains by `a`
    uint32_t pending;                 // live and not in a unit yet
};

struct waiting { // a unit in a page buffer
    struct unit_meta meta;
    uint32_t from; // MOVE: where it comes from; PLACE_NONE: new
    uint8_t slot;
};

struct stream {
    uint32_t open[STRIPE_MAX]; // blocks; PLACE_NONE: none
    int turn;
    int filled;
    struct waiting waiting[UNITS_MAX];
    uint8_t *page; // raw
};

struct space { // a namespace
    struct flash_namespace about;
    struct cipher *cipher;
    uint32_t *map;
    uint32_t *written; // stamp, its lower half, when the caller wrote it last
    uint32_t *copies;  // of a unit on the medium or on the way there, current or not
};

struct timing {
    enum flash_timing_mode mode;
    int64_t *die_until, *channel_until, *buffer_until; // ring of completion times
    int buffer_next;
    int64_t now, ready;
};

struct flash {
    struct media *medium;
    struct flash_keys *keys;
    struct flash_profile profile;
    struct flash_options options;
    int raw_bytes, data_pages;
    uint32_t units_per_block, data_units;
    uint32_t block_count;
    struct block *blocks;
    struct owner *owners;                      // by place
    struct space spaces[FLASH_NAMESPACES_MAX]; // id 0: none
    struct stream streams[STREAMS];
    struct records records;
    struct timing timing;
    uint8_t *scratch; // one raw page

    uint64_t seq, stamp, durable;
    uint32_t table_place[2];
    uint64_t table_seq;
    uint32_t next_id;
    uint32_t leaving; // namespace that is being deleted; 0: none
    uint8_t device_tag[FLASH_DEVICE_TAG_BYTES];
    uint64_t total_units;

    uint32_t free_count; // FREE, ERASING, UNPROVEN
    uint32_t low, least; // free blocks to collect at, and that must be there before a unit is moved
    uint32_t batch;      // emptied blocks that are reclaimed together
    uint32_t collected;  // since the last reclaim
    double heat;         // mean distance, in stamps, between two writes of a unit
    uint64_t scrub_at;
    uint64_t noise;  // reads that drew bit errors
    bool recovering; // what was found unreadable is not written down yet: `durable` must not
                     // promise it
    bool clean_mark; // the medium says that power went off cleanly
    bool table_due;  // counters changed that the next flush should keep
    bool levelling;  // what is moved now comes from a block that was erased rarely
    bool lost, read_only;
    struct flash_stats stats; // the first part; the rest is made by flash_stats
};

static inline uint32_t place_block(const struct flash *f, uint32_t place)
{
    return place / f->units_per_block;
}

static inline uint32_t block_place(const struct flash *f, uint32_t block)
{
    return block * f->units_per_block;
}

static inline bool map_is_place(uint32_t value)
{
    return value < MAP_TRIMMED;
}

static inline uint32_t block_erases(const struct block *block)
{
    return block->generation - 1;
}

// ---- block.c: which blocks there are for what ---------------------------------------------------

// A free block for a stream, open and erased for sure; PLACE_NONE with *result when there is none.
uint32_t block_take(struct flash *f, enum stream_name stream, enum flash_result *result);
enum flash_result block_erase(struct flash *f, uint32_t block);
void block_set_state(struct flash *f, uint32_t block, enum block_state state);
// A program failed: nothing more goes into the block, what it holds will move.
void block_fail(struct flash *f, uint32_t block);
void block_check_life(struct flash *f);
// Everything programmed becomes durable; what waited for that happens: erased blocks are free, full
// ones get their summaries, dying ones are erased.
enum flash_result block_sync(struct flash *f);
enum flash_result result_of_media(struct flash *f, enum media_result result);

// ---- stream.c: page buffers ---------------------------------------------------------------------

// The caller's unit in a buffer, or NULL.
struct waiting *stream_find(struct flash *f, uint8_t slot, uint64_t lpn, uint8_t **data);
// Room for one more unit, programming the full page before it if need be. The caller fills in
// *waiting and *data, then calls stream_added.
enum flash_result stream_room(struct flash *f, enum stream_name stream, struct waiting **waiting,
                              uint8_t **data);
enum flash_result stream_added(struct flash *f, enum stream_name stream);
// Programs what is there, padded.
enum flash_result stream_flush(struct flash *f, enum stream_name stream);
// Nothing more goes into an open block, although it has room.
void stream_leave(struct flash *f, uint32_t block);
void stream_forget_space(struct flash *f, uint8_t slot);

// ---- map.c
// ---------------------------------------------------------------------------------------

void map_set(struct flash *f, uint8_t slot, uint64_t lpn, uint32_t value);
// A programmed unit takes its place in map, owners and counts.
void map_settle(struct flash *f, uint32_t place, const struct waiting *waiting);
bool map_is_current(const struct flash *f, uint32_t place);
// The block's burial is durable: none of its units will be seen again.
void map_forget_block(struct flash *f, uint32_t block);
// Pages programmed since the caller wrote the unit.
double space_age(const struct flash *f, const struct space *space, uint64_t lpn);
int space_slot(const struct flash *f, uint32_t id); // NOWHERE
// Where the namespace is, if it is there and has these units.
enum flash_result space_range(const struct flash *f, uint32_t id, uint64_t first, uint64_t count,
                              uint8_t *slot);

// ---- records.c
// -----------------------------------------------------------------------------------

// PLACE_NONE: out of memory.
uint32_t records_add(struct flash *f, const struct record *record);
void records_die(struct flash *f, uint32_t index);
bool records_waiting(const struct flash *f); // some are not programmed yet
// Puts the records that are not in a unit yet into units of a stream.
enum flash_result records_put(struct flash *f, enum stream_name stream);
void records_settle(struct flash *f, uint32_t place, uint64_t batch);
// The unit is about to go: its living records wait for another one.
void records_leave(struct flash *f, uint32_t place);
bool records_buried(const struct flash *f,
                    uint32_t block); // programmed, and the block still waits for it
void records_proven(struct flash *f, uint32_t block, bool erased);
int records_parse(const uint8_t *data, int at, struct record *out); // RECORD_NONE at the end
enum { RECORD_BYTES = 32, RECORDS_PER_UNIT = FLASH_UNIT_BYTES / RECORD_BYTES };

// ---- table.c
// -------------------------------------------------------------------------------------

// Namespaces and counters, twice, in different streams. Not synced.
enum flash_result table_write(struct flash *f, bool clean);
enum flash_result table_move(struct flash *f);
bool table_parse(struct flash *f, const uint8_t *data, bool *clean);
// Before the first change after a clean start: the mark goes, durably.
enum flash_result table_unmark(struct flash *f);

// ---- read.c
// --------------------------------------------------------------------------------------

// One unit, corrected, into `raw`. UNIT_ERASED and UNIT_UNREADABLE as unit_open; *worst may be
// NULL.
enum flash_result read_unit(struct flash *f, uint32_t place, uint8_t *raw, struct unit_meta *meta,
                            int *bits);

// ---- collect.c
// -----------------------------------------------------------------------------------

// Makes sure that a page can be programmed and collecting can still go on after it.
enum flash_result collect_for_room(struct flash *f);
// Moves what is in a block; `counter` gets the units.
enum flash_result collect_block(struct flash *f, uint32_t block, uint64_t *counter);
enum flash_result collect_reclaim(struct flash *f);
uint32_t collect_pick(const struct flash *f, enum flash_policy policy);
enum flash_result collect_urgent(struct flash *f, bool *any);

// ---- wear.c
// --------------------------------------------------------------------------------------

// Flips bits of what was read, as many as a block of this age makes on average.
void wear_disturb(struct flash *f, uint32_t erases, uint8_t *raw, size_t bytes);
bool wear_out(const struct flash *f, uint32_t block); // does its next erase fail?
// The block that has been erased least and holds data or waits for some, if that is too rarely;
// PLACE_NONE.
uint32_t wear_victim(const struct flash *f);

// ---- timing.c
// ------------------------------------------------------------------------------------

STN_MUST_CHECK enum stn_status timing_init(struct flash *f);
void timing_fini(struct flash *f);
void timing_begin(struct flash *f);
void timing_read(struct flash *f, uint32_t block, size_t bytes);
void timing_program(struct flash *f, uint32_t block, bool waited_for);
void timing_erase(struct flash *f, uint32_t block);
void timing_flush(struct flash *f); // the caller waits for all dies

// ---- recover.c
// -----------------------------------------------------------------------------------

STN_MUST_CHECK enum stn_status recover_device(struct flash *f);

// ---- namespace.c
// ---------------------------------------------------------------------------------

// Map, copies and cipher of a namespace whose `about` is filled in.
STN_MUST_CHECK enum stn_status space_open(struct flash *f, uint8_t slot);
void space_close(struct space *space);

#endif
