// SPDX-License-Identifier: Apache-2.0
// struct comm, as the files of this folder see it.
//
//     comm.c        opening and closing, jobs and the thread that runs them
//     wait.c        transfers, and how a node sleeps until they are done
//     process.c     hello; which nodes are processes of this machine, and whether they have ended
//     lifeline.c    connections beside MPI that end with a node; handshake.c makes them
//     liveness.c    signs of life, and what follows when they stay away
//     collective.c  broadcast and gather, as jobs
//     message.c     the same for messages of wire/wire.h
#ifndef COMM_NODE_H
#define COMM_NODE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "comm/backend.h"
#include "comm/comm.h"

enum comm_sign_kind { COMM_SIGN_ALIVE, COMM_SIGN_LEAVING, COMM_SIGN_LOST };
enum comm_loss { COMM_LOSS_SILENT, COMM_LOSS_GONE, COMM_LOSS_LEFT, COMM_LOSS_CUT };

// What is known of another node.
struct comm_peer {
    struct wire_sign last;
    uint8_t incoming[WIRE_SIGN_BYTES], outgoing[WIRE_SIGN_BYTES];
    void *receive, *send; // requests for incoming and outgoing
    bool sending;
    bool told_leaving; // it has been told that this node leaves
    bool gone;         // its process has ended
    bool has_lifeline;
    bool has_word; // `word` came over the lifeline and is to be heeded
    struct wire_sign word;
    int64_t silent_ns; // since its last sign, while this node was awake
    int64_t left_ns;   // when it said that it leaves; 0: it has not
};

struct comm {
    struct comm_transport *transport; // NULL: a cluster of one node
    int rank, size;
    int64_t timeout_ns;
    char (*names)[COMM_NAME_BYTES]; // [size]
    char (*hosts)[COMM_NAME_BYTES]; // [size] filled by comm_process_start

    pthread_mutex_t mutex; // guards names and what follows, up to the next blank line
    pthread_cond_t work, done;
    struct comm_job *first, *last;
    bool stopping;
    int64_t step;
    const char *phase;

    atomic_int lost;     // rank of the lost node; −1: none
    atomic_bool leaving; // this node will not go on
    atomic_bool news;    // step or phase has changed since the last sign
    atomic_llong sent_bytes[COMM_KINDS];
    pthread_t thread;

    // The communication thread's own.
    struct comm_peer *peers; // [size]
    // A loss noticed: goes to the node that reports it, from there to all.
    struct wire_sign notice;
    uint8_t notice_bytes[WIRE_SIGN_BYTES];
    int64_t leave_ns;         // when to end, with a loss noticed; 0: none was
    int64_t broken_ns;        // when the transport was found broken; 0: it was not
    bool listening;           // to signs of life
    int transfers;            // begun and not yet finished
    int64_t moved_ns;         // when something last began or arrived
    int64_t looked_ns;        // when signs of life were last looked at
    int64_t spoke_ns;         // when they were last sent
    bool alarm;               // something has happened that cannot wait for the next look
    struct pollfd *processes; // [size] lifelines, pidfds of this machine; fd −1: neither, or gone
};

// wait.c
void comm_wait_moved(struct comm *comm);
// Sleeps until the next look at open transfers, and does what is due meanwhile. ERR_NODE_LOST once
// a node is lost.
STN_MUST_CHECK enum stn_status comm_wait_pause(struct comm *comm);

// process.c: nodes say hello. A node of another protocol is refused; then each learns which nodes
// are processes of its machine, and lifelines are tied. Every node calls it.
STN_MUST_CHECK enum stn_status comm_process_start(struct comm *comm);
void comm_process_stop(struct comm *comm);
// Sleeps. The end of a process or a sign over a lifeline ends the sleep and sets `alarm`.
void comm_process_sleep(struct comm *comm, int64_t pause_ns);
// Whether that node's process had ended at the last sleep.
bool comm_process_is_gone(struct comm *comm, int rank);

// lifeline.c: ties lifelines; every node calls it. `same_machine`: this node runs on node 0's
// machine. `local`: all nodes do, and see each other's processes.
STN_MUST_CHECK enum stn_status comm_lifeline_start(struct comm *comm, bool same_machine,
                                                   bool local);
// Sends a sign over the lifeline to that node. False: there is none.
bool comm_lifeline_say(struct comm *comm, int peer, const uint8_t sign[WIRE_SIGN_BYTES]);
// Takes a sign that has come over that lifeline, into peer->word. False: the lifeline has ended.
bool comm_lifeline_hear(struct comm *comm, int peer);

// liveness.c, on the communication thread.
// False: these bytes are no sign of a node of this cluster.
bool comm_sign_read(const struct comm *comm, const uint8_t bytes[WIRE_SIGN_BYTES],
                    struct wire_sign *out);
// Begins to listen to the other nodes; every node calls it.
STN_MUST_CHECK enum stn_status comm_liveness_start(struct comm *comm);
// Sends and takes the signs of life that are due. ERR_NODE_LOST once a node is lost.
STN_MUST_CHECK enum stn_status comm_liveness_tick(struct comm *comm);
// Moves open transfers on while no job does.
void comm_liveness_progress(struct comm *comm);
// A wait for `peer` that began at since_ns goes on: ERR_NODE_LOST if that node has left.
STN_MUST_CHECK enum stn_status comm_liveness_expect(struct comm *comm, int peer, int64_t since_ns);
// Tells all nodes that this one leaves, and waits until they have said the same.
STN_MUST_CHECK enum stn_status comm_liveness_leave(struct comm *comm);

// Node 0's hello and that of another node: refused, with both protocol numbers, if one cannot read
// the messages of the other.
STN_MUST_CHECK enum stn_status comm_hello_compare(const struct wire_hello *first,
                                                  const struct wire_hello *other, int rank);

// collective.c and message.c, for use inside a job.
STN_MUST_CHECK enum stn_status comm_collective_broadcast(struct comm *comm, enum comm_kind kind,
                                                         int root, void *data, size_t bytes);
STN_MUST_CHECK enum stn_status comm_collective_all_gather(struct comm *comm, enum comm_kind kind,
                                                          const void *own, size_t bytes, void *all);
STN_MUST_CHECK enum stn_status comm_collective_broadcast_message(struct comm *comm, int root,
                                                                 enum wire_message message,
                                                                 void *value);
STN_MUST_CHECK enum stn_status comm_collective_all_gather_message(struct comm *comm,
                                                                  enum wire_message message,
                                                                  const void *own, void *all);

#endif
