// SPDX-License-Identifier: Apache-2.0
// Lifelines: a TCP connection of every node to node 0, beside MPI. Nothing is sent over it until a
// node is lost. When a process ends, the kernel closes its lifeline, so its end is seen at once,
// also from other machines; and nodes tell each other over lifelines which one was lost, even when
// MPI no longer works. Where a lifeline cannot be made (a firewall), the node does without: the end
// of a process is then seen at once on its own machine, and by its silence on others.
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/handshake.h"
#include "comm/node.h"

static const int64_t reach_max_ns = 2000000000; // for a node to reach node 0
enum { REACHES_IN_TIMEOUT = 4 };

// The lifeline takes the place of a pidfd, so that a node's last words are heard before its end is
// noticed.
static void adopt(struct comm *comm, int peer, int line)
{
    int whole = WIRE_SIGN_BYTES; // less than that is nothing to wake up for
    if (setsockopt(line, SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole)) != 0) {
        close(line);
        return;
    }
    if (comm->processes[peer].fd >= 0) {
        close(comm->processes[peer].fd);
    }
    comm->processes[peer].fd = line;
    comm->peers[peer].has_lifeline = true;
}

// ---- beginning ---------------------------------------------------------------------------------

// Lets nodes in until this one has said whether it has a line. If node 0 kept a line that the node
// has given up, the line's end would look like the node's death.
static enum stn_status await_word(struct comm *comm, struct comm_host *host, int peer,
                                  bool *has_line)
{
    int64_t since_ns = base_clock_ns();
    uint8_t word[WIRE_ANSWER_BYTES] = {0};
    struct wire_answer answer;
    bool done = false;
    struct comm_transfer transfer;
    enum stn_status status =
        comm_receive_begin(comm, peer, COMM_TAG_COLLECTIVE, word, sizeof(word), &transfer);
    while (status == STN_OK && !done) {
        comm_host_serve(host);
        status = comm_transfer_test(comm, &transfer, &done);
        if (status == STN_OK && !done) {
            status = comm_liveness_expect(comm, peer, since_ns);
        }
        if (status == STN_OK && !done) {
            status = comm_wait_pause(comm);
        }
    }
    *has_line = wire_decode(WIRE_ANSWER, word, &answer) && answer.yes;
    return status;
}

static enum stn_status receive_guests(struct comm *comm, struct comm_host *host)
{
    enum stn_status status = STN_OK;
    for (int i = 1; i < comm->size; i++) {
        bool has_line = false;
        if (status == STN_OK) {
            status = await_word(comm, host, i, &has_line);
        }
        if (has_line && host->lines[i] >= 0) {
            adopt(comm, i, host->lines[i]);
        } else if (host->lines[i] >= 0) {
            close(host->lines[i]);
        }
    }
    return status;
}

static enum stn_status be_host(struct comm *comm, bool local)
{
    struct comm_host *host = malloc(sizeof(*host));
    int *lines = malloc((size_t)comm->size * sizeof(*lines));
    enum stn_status status = STN_OK;
    if (!host || !lines) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory for a cluster of %d nodes", comm->size);
        goto out_free;
    }
    comm_host_open(host, local, comm->size, lines);
    status = comm_collective_broadcast_message(comm, 0, WIRE_INVITATION, &host->invitation);
    if (status == STN_OK) {
        status = receive_guests(comm, host);
    }
    comm_host_close(host);
out_free:
    free(lines);
    free(host);
    return status;
}

static enum stn_status be_guest(struct comm *comm, bool same_machine)
{
    struct wire_invitation invitation;
    enum stn_status status =
        comm_collective_broadcast_message(comm, 0, WIRE_INVITATION, &invitation);
    if (status != STN_OK) {
        return status;
    }
    int64_t reach_ns = comm->timeout_ns / REACHES_IN_TIMEOUT;
    int64_t until_ns = base_clock_ns() + (reach_ns < reach_max_ns ? reach_ns : reach_max_ns);
    struct comm_guest guest;
    comm_guest_open(&guest, &invitation, comm->rank, same_machine);
    comm_wait_moved(comm);
    while (status == STN_OK && comm_guest_try(&guest) && base_clock_ns() < until_ns) {
        status = comm_wait_pause(comm);
    }
    comm_guest_close(&guest);
    const struct wire_answer answer = {.yes = guest.line >= 0};
    if (status == STN_OK) {
        status = comm_send_message(comm, 0, COMM_TAG_COLLECTIVE, WIRE_ANSWER, &answer);
    }
    if (guest.line >= 0) {
        adopt(comm, 0, guest.line);
    }
    return status;
}

enum stn_status comm_lifeline_start(struct comm *comm, bool same_machine, bool local)
{
    return comm->rank == 0 ? be_host(comm, local) : be_guest(comm, same_machine);
}

// ---- words -------------------------------------------------------------------------------------

bool comm_lifeline_say(struct comm *comm, int peer, const uint8_t sign[WIRE_SIGN_BYTES])
{
    int fd = comm->processes[peer].fd;
    return comm->peers[peer].has_lifeline && fd >= 0 &&
           send(fd, sign, WIRE_SIGN_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL) == WIRE_SIGN_BYTES;
}

bool comm_lifeline_hear(struct comm *comm, int peer)
{
    uint8_t bytes[WIRE_SIGN_BYTES];
    ssize_t got = recv(comm->processes[peer].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got == WIRE_SIGN_BYTES && comm_sign_read(comm, bytes, &comm->peers[peer].word)) {
        comm->peers[peer].has_word = true;
        return true;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}
