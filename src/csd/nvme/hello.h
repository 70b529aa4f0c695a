// SPDX-License-Identifier: Apache-2.0
// How a client and a device meet, over a SOCK_SEQPACKET unix socket: the client says who it wants
// to talk to and how much memory it needs; the device answers with three descriptors: the memfd of
// csd/nvme/ring.h, the eventfd to write when the device sleeps, and an epoll instance that becomes
// readable when a completion came while the client slept. (The eventfd behind it stays the
// device's: a client that held it could fill its counter, and the device would block on it.) The
// connection stays open as the sign that both are alive.
#ifndef CSD_NVME_HELLO_H
#define CSD_NVME_HELLO_H

#include <stdint.h>

enum {
    HELLO_MAGIC = 0x6e445343, // "CSDn"
    HELLO_VERSION = 1,
    HELLO_TEXT_BYTES = 96,
};

enum { HELLO_FD_MEMORY, HELLO_FD_DOORBELL, HELLO_FD_COMPLETIONS, HELLO_FDS };

struct hello_request {
    uint32_t magic;
    uint16_t version, reserved;
    uint64_t memory_bytes; // whole pages, RING_BYTES_MIN … RING_BYTES_MAX
};

struct hello_reply {
    uint32_t magic;
    uint16_t version, controller; // controller: that the client has, 0 if it was refused
    uint64_t memory_bytes;
    char refusal[HELLO_TEXT_BYTES]; // why, without the descriptors then
};

#endif
