// SPDX-License-Identifier: Apache-2.0
// A medium in memory with every fault that a real one may have: power is cut at any change, writes
// since the last sync are lost, reordered or torn, pages rot, blocks fail, the disk under it is
// full. It also watches its user: the first rule of media.h that is broken is remembered.
//
// A test sets a hook that is called within each change, when the change is under way. There
// media_faulty_cut makes a second medium of what a power cut at this moment would leave, and
// media_faulty_copy one as the death of the process would: the medium itself goes on.
#ifndef CSD_MEDIA_FAULTY_H
#define CSD_MEDIA_FAULTY_H

#include "csd/flash/media.h"

enum media_change { MEDIA_PROGRAM, MEDIA_ERASE, MEDIA_SYNC };

STN_MUST_CHECK enum stn_status media_faulty_create(const struct media_geometry *geometry,
                                                   struct media **out);
// NULL: no hook.
void media_faulty_hook(struct media *media, void (*hook)(void *context, enum media_change change),
                       void *context);
// What every change since the last sync comes to is drawn from the seed. No hook, no faults.
STN_MUST_CHECK enum stn_status media_faulty_cut(struct media *media, uint64_t seed,
                                                struct media **out);
STN_MUST_CHECK enum stn_status media_faulty_copy(struct media *media, struct media **out);
// The first broken rule in words, or NULL.
const char *media_faulty_broken_rule(const struct media *media);

// From the next access on:
void media_faulty_fail(struct media *media, uint32_t block); // programs and erases of it fail
void media_faulty_full(struct media *media, bool full);      // a block's first page finds no space
void media_faulty_lost(struct media *media, bool lost);      // nothing works
void media_faulty_bad_from_factory(struct media *media, uint32_t block);
// Flips `count` bits of a page within [offset, offset + bytes), drawn from the seed.
STN_MUST_CHECK enum stn_status media_faulty_rot(struct media *media, uint32_t page, size_t offset,
                                                size_t bytes, int count, uint64_t seed);
uint64_t media_faulty_changes(const struct media *media); // programs, erases and syncs so far

#endif
