// SPDX-License-Identifier: Apache-2.0
// The memory that a client and the device share: a memfd whose size is sealed. Its first pages are
// the controller's registers, the doorbells and two words by which the sides say that they sleep;
// the rest is the client's memory, to which queues and PRPs point by their offset in the memfd.
//
//     page 0  registers, as the specification lays them out; written by the device
//     page 1  doorbells of queue pair y: submission tail at 8·y, completion head at 8·y + 4
//     page 2  the sleep words, each on a cache line of its own
//     page 3  admin submission queue, 64 entries
//     page 4  admin completion queue
//     page 5… free for the client
//
// A side sets its sleep word before it looks for work a last time and sleeps; the other, having
// changed something, takes the word back to awake and writes the eventfd only if it was not. So
// nobody spins, and a busy pair makes no system calls.
#ifndef CSD_NVME_RING_H
#define CSD_NVME_RING_H

#include <stdint.h>

#include "csd/nvme/spec.h"

enum {
    RING_QUEUES_MAX = 9, // the admin pair and eight of I/O
    RING_ENTRIES_MAX = 1024,
    RING_ADMIN_ENTRIES = 64,
    RING_REGISTERS_AT = 0,
    RING_DOORBELLS_AT = NVME_PAGE_BYTES,
    RING_SLEEP_AT = 2 * NVME_PAGE_BYTES,
    RING_ADMIN_SQ_AT = 3 * NVME_PAGE_BYTES,
    RING_ADMIN_CQ_AT = 4 * NVME_PAGE_BYTES,
    RING_FREE_AT = 5 * NVME_PAGE_BYTES,
    RING_BYTES_MIN = 16 * NVME_PAGE_BYTES,
    RING_BYTES_MAX = 64 << 20,
};

enum { RING_CSTS_READY = 1, RING_CSTS_FATAL = 2 };

struct ring_registers {
    uint64_t cap;
    uint32_t vs, intms, intmc, cc, reserved18, csts, nssr, aqa;
    uint64_t asq, acq;
};

struct ring_doorbells {
    uint32_t sq_tail, cq_head;
};

enum ring_sleep {
    RING_AWAKE,
    RING_ASLEEP,          // wake me for a submission (the device), a completion (the client)
    RING_ASLEEP_FOR_ROOM, // the device: and for room in a completion queue
};

struct ring_sleep_words {
    uint32_t device, reserved1[31];
    uint32_t client, reserved2[31];
};

// All accesses to words that both sides change are in one order: a side that falls asleep and one
// that has just changed something cannot miss each other.
#define RING_LOAD(word)         __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define RING_STORE(word, value) __atomic_store_n(&(word), value, __ATOMIC_SEQ_CST)

static inline struct ring_registers *ring_registers(uint8_t *base)
{
    return (struct ring_registers *)(void *)(base + RING_REGISTERS_AT);
}

static inline struct ring_doorbells *ring_doorbells(uint8_t *base, int queue)
{
    return (struct ring_doorbells *)(void *)(base + RING_DOORBELLS_AT) + queue;
}

static inline struct ring_sleep_words *ring_sleep_words(uint8_t *base)
{
    return (struct ring_sleep_words *)(void *)(base + RING_SLEEP_AT);
}

// Is the other side to be woken, now that something has changed? Call once, then wake it.
static inline int ring_take_awake(uint32_t *word)
{
    return RING_LOAD(*word) != RING_AWAKE &&
           __atomic_exchange_n(word, RING_AWAKE, __ATOMIC_SEQ_CST) != RING_AWAKE;
}

// Says that this side is about to sleep; it looks for work once more after that.
static inline void ring_fall_asleep(uint32_t *word, enum ring_sleep how)
{
    RING_STORE(*word, (uint32_t)how);
}

_Static_assert(sizeof(struct ring_registers) == 0x38, "registers as specified");
_Static_assert(sizeof(struct ring_doorbells) == 8, "doorbells with stride 0");

#endif
