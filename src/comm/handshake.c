// SPDX-License-Identifier: Apache-2.0
#include "comm/handshake.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum word { WORD_NONE, WORD_WHOLE, WORD_NEVER };

// Takes a word that has arrived whole; leaves one that has not.
static enum word hear(int fd, void *word, size_t bytes)
{
    ssize_t got = recv(fd, word, bytes, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        return WORD_NEVER;
    }
    if (got < (ssize_t)bytes) {
        return WORD_NONE;
    }
    return recv(fd, word, bytes, MSG_DONTWAIT) == got ? WORD_WHOLE : WORD_NEVER;
}

// Does not wait: a new connection has room for so few bytes.
static bool say(int fd, const void *word, size_t bytes)
{
    return send(fd, word, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes;
}

static struct sockaddr_in address_of(uint32_t address, int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(address)};
}

// ---- node 0 ------------------------------------------------------------------------------------

static void list_addresses(struct wire_invitation *invitation)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (struct ifaddrs *one = all; one; one = one->ifa_next) {
        bool is_network = one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
                          (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK);
        if (is_network && invitation->count < WIRE_ADDRESSES_MAX) {
            struct sockaddr_in address;
            memcpy(&address, one->ifa_addr, sizeof(address));
            invitation->addresses[invitation->count++] = ntohl(address.sin_addr.s_addr);
        }
    }
    freeifaddrs(all);
}

static int listen_at(uint32_t where, int backlog, int *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = address_of(where, 0);
    socklen_t length = sizeof(address);
    if (fd >= 0 &&
        (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, backlog) != 0 ||
         getsockname(fd, (struct sockaddr *)&address, &length) != 0)) {
        close(fd);
        fd = -1;
    }
    *port = fd < 0 ? 0 : ntohs(address.sin_port);
    return fd;
}

void comm_host_open(struct comm_host *host, bool local, int size, int *lines)
{
    memset(host, 0, sizeof(*host));
    host->size = size;
    host->lines = lines;
    host->listener = -1;
    memset(lines, -1, (size_t)size * sizeof(*lines));
    memset(host->waiting, -1, sizeof(host->waiting));
    struct wire_invitation *invitation = &host->invitation;
    const size_t bytes = WIRE_SECRET_BYTES;
    if (getrandom(invitation->knock, bytes, 0) != (ssize_t)bytes ||
        getrandom(invitation->answer, bytes, 0) != (ssize_t)bytes) {
        return;
    }
    if (!local) {
        list_addresses(invitation);
    }
    uint32_t where = local ? INADDR_LOOPBACK : INADDR_ANY;
    host->listener = listen_at(where, size + COMM_WAITING_MAX, &invitation->port);
}

// Hears a connection that waits: with the right knock it becomes the line of that node. True: its
// place in waiting[] is free again.
static bool receive(struct comm_host *host, int fd)
{
    uint8_t bytes[WIRE_KNOCK_BYTES];
    struct wire_knock knock;
    enum word word = hear(fd, bytes, sizeof(bytes));
    if (word == WORD_NONE) {
        return false;
    }
    const struct wire_invitation *invitation = &host->invitation;
    if (word == WORD_WHOLE && wire_decode(WIRE_KNOCK, bytes, &knock) && knock.rank > 0 &&
        knock.rank < host->size &&
        memcmp(knock.secret, invitation->knock, WIRE_SECRET_BYTES) == 0 &&
        host->lines[knock.rank] < 0 && say(fd, invitation->answer, WIRE_SECRET_BYTES)) {
        host->lines[knock.rank] = fd;
    } else {
        close(fd);
    }
    return true;
}

void comm_host_serve(struct comm_host *host)
{
    int fd;
    while (host->listener >= 0 &&
           (fd = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        int *place = &host->waiting[host->came++ % COMM_WAITING_MAX];
        if (*place >= 0) {
            close(*place); // a connection that says nothing for so long is a stranger's
        }
        *place = fd;
    }
    for (int i = 0; i < COMM_WAITING_MAX; i++) {
        if (host->waiting[i] >= 0 && receive(host, host->waiting[i])) {
            host->waiting[i] = -1;
        }
    }
}

void comm_host_close(struct comm_host *host)
{
    if (host->listener >= 0) {
        close(host->listener);
    }
    for (int i = 0; i < COMM_WAITING_MAX; i++) {
        if (host->waiting[i] >= 0) {
            close(host->waiting[i]);
        }
    }
}

// ---- the others --------------------------------------------------------------------------------

static void begin(struct comm_guest *guest, uint32_t where)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = address_of(where, guest->invitation->port);
    if (fd < 0) {
        return;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno != EINPROGRESS) {
        close(fd);
        return;
    }
    guest->tries[guest->count++] = (struct pollfd){.fd = fd, .events = POLLOUT};
}

void comm_guest_open(struct comm_guest *guest, const struct wire_invitation *invitation, int rank,
                     bool same_machine)
{
    *guest = (struct comm_guest){.invitation = invitation, .rank = rank, .line = -1};
    if (invitation->port <= 0 || invitation->port > UINT16_MAX) {
        return;
    }
    if (same_machine) {
        begin(guest, INADDR_LOOPBACK);
    }
    for (int i = 0; i < invitation->count && i < WIRE_ADDRESSES_MAX; i++) {
        begin(guest, invitation->addresses[i]);
    }
}

// Takes one connection one step further. False: it will never become a line.
static bool advance(struct comm_guest *guest, struct pollfd *one)
{
    const struct wire_invitation *invitation = guest->invitation;
    if (one->events == POLLOUT) {
        struct wire_knock knock = {.rank = guest->rank};
        uint8_t bytes[WIRE_KNOCK_BYTES];
        memcpy(knock.secret, invitation->knock, WIRE_SECRET_BYTES);
        wire_encode(WIRE_KNOCK, &knock, bytes);
        one->events = POLLIN;
        return say(one->fd, bytes, sizeof(bytes)); // fails if connecting did
    }
    uint8_t answer[WIRE_SECRET_BYTES];
    enum word word = hear(one->fd, answer, sizeof(answer));
    if (word == WORD_WHOLE && memcmp(answer, invitation->answer, sizeof(answer)) == 0) {
        guest->line = one->fd;
        one->fd = -1;
        return true;
    }
    return word == WORD_NONE;
}

bool comm_guest_try(struct comm_guest *guest)
{
    bool hope = false;
    poll(guest->tries, (nfds_t)guest->count, 0);
    for (int i = 0; i < guest->count && guest->line < 0; i++) {
        struct pollfd *one = &guest->tries[i];
        if (one->fd >= 0 && one->revents && !advance(guest, one)) {
            close(one->fd);
            one->fd = -1;
        }
        hope = hope || one->fd >= 0;
    }
    return hope && guest->line < 0;
}

void comm_guest_close(struct comm_guest *guest)
{
    for (int i = 0; i < guest->count; i++) {
        if (guest->tries[i].fd >= 0) {
            close(guest->tries[i].fd);
        }
    }
}
