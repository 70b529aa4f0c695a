// SPDX-License-Identifier: Apache-2.0
// A cluster of threads: runs one function on every loopback node. cmocka's asserts belong to the
// main thread, so bodies record what they saw.
#ifndef TESTS_COMM_NODES_H
#define TESTS_COMM_NODES_H

#include <pthread.h>

#include "cmocka_all.h"
#include "comm/comm.h"

enum { NODES_MAX = 8 };

typedef void nodes_body(struct comm *comm, void *context);

struct nodes_thread {
    pthread_t thread;
    struct comm *comm;
    nodes_body *body;
    void *context;
};

static inline void *nodes_thread_run(void *argument)
{
    struct nodes_thread *node = argument;
    node->body(node->comm, node->context);
    comm_close(node->comm);
    return NULL;
}

// Body and comm_close of each node on a thread of its own.
static inline void nodes_run(int size, double timeout_seconds, nodes_body *body, void *context)
{
    struct comm *comms[NODES_MAX];
    struct nodes_thread nodes[NODES_MAX];
    assert_int_equal(comm_loopback_create(size, timeout_seconds, comms), STN_OK);
    for (int i = 0; i < size; i++) {
        nodes[i] = (struct nodes_thread){.comm = comms[i], .body = body, .context = context};
        assert_int_equal(pthread_create(&nodes[i].thread, NULL, nodes_thread_run, &nodes[i]), 0);
    }
    for (int i = 0; i < size; i++) {
        pthread_join(nodes[i].thread, NULL);
    }
}

#endif
