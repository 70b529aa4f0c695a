// SPDX-License-Identifier: Apache-2.0
// How a TCP connection comes about between node 0, the host, and another node, its guest. Guests
// get an invitation with two secrets by MPI. The host turns away connections that do not know the
// first; a guest leaves a listener that does not answer with the second. Nothing here waits. IPv4.
// For this folder.
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
    int waiting[COMM_WAITING_MAX]; // connections that have not knocked yet; −1: free
    unsigned came;
};

// Listens, if `local` on this machine's own address alone. lines[] begins as all −1. If listening
// fails, the invitation says so.
void comm_host_open(struct comm_host *host, bool local, int size, int *lines);
// Hears all that have connected; those that knock rightly come into lines[].
void comm_host_serve(struct comm_host *host);
// Stops listening; lines stay.
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
// False once there is a line, or none can come any more.
bool comm_guest_try(struct comm_guest *guest);
// Gives up all but the line.
void comm_guest_close(struct comm_guest *guest);

#endif
