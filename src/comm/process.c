// SPDX-License-Identifier: Apache-2.0
// Before anything else nodes say hello: which protocol they speak, and which process of which
// machine they are. After that the kernel tells when a process of this machine ends. Where it
// cannot (other machines, other containers, old kernels) lifelines tell, or else silence.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm/node.h"
#include "stannis/stannis.h"

static void identify(struct wire_hello *self)
{
    *self = (struct wire_hello){.protocol = WIRE_PROTOCOL, .layouts = wire_hash()};
    snprintf(self->version, sizeof(self->version), "%s", STN_VERSION);
    snprintf(self->host, sizeof(self->host), "node");
    gethostname(self->host, sizeof(self->host) - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(self->boot, sizeof(self->boot), file)) {
            self->boot[0] = 0;
        }
        fclose(file);
    }
    struct stat space;
    self->pid_space = stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
    self->pid = getpid();
}

enum stn_status comm_hello_compare(const struct wire_hello *first, const struct wire_hello *other,
                                   int rank)
{
    if (other->protocol != first->protocol) {
        return stn_fail(STN_ERR_INVALID,
                        "node %d on %s speaks protocol %d (Stannis %s), node 0 on %s protocol %d "
                        "(Stannis %s); install the same Stannis on all",
                        rank, other->host, other->protocol, other->version, first->host,
                        first->protocol, first->version);
    }
    if (other->layouts != first->layouts) {
        return stn_fail(STN_ERR_INVALID,
                        "node %d on %s speaks another protocol %d (%016" PRIx64
                        ") than node 0 on %s (%016" PRIx64 "); install the same Stannis on all",
                        rank, other->host, other->protocol, other->layouts, first->host,
                        first->layouts);
    }
    return STN_OK;
}

// All nodes come to the same result; the line is node 0's to write.
static enum stn_status compare_all(struct comm *comm, const struct wire_hello *all)
{
    for (int i = 1; i < comm->size; i++) {
        bool same = all[i].protocol == all[0].protocol && all[i].layouts == all[0].layouts;
        if (!same) {
            return comm->rank == 0 ? comm_hello_compare(&all[0], &all[i], i) : STN_ERR_INVALID;
        }
    }
    return STN_OK;
}

// ---- machines ----------------------------------------------------------------------------------

static bool is_same_machine(const struct wire_hello *self, const struct wire_hello *other)
{
    return self->boot[0] && strcmp(self->boot, other->boot) == 0;
}

static bool is_neighbour(const struct wire_hello *self, const struct wire_hello *other)
{
    return is_same_machine(self, other) && self->pid_space && self->pid_space == other->pid_space &&
           self->pid != other->pid;
}

// A transport that can tell which node is gone needs no lifelines.
static enum stn_status tie_lifelines(struct comm *comm, const struct wire_hello *all)
{
    bool local = true;
    for (int i = 1; i < comm->size; i++) {
        local = local && is_neighbour(&all[0], &all[i]);
    }
    bool same_machine = is_same_machine(&all[0], &all[comm->rank]);
    return comm->transport->ops->is_gone ? STN_OK : comm_lifeline_start(comm, same_machine, local);
}

enum stn_status comm_process_start(struct comm *comm)
{
    struct wire_hello self, *all = calloc((size_t)comm->size, sizeof(*all));
    if (!all) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a cluster of %d nodes", comm->size);
    }
    identify(&self);
    enum stn_status status = comm_collective_all_gather_message(comm, WIRE_HELLO, &self, all);
    if (status == STN_OK) {
        status = compare_all(comm, all);
    }
    for (int i = 0; status == STN_OK && i < comm->size; i++) {
        memcpy(comm->hosts[i], all[i].host, sizeof(comm->hosts[i]));
        if (is_neighbour(&self, &all[i])) {
            comm->processes[i].fd = (int)syscall(SYS_pidfd_open, (pid_t)all[i].pid, 0);
        }
    }
    if (status == STN_OK) {
        status = tie_lifelines(comm, all);
    }
    free(all);
    return status;
}

void comm_process_stop(struct comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        if (comm->processes[i].fd >= 0) {
            close(comm->processes[i].fd);
        }
    }
}

void comm_process_sleep(struct comm *comm, int64_t pause_ns)
{
    struct timespec pause = {.tv_nsec = pause_ns};
    if (ppoll(comm->processes, (nfds_t)comm->size, &pause, NULL) <= 0) {
        return;
    }
    comm->alarm = true;
    for (int i = 0; i < comm->size; i++) {
        if (comm->processes[i].fd >= 0 && comm->processes[i].revents &&
            !(comm->peers[i].has_lifeline && comm_lifeline_hear(comm, i))) {
            comm->peers[i].gone = true;
            close(comm->processes[i].fd);
            comm->processes[i].fd = -1;
        }
    }
}

bool comm_process_is_gone(struct comm *comm, int rank)
{
    const struct comm_transport_ops *ops = comm->transport->ops;
    struct comm_peer *peer = &comm->peers[rank];
    if (!peer->gone && ops->is_gone) {
        peer->gone = ops->is_gone(comm->transport, rank);
    }
    return peer->gone;
}
