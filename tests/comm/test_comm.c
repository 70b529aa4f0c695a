// SPDX-License-Identifier: Apache-2.0
// Collectives, jobs and losses, between threads.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "comm/backend.h"
#include "comm/nodes.h"

// ---- collectives -------------------------------------------------------------------------------

enum { WORDS = 300 };

struct collected {
    bool right[NODES_MAX];
};

static void fill(int rank, int *words)
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = rank * 1000 + i;
    }
}

static bool broadcast_is_right(struct comm *comm, int root)
{
    int words[WORDS], wanted[WORDS];
    fill(comm_rank(comm), words);
    fill(root, wanted);
    return comm_broadcast(comm, COMM_CONTROL, root, words, sizeof(words)) == STN_OK &&
           memcmp(words, wanted, sizeof(words)) == 0;
}

static bool gather_is_right(struct comm *comm, int root, bool everyone)
{
    int own[WORDS], wanted[WORDS], all[NODES_MAX][WORDS] = {{0}};
    fill(comm_rank(comm), own);
    bool mine = everyone || comm_rank(comm) == root;
    enum stn_status status =
        everyone ? comm_all_gather(comm, COMM_CONTROL, own, sizeof(own), all)
                 : comm_gather(comm, COMM_CONTROL, root, own, sizeof(own), mine ? all : NULL);
    bool right = status == STN_OK;
    for (int i = 0; i < comm_size(comm) && mine; i++) {
        fill(i, wanted);
        right = right && memcmp(all[i], wanted, sizeof(wanted)) == 0;
    }
    return right;
}

static void collective_body(struct comm *comm, void *context)
{
    struct collected *collected = context;
    bool right = comm_broadcast(comm, COMM_CONTROL, 0, NULL, 0) == STN_OK;
    for (int root = 0; root < comm_size(comm); root++) {
        right = right && broadcast_is_right(comm, root) && gather_is_right(comm, root, false);
    }
    collected->right[comm_rank(comm)] = right && gather_is_right(comm, 0, true);
}

static void test_collectives(void **state)
{
    (void)state;
    for (int size = 1; size <= NODES_MAX; size++) {
        struct collected collected = {{false}};
        nodes_run(size, 60, collective_body, &collected);
        for (int i = 0; i < size; i++) {
            assert_true(collected.right[i]);
        }
    }
}

// ---- jobs --------------------------------------------------------------------------------------

enum { JOBS = 50 };

struct numbered_job {
    struct comm_job job;
    int *journal, *length;
    int number, received;
};

// Passes a number around the ring, so that each job waits for another node.
static enum stn_status ring_run(struct comm *comm, struct comm_job *job)
{
    struct numbered_job *numbered = (struct numbered_job *)job;
    numbered->journal[(*numbered->length)++] = numbered->number;
    int next = (comm_rank(comm) + 1) % comm_size(comm);
    int previous = (comm_rank(comm) + comm_size(comm) - 1) % comm_size(comm);
    struct comm_transfer sent;
    enum stn_status status = comm_send_begin(comm, next, 7, COMM_CONTROL, &numbered->number,
                                             sizeof(numbered->number), &sent);
    if (status == STN_OK) {
        status = comm_receive(comm, previous, 7, &numbered->received, sizeof(numbered->received));
    }
    return status == STN_OK ? comm_transfer_finish(comm, &sent) : status;
}

static void order_body(struct comm *comm, void *context)
{
    bool *right = context;
    int journal[JOBS], length = 0;
    struct numbered_job jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct numbered_job){
            .job.run = ring_run, .number = i, .journal = journal, .length = &length};
        comm_submit(comm, &jobs[i].job);
    }
    bool all = true;
    for (int i = JOBS; i-- > 0;) {
        all = comm_wait(comm, &jobs[i].job) == STN_OK && comm_is_done(comm, &jobs[i].job) && all;
    }
    for (int i = 0; i < JOBS; i++) {
        all = all && journal[i] == i && jobs[i].received == i;
    }
    right[comm_rank(comm)] = all && length == JOBS;
}

static void test_jobs_run_in_order(void **state)
{
    (void)state;
    bool right[5] = {false};
    nodes_run(5, 60, order_body, right);
    for (int i = 0; i < 5; i++) {
        assert_true(right[i]);
    }
}

// ---- losses ------------------------------------------------------------------------------------

struct loss {
    int victim;
    enum comm_loopback_fault fault;
    bool leaves; // or it just closes its end
    enum stn_status status[NODES_MAX];
    int lost[NODES_MAX];
};

static const char *const names[] = {"host", "csd.0", "csd.1", "csd.2"};

static void loss_body(struct comm *comm, void *context)
{
    struct loss *loss = context;
    int rank = comm_rank(comm), all[NODES_MAX];
    for (int i = 0; i < comm_size(comm); i++) {
        comm_set_name(comm, i, names[i]);
    }
    enum stn_status status = comm_all_gather(comm, COMM_CONTROL, &rank, sizeof(rank), all);
    if (rank == loss->victim && loss->leaves) {
        return;
    }
    if (rank == loss->victim) {
        comm_loopback_break(comm, loss->fault);
    }
    for (int round = 0; status == STN_OK && round < 2; round++) {
        status = comm_all_gather(comm, COMM_CONTROL, &rank, sizeof(rank), all);
    }
    loss->status[rank] = status;
    loss->lost[rank] = comm_lost(comm);
}

