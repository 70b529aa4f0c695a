// SPDX-License-Identifier: Apache-2.0
// For implementers: a transport carries messages between nodes, without blocking. It does nothing
// else: comm waits, keeps jobs in order, sends signs of life and counts bytes.
//
// The node's communication thread alone uses a transport, from the first message to the last; the
// thread that owns the node opens and closes it.
#ifndef COMM_BACKEND_H
#define COMM_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "comm/comm.h"
#include "stannis/status.h"

// Tags beyond those of callers.
enum { COMM_TAG_MAX = 1000, COMM_TAG_COLLECTIVE, COMM_TAG_LIFE };

struct comm_transport {
    const struct comm_transport_ops *ops;
    int rank, size;
    // A connection has failed, and with it the transport: transfers can be begun, but none is ever
    // done.
    atomic_bool broken;
};

struct comm_transport_ops {
    // Both begin a transfer and set *request, which stands for it. The buffer is borrowed until
    // `test` has said that the transfer is done. Messages between two nodes with the same
    // tag arrive in the order sent.
    enum stn_status (*send)(struct comm_transport *transport, int peer, int tag, const void *data,
                            size_t bytes, void **request);
    enum stn_status (*receive)(struct comm_transport *transport, int peer, int tag, void *data,
                               size_t bytes, void **request);
    // Once done, the request is no more. Every call also moves other transfers on.
    enum stn_status (*test)(struct comm_transport *transport, void **request, bool *done);
    // Gives up a receive, which is not tested any more; its buffer is free again. May be NULL where
    // closing does it.
    void (*cancel)(struct comm_transport *transport, void **request);
    // Whether the node is known to have ended: for transports that can tell. May be NULL.
    bool (*is_gone)(struct comm_transport *transport, int peer);
    // A node was lost: open transfers are given up, and their buffers free again. May be NULL where
    // nothing moves unless the transport is called.
    void (*give_up)(struct comm_transport *transport);
    // `lost`: a node was lost, so closing must not wait for other nodes.
    void (*close)(struct comm_transport *transport, bool lost);
};

// One node of the cluster that the launcher started, one transport at a time.
STN_MUST_CHECK enum stn_status comm_mpi_open(struct comm_transport **out);
// Initialises MPI, as opening does first; it stays so until the process exits.
STN_MUST_CHECK enum stn_status comm_mpi_enter(int *rank, int *size);
// Whether MPI has been initialised in this process, by us or by the caller, and not finalised.
bool comm_mpi_started(void);
enum { COMM_LOOPBACK_MAX = 32 };
// `size` transports (COMM_LOOPBACK_MAX at most) that share memory; the last one closed frees it.
STN_MUST_CHECK enum stn_status comm_loopback_open(int size, struct comm_transport *out[]);

// Faults of a loopback node, for tests: it stands still as after SIGSTOP, or its process is gone,
// or its transport breaks. After the first two the node counts itself as lost, so that it can be
// closed.
enum comm_loopback_fault { COMM_LOOPBACK_STOPPED, COMM_LOOPBACK_GONE, COMM_LOOPBACK_BROKEN };
void comm_loopback_break(struct comm *node, enum comm_loopback_fault fault);

#endif
