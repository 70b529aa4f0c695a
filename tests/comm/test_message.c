// SPDX-License-Identifier: Apache-2.0
// Messages between nodes: structs arrive as they were sent, and bytes that are no message are
// refused with the name of the node that they came from.
#include <string.h>

#include "capture.h"
#include "comm/nodes.h"

enum { NODES = 5 };

struct seen {
    bool right[NODES];
    enum stn_status status[NODES];
};

static struct wire_trials trials_of(int rank)
{
    struct wire_trials trials = {.count = rank, .best = rank + 1};
    for (int i = 0; i < WIRE_TRIALS_MAX; i++) {
        trials.micro_batch[i] = 10 * rank + i;
        trials.images_per_second[i] = 0.5 * rank + i;
    }
    return trials;
}

static bool is_of(const struct wire_trials *trials, int rank)
{
    const struct wire_trials sent = trials_of(rank);
    bool same = trials->count == sent.count && trials->best == sent.best;
    for (size_t i = 0; i < sizeof(sent.micro_batch) / sizeof(sent.micro_batch[0]); i++) {
        same = same && trials->micro_batch[i] == sent.micro_batch[i] &&
               trials->images_per_second[i] == sent.images_per_second[i];
    }
    return same;
}

static bool all_are_right(const struct wire_trials all[NODES])
{
    bool right = true;
    for (int i = 0; i < NODES; i++) {
        right = right && is_of(&all[i], i);
    }
    return right;
}

static void send_structs(struct comm *comm, void *context)
{
    struct seen *seen = context;
    const int rank = comm_rank(comm);
    bool right = true;
    for (int root = 0; root < NODES && right; root++) {
        const struct wire_trials own = trials_of(rank);
        struct wire_trials one = own, all[NODES];
        right =
            comm_broadcast_message(comm, root, WIRE_TRIALS, &one) == STN_OK && is_of(&one, root) &&
            comm_gather_message(comm, root, WIRE_TRIALS, &own, rank == root ? all : NULL) ==
                STN_OK &&
            (rank != root || all_are_right(all)) &&
            comm_all_gather_message(comm, WIRE_TRIALS, &own, all) == STN_OK && all_are_right(all);
    }
    seen->right[rank] = right;
}

static void structs_arrive(void **state)
{
    (void)state;
    struct seen seen = {0};
    nodes_run(NODES, 30.0, send_structs, &seen);
    for (int i = 0; i < NODES; i++) {
        assert_true(seen.right[i]);
    }
}

// Node 3 sends a byte that is neither yes nor no.
static void send_nonsense(struct comm *comm, void *context)
{
    struct seen *seen = context;
    const int rank = comm_rank(comm);
    const uint8_t nonsense[WIRE_ANSWER_BYTES] = {2};
    const struct wire_answer yes = {.yes = true};
    struct wire_answer all[NODES];
    seen->status[rank] =
        rank == 3 ? comm_gather(comm, COMM_CONTROL, 0, nonsense, sizeof(nonsense), NULL)
                  : comm_gather_message(comm, 0, WIRE_ANSWER, &yes, rank == 0 ? all : NULL);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct capture capture;
    capture_start(&capture);
    nodes_run(NODES, 30.0, send_nonsense, &seen);
    capture_stop();
    assert_int_equal(seen.status[0], STN_ERR_CORRUPT);
    for (int i = 1; i < NODES; i++) {
        assert_int_equal(seen.status[i], STN_OK);
    }
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, "node 3 sent a message (answer) that cannot be read");
}

// A cluster of one node hears itself.
static void one_node_alone(void **state)
{
    (void)state;
    struct comm *comm;
    const struct wire_trials own = trials_of(0);
    struct wire_trials heard = {0}, one = own;
    assert_int_equal(comm_open_alone(&comm), STN_OK);
    assert_int_equal(comm_all_gather_message(comm, WIRE_TRIALS, &own, &heard), STN_OK);
    assert_true(is_of(&heard, 0));
    assert_int_equal(comm_broadcast_message(comm, 0, WIRE_TRIALS, &one), STN_OK);
    assert_true(is_of(&one, 0));
    comm_close(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_arrive),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(one_node_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
