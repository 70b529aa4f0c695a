// SPDX-License-Identifier: Apache-2.0
// The launcher listens on a socket in the abstract namespace, which leaves nothing in a file
// system, and has one connection to every node. A node sends its rank and waits for an answer, so
// that no node ends before it is known. At a regular end it sends its exit code.
#include "launch/witness.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/wire.h"

enum { EVENTS_AT_ONCE = 32, BACKLOG = 128, HEARD_SECONDS_MAX = 10 };

static const uint32_t unknown_rank = UINT32_MAX;

static socklen_t address_of(const char *name, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *path = out->sun_path + 1; // a zero in front: not a file
    snprintf(path, sizeof(out->sun_path) - 1, "stannis-launcher-%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(path));
}

// ---- the launcher ------------------------------------------------------------------------------

// Watches a connection. Events of epoll then tell its descriptor and the rank at its other end.
static bool watch(const struct launch_witness *witness, int operation, int fd, uint32_t rank)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP,
                                .data.u64 = (uint64_t)rank << 32 | (uint32_t)fd};
    return epoll_ctl(witness->fd, operation, fd, &event) == 0;
}

enum stn_status launch_witness_begin(struct launch_witness *witness, const char *name)
{
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    *witness = (struct launch_witness){.killed_rank = -1, .failed_rank = -1};
    witness->fd = epoll_create1(EPOLL_CLOEXEC);
    witness->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (witness->fd < 0 || witness->door < 0 ||
        bind(witness->door, (struct sockaddr *)&address, size) != 0 ||
        listen(witness->door, BACKLOG) != 0 ||
        !watch(witness, EPOLL_CTL_ADD, witness->door, unknown_rank)) {
        enum stn_status status =
            stn_fail(STN_ERR_IO, "cannot listen for nodes: %s", strerror(errno));
        launch_witness_end(witness);
        return status;
    }
    return STN_OK;
}

void launch_witness_end(struct launch_witness *witness)
{
    if (witness->door >= 0) {
        close(witness->door);
    }
    if (witness->fd >= 0) {
        close(witness->fd);
    }
    witness->fd = witness->door = -1;
}

// Any user of the machine may connect; only processes of our own user are heard.
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void let_in(const struct launch_witness *witness)
{
    int fd = accept4(witness->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && (!is_ours(fd) || !watch(witness, EPOLL_CTL_ADD, fd, unknown_rank))) {
        close(fd);
    }
}

// Takes one message of a node, or notes its end.
static void listen_to(struct launch_witness *witness, int fd, uint32_t rank)
{
    uint8_t bytes[WIRE_WITNESS_BYTES];
    struct wire_witness said = {0};
    ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    bool speaks = got == WIRE_WITNESS_BYTES && wire_decode(WIRE_WITNESS, bytes, &said);
    if (speaks && rank == unknown_rank) {
        watch(witness, EPOLL_CTL_MOD, fd, (uint32_t)said.number);
        send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
        return;
    }
    if (speaks && said.number != 0 && witness->failed_rank < 0) {
        witness->failed_rank = (int)rank;
        witness->code = said.number;
    } else if (!speaks && rank != unknown_rank && witness->killed_rank < 0) {
        witness->killed_rank = (int)rank;
    }
    close(fd);
}

// epoll reports connections in the order in which they became ready, which poll does not. So the
// node that failed first comes before those that mpirun ended because of it, however late we look.
void launch_witness_take(struct launch_witness *witness)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count;
    while ((count = epoll_wait(witness->fd, events, EVENTS_AT_ONCE, 0)) > 0) {
        for (int i = 0; i < count; i++) {
            int fd = (int)(uint32_t)events[i].data.u64;
            if (fd == witness->door) {
                let_in(witness);
            } else {
                listen_to(witness, fd, (uint32_t)(events[i].data.u64 >> 32));
            }
        }
    }
}

// ---- a node ------------------------------------------------------------------------------------

static struct {
    pid_t pid; // of the node; a child of it that exits sends nothing
    int fd;
} self;

static void say_farewell(int code, void *unused)
{
    (void)unused;
    const struct wire_witness farewell = {.number = code};
    uint8_t bytes[WIRE_WITNESS_BYTES];
    wire_encode(WIRE_WITNESS, &farewell, bytes);
    if (getpid() == self.pid) {
        send(self.fd, bytes, sizeof(bytes), MSG_NOSIGNAL); // the launcher may have ended
    }
}

static bool introduce(int fd, const char *name, int rank)
{
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    struct timeval patience = {.tv_sec = HEARD_SECONDS_MAX};
    const struct wire_witness own = {.number = rank};
    uint8_t bytes[WIRE_WITNESS_BYTES];
    wire_encode(WIRE_WITNESS, &own, bytes);
    return connect(fd, (struct sockaddr *)&address, size) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
           send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) == WIRE_WITNESS_BYTES &&
           recv(fd, bytes, sizeof(bytes), 0) == WIRE_WITNESS_BYTES;
}

void launch_witness_attend(const char *name, int rank)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && introduce(fd, name, rank) && on_exit(say_farewell, NULL) == 0) {
        self.pid = getpid();
        self.fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
}
