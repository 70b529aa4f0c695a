// SPDX-License-Identifier: Apache-2.0
// One node's end of the cluster: which nodes take part, messages between them, and noticing that
// one of them is gone.
//
// Each node has one communication thread. It alone talks to the transport (MPI, or memory between
// threads in tests), works off jobs in the order they were submitted, and sends signs of life also
// while a job waits. Waiting sleeps; it never spins. Nodes submit the same jobs in the same order,
// so a job may wait for other nodes without a deadlock.
//
//     comm_open → collectives and jobs … → comm_close
//
// A node is lost when it stays silent for the time-out, when its process ends (on any machine), or
// when a connection breaks. Every wait on every node then ends with ERR_NODE_LOST; the lowest
// living node has logged the one line that names the lost node, its step and what it did last.
// Nothing can be sent after that.
//
// Threads: comm_submit, comm_wait, the collectives and comm_set_phase belong to one thread of the
// node; comm_send and its like to the job functions, which run on the communication thread.
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"
#include "wire/wire.h"

struct comm;

// What bytes are sent for, as they are counted. There is no kind for samples: no message carries
// one.
enum comm_kind { COMM_GRADIENTS, COMM_STATISTICS, COMM_CONTROL, COMM_KINDS };

enum { COMM_NAME_BYTES = WIRE_NAME_BYTES };

struct comm_traffic {
    int64_t sent_bytes[COMM_KINDS];
};

// ---- opening -----------------------------------------------------------------------------------

// What a launcher (mpirun, srun) tells its processes through the environment, before any MPI call.
struct comm_launch {
    bool launched; // a launcher started this process, be it the only one
    int rank, size;
    int local_size; // processes of this job on this machine; 1 when unknown
};
struct comm_launch comm_launch_detect(void);

// Enters the transport without opening a node: once in a process, for as long as it lasts. All
// processes that a launcher started (or that share the caller's own MPI) call it, or none. Without
// any *rank is 0 and *size 1. comm_open does it too.
STN_MUST_CHECK enum stn_status comm_enter(int *rank, int *size);

// Connects to the nodes the launcher started; without one, a cluster of this node alone, which
// needs no thread and sends nothing. One at a time, again after comm_close; from one thread.
STN_MUST_CHECK enum stn_status comm_open(double timeout_seconds, struct comm **out);
// This node alone, whatever a launcher started.
STN_MUST_CHECK enum stn_status comm_open_alone(struct comm **out);
// After a loss the transport is not shut down (that would wait for the dead): the process should
// end, and the launcher ends the others. NULL is fine.
void comm_close(struct comm *comm);

// Says that this node cannot go on: jobs that wait for it, on other nodes and here, end with
// ERR_NODE_LOST. comm_close does the same; this is for callers that must wait for their jobs before
// they close.
void comm_abandon(struct comm *comm);

// `size` nodes in this process, each to be used by a thread of its own: for tests.
STN_MUST_CHECK enum stn_status comm_loopback_create(int size, double timeout_seconds,
                                                    struct comm *nodes[]);

int comm_rank(const struct comm *comm);
int comm_size(const struct comm *comm);
// What node `rank` is called in error lines. Until named, nodes are "node 0", "node 1", …
void comm_set_name(struct comm *comm, int rank, const char *name);
const char *comm_name(const struct comm *comm, int rank);
// What this node is doing, for the line that names it if it is lost. `phase` is a literal.
void comm_set_phase(struct comm *comm, int64_t step, const char *phase);
struct comm_traffic comm_traffic(const struct comm *comm);
// Processor time that the communication thread has used.
double comm_processor_seconds(const struct comm *comm);
// The name of the machine that node `rank` runs on, as it calls itself.
const char *comm_host(const struct comm *comm, int rank);
// The rank of the lost node, or −1; this node's own if its connection to another node broke.
int comm_lost(const struct comm *comm);

// ---- collectives: every node calls, and waits --------------------------------------------------

STN_MUST_CHECK enum stn_status comm_broadcast(struct comm *comm, enum comm_kind kind, int root,
                                              void *data, size_t bytes);
// `all` is [size][bytes], in rank order, and may be NULL on the others.
STN_MUST_CHECK enum stn_status comm_gather(struct comm *comm, enum comm_kind kind, int root,
                                           const void *own, size_t bytes, void *all);
STN_MUST_CHECK enum stn_status comm_all_gather(struct comm *comm, enum comm_kind kind,
                                               const void *own, size_t bytes, void *all);

// ---- messages (wire/wire.h), of kind COMM_CONTROL ----------------------------------------------

// Collectives of a message's struct. Bytes that are no such message are ERR_CORRUPT, with the name
// of the node that they came from.
STN_MUST_CHECK enum stn_status comm_broadcast_message(struct comm *comm, int root,
                                                      enum wire_message message, void *value);
// `all` is [size] structs, in rank order, and may be NULL on the others.
STN_MUST_CHECK enum stn_status comm_gather_message(struct comm *comm, int root,
                                                   enum wire_message message, const void *own,
                                                   void *all);
STN_MUST_CHECK enum stn_status comm_all_gather_message(struct comm *comm, enum wire_message message,
                                                       const void *own, void *all);
// The line for a message from that node that cannot be read.
enum stn_status comm_fail_message(const struct comm *comm, int rank, enum wire_message message);

// ---- jobs on the communication thread ----------------------------------------------------------

// A caller has it as a part of a struct of its own, zeroes it before it is first submitted, and may
// submit it again once it has waited for it.
struct comm_job {
    enum stn_status (*run)(struct comm *comm, struct comm_job *job);
    enum stn_status status;
    bool done;
    struct comm_job *next;
};

void comm_submit(struct comm *comm, struct comm_job *job);
STN_MUST_CHECK enum stn_status comm_wait(struct comm *comm, struct comm_job *job);
bool comm_is_done(struct comm *comm, struct comm_job *job); // does not wait

// A transfer under way; the buffer is borrowed until it is finished.
struct comm_transfer {
    void *request; // the transport's
    int peer;
};

// Messages between two nodes arrive in the order sent, per tag (0 … 1000).
STN_MUST_CHECK enum stn_status comm_send_begin(struct comm *comm, int peer, int tag,
                                               enum comm_kind kind, const void *data, size_t bytes,
                                               struct comm_transfer *out);
STN_MUST_CHECK enum stn_status comm_receive_begin(struct comm *comm, int peer, int tag, void *data,
                                                  size_t bytes, struct comm_transfer *out);
STN_MUST_CHECK enum stn_status comm_transfer_finish(struct comm *comm,
                                                    struct comm_transfer *transfer);
// Does not wait. A transfer that is *done is finished.
STN_MUST_CHECK enum stn_status comm_transfer_test(struct comm *comm, struct comm_transfer *transfer,
                                                  bool *done);
// Each begins a transfer and finishes it.
STN_MUST_CHECK enum stn_status comm_send(struct comm *comm, int peer, int tag, enum comm_kind kind,
                                         const void *data, size_t bytes);
STN_MUST_CHECK enum stn_status comm_receive(struct comm *comm, int peer, int tag, void *data,
                                            size_t bytes);
STN_MUST_CHECK enum stn_status comm_send_message(struct comm *comm, int peer, int tag,
                                                 enum wire_message message, const void *value);
STN_MUST_CHECK enum stn_status comm_receive_message(struct comm *comm, int peer, int tag,
                                                    enum wire_message message, void *value);

#endif
