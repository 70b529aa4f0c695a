// SPDX-License-Identifier: Apache-2.0
// How a TCP connection between node 0, the host, and another node, its guest, comes about. The
// invitation reaches guests by other means; whoever has not got it is turned away, and no guest
// takes a stranger for the host. Nothing here waits. IPv4. For this folder.
#ifndef COMM_HANDSHAKE_H
#define COMM_HANDSHAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

enum { COMM_WAITING_MAX = 256 };

// ---- node 0 ------------------------------------------------------------------------------------

struct comm_host {
    struct wire_invitation invitation;
    int listener; // −1: none
    int size;
    int *lines;                    // [size], borrowed: connections of the nodes, −1: none
    int waiting[COMM_WAITING_MAX]; // who has come and not knocked; −1: free
    unsigned came;
};

// Listens: on this machine's own address alone if `local`. lines[] begins as all −1. If it cannot,
// nobody is invited.
void comm_host_open(struct comm_host *host, bool local, int size, int *lines);
// Lets in who is there, into lines[].
void comm_host_serve(struct comm_host *host);
// Nobody else comes in; lines stay.
void comm_host_close(struct comm_host *host);

// ---- the others --------------------------------------------------------------------------------

struct comm_guest {
    const struct wire_invitation *invitation; // borrowed
    int rank;
    struct pollfd
        tries[WIRE_ADDRESSES_MAX + 1]; // POLLOUT: connecting, POLLIN: has knocked; fd −1: failed
    int count;
    int line; // the connection; −1: none yet
};

// Begins to connect, to all addresses at once.
void comm_guest_open(struct comm_guest *guest, const struct wire_invitation *invitation, int rank,
                     bool same_machine);
// False once there is a line or no hope for one.
bool comm_guest_try(struct comm_guest *guest);
// Gives up all but the line.
void comm_guest_close(struct comm_guest *guest);

#endif
