// SPDX-License-Identifier: Apache-2.0
// Transfers, and how a node sleeps until they are done. A wait sleeps for an eighth of what it has
// lasted: it notices the end with an eighth of delay at most, and one that lasts costs next to
// nothing. Runs on the communication thread.
#include <assert.h>

#include "base/clock.h"
#include "comm/node.h"

enum { PAUSE_MIN_NS = 20000, PAUSE_MAX_NS = 2000000, PAUSE_SHARE = 8 };

void comm_wait_moved(struct comm *comm)
{
    comm->moved_ns = base_clock_ns();
}

// How long to sleep until the next look at open transfers.
static int64_t pause_ns(const struct comm *comm)
{
    int64_t pause = (base_clock_ns() - comm->moved_ns) / PAUSE_SHARE;
    return pause < PAUSE_MIN_NS ? PAUSE_MIN_NS : pause > PAUSE_MAX_NS ? PAUSE_MAX_NS : pause;
}

enum stn_status comm_wait_pause(struct comm *comm)
{
    comm_process_sleep(comm, pause_ns(comm));
    return comm_liveness_tick(comm);
}

static enum stn_status begun(struct comm *comm, enum stn_status status, int peer,
                             struct comm_transfer *transfer)
{
    if (status == STN_OK) {
        transfer->peer = peer;
        comm->transfers++;
        comm_wait_moved(comm);
    }
    return status;
}

static enum stn_status check(const struct comm *comm, int peer, int tag)
{
    assert(comm->transport && peer >= 0 && peer < comm->size && peer != comm->rank);
    assert(tag >= 0 && tag <= COMM_TAG_COLLECTIVE);
    (void)peer;
    (void)tag;
    return atomic_load(&comm->lost) < 0 ? STN_OK : STN_ERR_NODE_LOST;
}

enum stn_status comm_send_begin(struct comm *comm, int peer, int tag, enum comm_kind kind,
                                const void *data, size_t bytes, struct comm_transfer *out)
{
    enum stn_status status = check(comm, peer, tag);
    if (status != STN_OK) {
        return status;
    }
    atomic_fetch_add_explicit(&comm->sent_bytes[kind], (long long)bytes, memory_order_relaxed);
    struct comm_transport *transport = comm->transport;
    status = transport->ops->send(transport, peer, tag, data, bytes, &out->request);
    return begun(comm, status, peer, out);
}

enum stn_status comm_receive_begin(struct comm *comm, int peer, int tag, void *data, size_t bytes,
                                   struct comm_transfer *out)
{
    enum stn_status status = check(comm, peer, tag);
    if (status != STN_OK) {
        return status;
    }
    struct comm_transport *transport = comm->transport;
    status = transport->ops->receive(transport, peer, tag, data, bytes, &out->request);
    return begun(comm, status, peer, out);
}

enum stn_status comm_transfer_test(struct comm *comm, struct comm_transfer *transfer, bool *done)
{
    if (atomic_load(&comm->lost) >= 0) {
        return STN_ERR_NODE_LOST;
    }
    enum stn_status status = comm->transport->ops->test(comm->transport, &transfer->request, done);
    if (status == STN_OK && *done) {
        comm->transfers--;
        comm_wait_moved(comm);
    }
    return status;
}

enum stn_status comm_transfer_finish(struct comm *comm, struct comm_transfer *transfer)
{
    int64_t since_ns = base_clock_ns();
    bool done = false;
    enum stn_status status = comm_transfer_test(comm, transfer, &done);
    while (status == STN_OK && !done) {
        status = comm_wait_pause(comm);
        if (status == STN_OK) {
            status = comm_transfer_test(comm, transfer, &done);
        }
        if (status == STN_OK && !done) {
            status = comm_liveness_expect(comm, transfer->peer, since_ns);
        }
    }
    return status;
}

enum stn_status comm_send(struct comm *comm, int peer, int tag, enum comm_kind kind,
                          const void *data, size_t bytes)
{
    struct comm_transfer transfer;
    enum stn_status status = comm_send_begin(comm, peer, tag, kind, data, bytes, &transfer);
    return status == STN_OK ? comm_transfer_finish(comm, &transfer) : status;
}

enum stn_status comm_receive(struct comm *comm, int peer, int tag, void *data, size_t bytes)
{
    struct comm_transfer transfer;
    enum stn_status status = comm_receive_begin(comm, peer, tag, data, bytes, &transfer);
    return status == STN_OK ? comm_transfer_finish(comm, &transfer) : status;
}
