// SPDX-License-Identifier: Apache-2.0
// Programs that interfere: they run when they should, as children of the node's starter, and none
// is left behind.
#include "rig/interfere.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "rig/starter.h"

enum { CHILDREN_MAX = 16, PATIENCE_MS = 60000 };

static struct cluster cluster;

static int make_cluster(void **state)
{
    (void)state;
    return cluster_parse_emulate("host=0.25,csd*2=0.1", &cluster) == STN_OK ? 0 : -1;
}

static int drop_cluster(void **state)
{
    (void)state;
    cluster_fini(&cluster);
    return 0;
}

// The children of a process, as the kernel lists them.
static int children_of(int pid, int children[CHILDREN_MAX])
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (count < CHILDREN_MAX && fscanf(f, "%d", &children[count]) == 1) {
        count++;
    }
    fclose(f);
    return count;
}

// What the starter of a process has started.
static int started_by(int pid, int children[CHILDREN_MAX])
{
    int starters[CHILDREN_MAX];
    assert_int_equal(children_of(pid, starters), 1);
    return children_of(starters[0], children);
}

static int own_programs(void)
{
    int children[CHILDREN_MAX];
    return started_by(getpid(), children);
}

static int begin_starter(void **state)
{
    (void)state;
    return rig_starter_begin() == STN_OK ? 0 : -1;
}

static int end_starter(void **state)
{
    int children[CHILDREN_MAX];
    (void)state;
    rig_starter_end();
    return children_of(getpid(), children);
}

static struct rig_interfere *open_for(const char *text, int rank)
{
    struct rig_interfere *interfere;
    assert_int_equal(rig_interfere_open(text, &cluster, rank, &interfere), STN_OK);
    return interfere;
}

static void assert_programs(struct rig_interfere *interfere, int64_t step, int count)
{
    assert_int_equal(rig_interfere_step(interfere, step), STN_OK);
    assert_int_equal(own_programs(), count);
}

static void programs_run_from_first_to_last_step(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for("csd.0@3-4:busy*1.5,csd.0@4-6:gzip*1", 1);
    const int expected[] = {0, 0, 2, 3, 1, 1, 0, 0};
    for (int i = 0; i < 8; i++) {
        assert_programs(interfere, i + 1, expected[i]);
    }
    rig_interfere_close(interfere);
}

static void other_nodes_are_left_alone(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for("csd.0@1-9:busy*2", 2);
    assert_programs(interfere, 1, 0);
    rig_interfere_close(interfere);
}

static void closing_ends_what_runs(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for("host@1-100:busy*3", 0);
    assert_programs(interfere, 1, 3);
    rig_interfere_close(interfere);
    assert_int_equal(own_programs(), 0);
}

static void a_resumed_run_starts_in_the_middle(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for("host@5-100:busy*1", 0);
    assert_programs(interfere, 50, 1);
    rig_interfere_close(interfere);
}

static void without_a_plan_nothing_happens(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for(NULL, 0);
    assert_null(interfere);
    assert_int_equal(rig_interfere_step(interfere, 1), STN_OK);
    rig_interfere_close(interfere);
}

static void unknown_nodes_are_refused(void **state)
{
    (void)state;
    struct rig_interfere *interfere;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(rig_interfere_open("csd@1-2:busy*1", &cluster, 0, &interfere),
                     STN_ERR_INVALID);
    capture_stop();
    assert_non_null(strstr(capture.last, "there is no node 'csd'"));
}

// Opened while it runs or nobody has reaped it.
static void await(int pid_fd)
{
    struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, PATIENCE_MS), 1);
    close(pid_fd);
}

static void await_pid(int pid)
{
    int fd = pidfd_open(pid, 0);
    assert_true(fd >= 0);
    await(fd);
}

static void a_load_that_vanishes_is_an_error(void **state)
{
    (void)state;
    int children[CHILDREN_MAX];
    struct rig_interfere *interfere = open_for("host@1-100:busy*1", 0);
    assert_programs(interfere, 1, 1);
    assert_int_equal(started_by(getpid(), children), 1);
    kill(children[0], SIGKILL);
    await_pid(children[0]);
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(rig_interfere_step(interfere, 2), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "ended by signal 9"));
    rig_interfere_close(interfere);
}

