// SPDX-License-Identifier: Apache-2.0
// Which node ended first. Nodes are children of the test that do as they are told, one after the
// other; the witness looks only when all is over.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "launch/witness.h"

enum { NODES = 3 };

struct node {
    pid_t pid;
    int order; // what we write here it exits with
    int ready; // closed by the node when it is known to the witness
};

static char name[32];

static void be_node(int rank, int order, int ready)
{
    unsigned char code;
    launch_witness_attend(name, rank);
    close(ready);
    if (read(order, &code, 1) != 1) {
        _exit(9);
    }
    exit(code);
}

// All are known to the witness when this returns: each waits to be heard, so somebody has to hear
// it.
static void start(struct launch_witness *witness, struct node nodes[NODES])
{
    snprintf(name, sizeof(name), "test-%d", getpid());
    assert_int_equal(launch_witness_begin(witness, name), STN_OK);
    for (int i = 0; i < NODES; i++) {
        int order[2], ready[2];
        assert_int_equal(pipe(order), 0);
        assert_int_equal(pipe(ready), 0);
        nodes[i].pid = fork();
        if (nodes[i].pid == 0) {
            close(order[1]);
            close(ready[0]);
            be_node(i, order[0], ready[1]);
        }
        close(order[0]);
        close(ready[1]);
        nodes[i].order = order[1];
        nodes[i].ready = ready[0];
        for (struct pollfd fds[] = {{.fd = witness->fd, .events = POLLIN}, {.fd = ready[0]}};
             !fds[1].revents;) {
            assert_true(poll(fds, 2, -1) > 0);
            launch_witness_take(witness);
        }
    }
}

static void await_end(struct node *node)
{
    assert_int_equal(waitpid(node->pid, NULL, 0), node->pid);
    close(node->order);
    close(node->ready);
}

static void kill_node(struct node *node, int number)
{
    kill(node->pid, number);
    await_end(node);
}

static void dismiss(struct node *node, unsigned char code)
{
    assert_int_equal(write(node->order, &code, 1), 1);
    await_end(node);
}

static void the_first_that_was_killed_is_known(void **state)
{
    (void)state;
    struct launch_witness witness;
    struct node nodes[NODES];
    start(&witness, nodes);
    kill_node(&nodes[1], SIGKILL);
    kill_node(&nodes[0], SIGTERM);
    kill_node(&nodes[2], SIGTERM);
    launch_witness_take(&witness);
    assert_int_equal(witness.killed_rank, 1);
    assert_int_equal(witness.failed_rank, -1);
    launch_witness_end(&witness);
}

static void an_end_in_order_is_no_failure(void **state)
{
    (void)state;
    struct launch_witness witness;
    struct node nodes[NODES];
    start(&witness, nodes);
    dismiss(&nodes[0], 0);
    dismiss(&nodes[2], 3);
    dismiss(&nodes[1], 4);
    launch_witness_take(&witness);
    assert_int_equal(witness.killed_rank, -1);
    assert_int_equal(witness.failed_rank, 2);
    assert_int_equal(witness.code, 3);
    launch_witness_end(&witness);
}

static void nobody_there_is_no_error(void **state)
{
    (void)state;
    launch_witness_attend("no-such-launcher", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_was_killed_is_known),
        cmocka_unit_test(an_end_in_order_is_no_failure),
        cmocka_unit_test(nobody_there_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