static void check_loss(struct loss loss, double timeout_seconds, const char *line)
{
    struct capture capture;
    capture_start(&capture);
    nodes_run(4, timeout_seconds, loss_body, &loss);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, line);
    for (int i = 0; i < 4; i++) {
        if (i != loss.victim) {
            assert_int_equal(loss.status[i], STN_ERR_NODE_LOST);
            assert_int_equal(loss.lost[i], loss.victim);
        }
    }
}

static void test_process_gone(void **state)
{
    (void)state;
    check_loss((struct loss){.victim = 2, .fault = COMM_LOOPBACK_GONE}, 60,
               "node csd.1 was lost: its process is gone");
    check_loss((struct loss){.victim = 0, .fault = COMM_LOOPBACK_GONE}, 60,
               "node host was lost: its process is gone");
}

// The time-out only has to be longer than a node that runs may be kept from running.
static void test_silence(void **state)
{
    (void)state;
    check_loss((struct loss){.victim = 3, .fault = COMM_LOOPBACK_STOPPED}, 2.5,
               "node csd.2 was lost: no sign of life for 2.5 s");
}

static void test_node_that_leaves(void **state)
{
    (void)state;
    check_loss((struct loss){.victim = 1, .leaves = true}, 60,
               "node csd.0 was lost: it ended early");
}

// What a node did last is in the line: it is told before it goes.
static enum stn_status wait_run(struct comm *comm, struct comm_job *job)
{
    (void)job;
    int word;
    return comm_receive(comm, 1, 3, &word, sizeof(word));
}

static void test_step_and_phase(void **state)
{
    (void)state;
    struct comm *nodes[2];
    struct capture capture;
    assert_int_equal(comm_loopback_create(2, 60, nodes), STN_OK);
    capture_start(&capture);
    comm_set_name(nodes[0], 1, "csd.0");
    int64_t before = comm_traffic(nodes[1]).sent_bytes[COMM_CONTROL];
    comm_set_phase(nodes[1], 12, "exchanging gradients");
    while (comm_traffic(nodes[1]).sent_bytes[COMM_CONTROL] == before) {
        sched_yield(); // its thread tells soon
    }
    struct comm_job job = {.run = wait_run};
    comm_submit(nodes[0], &job);
    comm_loopback_break(nodes[1], COMM_LOOPBACK_GONE);
    assert_int_equal(comm_wait(nodes[0], &job), STN_ERR_NODE_LOST);
    assert_int_equal(comm_lost(nodes[0]), 1);
    comm_close(nodes[1]);
    comm_close(nodes[0]);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_string_equal(
        capture.last,
        "node csd.0 was lost in step 12 while exchanging gradients: its process is gone");
}

// Nobody is known to be gone, but nothing arrives any more.
static void test_broken_transport(void **state)
{
    (void)state;
    struct comm *nodes[2];
    struct capture capture;
    assert_int_equal(comm_loopback_create(2, 60, nodes), STN_OK);
    capture_start(&capture);
    comm_set_name(nodes[0], 0, "host");
    comm_set_phase(nodes[0], 7, "computing");
    struct comm_job job = {.run = wait_run};
    comm_submit(nodes[0], &job);
    comm_loopback_break(nodes[0], COMM_LOOPBACK_BROKEN);
    assert_int_equal(comm_wait(nodes[0], &job), STN_ERR_NODE_LOST);
    assert_int_equal(comm_lost(nodes[0]), 0);
    comm_loopback_break(nodes[1],
                        COMM_LOOPBACK_STOPPED); // it need not wait until it misses the other
    comm_close(nodes[1]);
    comm_close(nodes[0]);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_string_equal(
        capture.last,
        "node host was lost in step 7 while computing: its connection to another node broke");
}

// ---- without others ----------------------------------------------------------------------------

static void clear_launchers(void)
{
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        unsetenv(variables[i]);
    }
}

static void test_one_node_alone(void **state)
{
    (void)state;
    clear_launchers();
    struct comm *comm;
    assert_int_equal(comm_open(30, &comm), STN_OK);
    assert_int_equal(comm_size(comm), 1);
    bool right[NODES_MAX] = {false};
    collective_body(comm, right);
    assert_true(right[0]);
    comm_set_phase(comm, 1, "computing");
    assert_int_equal(comm_traffic(comm).sent_bytes[COMM_CONTROL], 0);
    assert_int_equal(comm_lost(comm), -1);
    comm_close(comm);
    comm_close(NULL);
}

static void test_launchers(void **state)
{
    (void)state;
    clear_launchers();
    assert_false(comm_launch_detect().launched);
    setenv("SLURM_PROCID", "0", 1); // as in a batch script, which srun has not started
    assert_false(comm_launch_detect().launched);
    setenv("SLURM_STEP_NUM_TASKS", "3", 1);
    struct comm_launch launch = comm_launch_detect();
    assert_true(launch.launched);
    assert_int_equal(launch.size, 3);
    assert_int_equal(launch.local_size, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    launch = comm_launch_detect();
    assert_int_equal(launch.rank, 2);
    assert_int_equal(launch.size, 4);
    assert_int_equal(launch.local_size, 2);
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    setenv("OMPI_COMM_WORLD_RANK", "four", 1);
    assert_int_equal(comm_launch_detect().size, 3);
    clear_launchers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives),      cmocka_unit_test(test_jobs_run_in_order),
        cmocka_unit_test(test_process_gone),     cmocka_unit_test(test_silence),
        cmocka_unit_test(test_node_that_leaves), cmocka_unit_test(test_step_and_phase),
        cmocka_unit_test(test_broken_transport), cmocka_unit_test(test_one_node_alone),
        cmocka_unit_test(test_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