static void a_missing_gzip_is_said(void **state)
{
    (void)state;
    int children[CHILDREN_MAX];
    const char *usual = getenv("PATH");
    char *path = strdup(usual ? usual : "");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(rig_starter_begin(), STN_OK);
    struct rig_interfere *interfere = open_for("host@1-100:gzip*1", 0);
    assert_programs(interfere, 1, 1);
    assert_int_equal(started_by(getpid(), children), 1);
    await_pid(children[0]);
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(rig_interfere_step(interfere, 2), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "is gzip installed?"));
    rig_interfere_close(interfere);
    rig_starter_end();
    setenv("PATH", path, 1);
    free(path);
}

static void a_starter_that_vanishes_is_an_error(void **state)
{
    (void)state;
    int starters[CHILDREN_MAX], children[CHILDREN_MAX];
    struct rig_interfere *interfere = open_for("host@1-100:busy*1,host@9-9:busy*1", 0);
    assert_programs(interfere, 1, 1);
    assert_int_equal(started_by(getpid(), children), 1);
    assert_int_equal(children_of(getpid(), starters), 1);
    int program = pidfd_open(children[0], 0);
    assert_true(program >= 0);
    kill(starters[0], SIGKILL);
    await(program); // it ends with the starter
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(rig_interfere_step(interfere, 2), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "node host: what starts programs that interfere"));
    capture_start(&capture);
    assert_int_equal(rig_interfere_step(interfere, 9), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "is not there"));
    rig_interfere_close(interfere);
}

static void without_a_starter_nothing_is_started(void **state)
{
    (void)state;
    struct rig_interfere *interfere = open_for("host@2-3:busy*1", 0);
    struct capture capture;
    assert_int_equal(rig_interfere_step(interfere, 1), STN_OK);
    capture_start(&capture);
    assert_int_equal(rig_interfere_step(interfere, 2), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "is not there"));
    rig_interfere_close(interfere);
}

static void there_is_one_starter(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(rig_starter_begin(), STN_ERR_IO);
    capture_stop();
    assert_int_equal(own_programs(), 0);
}

// A node in a process of its own: says through the pipe when its load runs, then waits to be
// killed.
static void be_a_node(int ready)
{
    struct rig_interfere *interfere;
    if (rig_starter_begin() != STN_OK ||
        rig_interfere_open("host@1-100:busy*2,host@1-100:gzip*1", &cluster, 0, &interfere) !=
            STN_OK ||
        rig_interfere_step(interfere, 1) != STN_OK || write(ready, "r", 1) != 1) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

static void a_killed_node_leaves_nothing_behind(void **state)
{
    (void)state;
    int ends[2], children[CHILDREN_MAX], fds[CHILDREN_MAX];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t node = fork();
    assert_true(node >= 0);
    if (node == 0) {
        be_a_node(ends[1]);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    int count = started_by(node, children);
    assert_int_equal(count, 3);
    for (int i = 0; i < count; i++) {
        fds[i] = pidfd_open(children[i], 0);
        assert_true(fds[i] >= 0);
    }
    kill(node, SIGKILL);
    assert_int_equal(waitpid(node, NULL, 0), node);
    for (int i = 0; i < count; i++) {
        await(fds[i]);
    }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define WITH_STARTER(test) cmocka_unit_test_setup_teardown(test, begin_starter, end_starter)
    const struct CMUnitTest tests[] = {
        WITH_STARTER(programs_run_from_first_to_last_step),
        WITH_STARTER(other_nodes_are_left_alone),
        WITH_STARTER(closing_ends_what_runs),
        WITH_STARTER(a_resumed_run_starts_in_the_middle),
        cmocka_unit_test(without_a_plan_nothing_happens),
        cmocka_unit_test(unknown_nodes_are_refused),
        WITH_STARTER(a_load_that_vanishes_is_an_error),
        cmocka_unit_test(a_missing_gzip_is_said),
        WITH_STARTER(a_starter_that_vanishes_is_an_error),
        cmocka_unit_test(without_a_starter_nothing_is_started),
        WITH_STARTER(there_is_one_starter),
        cmocka_unit_test(a_killed_node_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_cluster, drop_cluster);
}
