// SPDX-License-Identifier: Apache-2.0
// Broadcast and gather. A short broadcast goes from the root to every node, a long one along a
// binomial tree; a gather goes from every node to the root. Each is one job, and the caller waits.
#include <string.h>

#include "comm/node.h"

struct collective {
    struct comm_job job; // first: a job is cast back
    enum comm_kind kind;
    int root;
    const void *own;
    void *data;
    size_t bytes;
};

// MPI sends fewer bytes than this at once. Along a tree they would take longer: a node that has
// used up its CPU share passes them on late.
enum { STRAIGHT_BYTES = 2048 };

static enum stn_status broadcast_straight(struct comm *comm, const struct collective *c)
{
    if (comm->rank != c->root) {
        return comm_receive(comm, c->root, COMM_TAG_COLLECTIVE, c->data, c->bytes);
    }
    enum stn_status status = STN_OK;
    for (int i = 0; i < comm->size && status == STN_OK; i++) {
        if (i != c->root) {
            status = comm_send(comm, i, COMM_TAG_COLLECTIVE, c->kind, c->data, c->bytes);
        }
    }
    return status;
}

// Ranks are counted from the root. A node's children are those that differ from it in one bit below
// its lowest set bit; it gets the data from the one without that bit.
static enum stn_status broadcast_along_tree(struct comm *comm, const struct collective *c)
{
    int size = comm->size, place = (comm->rank - c->root + size) % size, bit = 1;
    while (bit < size && !(place & bit)) {
        bit <<= 1;
    }
    enum stn_status status = STN_OK;
    if (place > 0) {
        int parent = (place - bit + c->root) % size;
        status = comm_receive(comm, parent, COMM_TAG_COLLECTIVE, c->data, c->bytes);
    }
    for (bit >>= 1; bit > 0 && status == STN_OK; bit >>= 1) {
        if (place + bit < size) {
            int child = (place + bit + c->root) % size;
            status = comm_send(comm, child, COMM_TAG_COLLECTIVE, c->kind, c->data, c->bytes);
        }
    }
    return status;
}

static enum stn_status broadcast(struct comm *comm, const struct collective *c)
{
    return c->bytes < STRAIGHT_BYTES ? broadcast_straight(comm, c) : broadcast_along_tree(comm, c);
}

static enum stn_status gather(struct comm *comm, const struct collective *c)
{
    if (comm->rank != c->root) {
        return comm_send(comm, c->root, COMM_TAG_COLLECTIVE, c->kind, c->own, c->bytes);
    }
    char *all = c->data;
    enum stn_status status = STN_OK;
    for (int i = 0; i < comm->size && status == STN_OK; i++) {
        if (i == comm->rank) {
            memmove(all + (size_t)i * c->bytes, c->own, c->bytes);
        } else {
            status =
                comm_receive(comm, i, COMM_TAG_COLLECTIVE, all + (size_t)i * c->bytes, c->bytes);
        }
    }
    return status;
}

static enum stn_status all_gather(struct comm *comm, const struct collective *c)
{
    enum stn_status status = gather(comm, c);
    struct collective result = *c;
    result.bytes *= (size_t)comm->size;
    return status == STN_OK ? broadcast(comm, &result) : status;
}

static enum stn_status broadcast_run(struct comm *comm, struct comm_job *job)
{
    return broadcast(comm, (struct collective *)job);
}

static enum stn_status gather_run(struct comm *comm, struct comm_job *job)
{
    return gather(comm, (struct collective *)job);
}

static enum stn_status all_gather_run(struct comm *comm, struct comm_job *job)
{
    return all_gather(comm, (struct collective *)job);
}

static enum stn_status run_and_wait(struct comm *comm, struct collective *c)
{
    if (c->bytes == 0) {
        return STN_OK;
    }
    comm_submit(comm, &c->job);
    return comm_wait(comm, &c->job);
}

enum stn_status comm_collective_all_gather(struct comm *comm, enum comm_kind kind, const void *own,
                                           size_t bytes, void *all)
{
    struct collective c = {.kind = kind, .own = own, .data = all, .bytes = bytes};
    return all_gather(comm, &c);
}

enum stn_status comm_collective_broadcast(struct comm *comm, enum comm_kind kind, int root,
                                          void *data, size_t bytes)
{
    struct collective c = {.kind = kind, .root = root, .data = data, .bytes = bytes};
    return broadcast(comm, &c);
}

enum stn_status comm_broadcast(struct comm *comm, enum comm_kind kind, int root, void *data,
                               size_t bytes)
{
    struct collective c = {
        .job.run = broadcast_run, .kind = kind, .root = root, .data = data, .bytes = bytes};
    return run_and_wait(comm, &c);
}

enum stn_status comm_gather(struct comm *comm, enum comm_kind kind, int root, const void *own,
                            size_t bytes, void *all)
{
    struct collective c = {
        .job.run = gather_run, .kind = kind, .root = root, .own = own, .data = all, .bytes = bytes};
    return run_and_wait(comm, &c);
}

enum stn_status comm_all_gather(struct comm *comm, enum comm_kind kind, const void *own,
                                size_t bytes, void *all)
{
    struct collective c = {
        .job.run = all_gather_run, .kind = kind, .own = own, .data = all, .bytes = bytes};
    return run_and_wait(comm, &c);
}
