// SPDX-License-Identifier: Apache-2.0
// What flash memory can do, as a table of functions: the header for those who implement a medium
// (csd/media: a file, memory, and wrappers that add wear and faults). Users of a device need
// flash.h only.
//
// A medium is an array of blocks, each an array of pages of page_bytes raw bytes: data, metadata
// and parity as csd/flash lays them out. Page numbers run over the whole medium: page =
// block · pages + position. Block b lies on channel b % channels and on die (b / channels) % dies
// of it; media do not care, the timing model does.
//
// The rules of flash: a page is programmed whole, once between two erases, and after all pages
// before it in its block (positions may be left out). What is erased reads as zeros.
//
// The rules of power: only what was programmed or erased before a sync that succeeded is sure to
// stay. After a power cut every page that was touched since may be as before, as after, or torn
// (some bytes of either), each for itself.
//
// One thread at a time calls a medium. Media do not log while reading, programming, erasing and
// syncing; their results say what happened.
#ifndef CSD_FLASH_MEDIA_H
#define CSD_FLASH_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

struct media_geometry {
    int channels;
    int dies;       // per channel
    int planes;     // per die
    int blocks;     // per plane
    int pages;      // per block
    int page_bytes; // raw: data, metadata and parity
};

enum media_result {
    MEDIA_OK,
    MEDIA_FAILED,   // this page or block fails for good; the rest of the medium works
    MEDIA_NO_SPACE, // program only: the disk under the medium is full. The page counts as not
                    // programmed and may be tried again
    MEDIA_LOST,     // the medium does not answer any more
};

enum { MEDIA_LABEL_BYTES = 512 };

struct media;

struct media_ops {
    // `bytes` raw bytes of a page, from byte `offset` of it.
    enum media_result (*read)(struct media *media, uint32_t page, size_t offset, size_t bytes,
                              void *out);
    // The whole page. The bytes are the caller's again when it returns.
    enum media_result (*program)(struct media *media, uint32_t page, const void *bytes);
    enum media_result (*erase)(struct media *media, uint32_t block);
    enum media_result (*sync)(struct media *media);
    // The label is written once, when a device is made, and is durable when the call returns.
    enum media_result (*read_label)(struct media *media, uint8_t label[MEDIA_LABEL_BYTES]);
    enum media_result (*write_label)(struct media *media, const uint8_t label[MEDIA_LABEL_BYTES]);
    // Was the block bad when the medium left its factory? Such a block is never programmed.
    bool (*bad_from_factory)(struct media *media, uint32_t block);
    // Without a sync.
    void (*close)(struct media *media);
};

// Implementations hold this as their first member.
struct media {
    const struct media_ops *ops;
    struct media_geometry geometry;
    const char *name; // for messages: a path, or "memory"; lives as long as the medium
};

static inline uint32_t media_blocks(const struct media_geometry *g)
{
    return (uint32_t)g->channels * (uint32_t)g->dies * (uint32_t)g->planes * (uint32_t)g->blocks;
}

// Takes NULL.
static inline void media_close(struct media *media)
{
    if (media) {
        media->ops->close(media);
    }
}

#endif
