// SPDX-License-Identifier: Apache-2.0
// What strangers may say when nodes find each other: to node 0, to a node that looks for it, and to
// the launcher's witness. A process that does not know the secret gets no line, and nothing waits.
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/handshake.h"
#include "target.h"

enum { NODES = 4 };

// A secret that a fuzzer can learn from the corpus.
static const uint8_t knock[WIRE_SECRET_BYTES] = "knock-knock-knoc";
static const uint8_t answer[WIRE_SECRET_BYTES] = "it-is-node-zero!";

// Our end of a connection on which the other end has said `data`, and perhaps has left.
static int connected(const uint8_t *data, size_t size, bool leaves, int *other)
{
    int ends[2];
    fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    ssize_t sent = size > 0 ? send(ends[1], data, size, MSG_NOSIGNAL) : 0;
    fuzz_check(sent >= 0);
    if (leaves) {
        shutdown(ends[1], SHUT_WR);
    }
    *other = ends[1];
    return ends[0];
}

static void knock_at_host(const uint8_t *data, size_t size)
{
    struct comm_host host = {.listener = -1, .size = NODES};
    int lines[NODES] = {-1, -1, -1, -1}, other, found = 0;
    host.lines = lines;
    memcpy(host.invitation.knock, knock, sizeof(knock));
    memcpy(host.invitation.answer, answer, sizeof(answer));
    memset(host.waiting, -1, sizeof(host.waiting));
    host.waiting[0] = connected(data, size, size % 2, &other);
    comm_host_serve(&host);
    for (int i = 0; i < NODES; i++) {
        if (lines[i] >= 0) {
            found++;
            fuzz_check(i > 0 && size > sizeof(knock) && memcmp(data, knock, sizeof(knock)) == 0);
            close(lines[i]);
        }
    }
    fuzz_check(found <= 1 && (found == 0 || host.waiting[0] < 0));
    comm_host_close(&host);
    close(other);
}

static void answer_guest(const uint8_t *data, size_t size)
{
    struct wire_invitation invitation = {.port = 1};
    memcpy(invitation.answer, answer, sizeof(answer));
    int other;
    struct comm_guest guest = {.invitation = &invitation, .rank = 1, .line = -1, .count = 1};
    guest.tries[0] = (struct pollfd){connected(data, size, size % 2, &other), POLLIN, 0};
    (void)comm_guest_try(&guest);
    bool right = size >= sizeof(answer) && memcmp(data, answer, sizeof(answer)) == 0;
    fuzz_check((guest.line >= 0) == right);
    comm_guest_close(&guest);
    if (guest.line >= 0) {
        close(guest.line);
    }
    close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SIZE_MAX_SENT = 4096 }; // what a new connection has room for
    size = size < SIZE_MAX_SENT ? size : SIZE_MAX_SENT;
    knock_at_host(data, size);
    answer_guest(data, size);
    return 0;
}
