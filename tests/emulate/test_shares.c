// SPDX-License-Identifier: Apache-2.0
// Shares on this very machine: by control groups where they can be made, else by pacing.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "capture.h"
#include "cmocka_all.h"
#include "emulate/emulate.h"
#include "fixture.h"

static struct cluster cluster;

static int make_cluster(void **state)
{
    (void)state;
    return cluster_parse_emulate("host=0.25,csd=0.1", &cluster) == STN_OK ? 0 : -1;
}

static int drop_cluster(void **state)
{
    (void)state;
    unsetenv("STANNIS_EMULATE");
    cluster_fini(&cluster);
    return 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// What a child says through its exit code. The pipe keeps nobody waiting for ever: it ends with the
// child.
static int exit_code_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The control group that nodes are told of, or the file that stands for it.
static const char *exported_folder(void)
{
    const char *told = getenv("STANNIS_EMULATE");
    return told ? strrchr(told, ':') + 1 : "none";
}

static void shares_beyond_the_machine_are_refused(void **state)
{
    (void)state;
    struct base_cpu_share machine = base_cpu_share();
    double limit = machine.affinity;
    if (machine.quota > 0) {
        limit = fmin(limit, machine.quota);
    }
    struct cluster big;
    struct emulate *emulate;
    struct capture capture;
    char text[64], line[200];
    snprintf(text, sizeof(text), "host=%.6g,csd*2=0.25", limit);
    assert_int_equal(cluster_parse_emulate(text, &big), STN_OK);
    snprintf(line, sizeof(line),
             "the nodes' shares add up to %.6g CPUs, but this machine has %.6g; use smaller shares "
             "or fewer nodes",
             limit + 0.5, limit);
    capture_start(&capture);
    assert_int_equal(emulate_create(&big, &emulate), STN_ERR_INVALID);
    capture_stop();
    assert_string_equal(capture.last, line);
    assert_null(emulate);
    cluster_fini(&big);
}

static void shares_that_cannot_be_made_are_refused(void **state)
{
    (void)state;
    struct cluster odd;
    struct emulate *emulate;
    struct capture capture;
    assert_int_equal(cluster_parse_emulate("host=0.0001", &odd), STN_OK);
    capture_start(&capture);
    assert_int_equal(emulate_create(&odd, &emulate), STN_ERR_INVALID);
    assert_string_equal(capture.last,
                        "node host: 0.0001 CPUs is too small a share; at least 0.001");
    odd.nodes[0].cpus = 0.1;
    odd.nodes[0].host = "elsewhere";
    assert_int_equal(emulate_create(&odd, &emulate), STN_ERR_INVALID);
    assert_int_equal(capture.lines, 2);
    capture_stop();
    cluster_fini(&odd);
}

static int join_and_tell(enum emulate_method method)
{
    if (emulate_join(1) != STN_OK) {
        return 2;
    }
    if (method == EMULATE_PACING) {
        return emulate_pace_share() == 0.1 ? 0 : 3;
    }
    // What a node makes of its share: how many threads it starts follows from it.
    return fabs(base_cgroup_limits("").cpu_quota - 0.1) < 1e-6 && emulate_pace_share() == 0 ? 0 : 4;
}

static void a_child_that_joins_has_its_share(void **state)
{
    (void)state;
    struct emulate *emulate;
    assert_int_equal(emulate_create(&cluster, &emulate), STN_OK);
    enum emulate_method method = emulate_method(emulate);
    print_message("method: %s\n", emulate_method_text(method));
    assert_int_equal(emulate_export(emulate), STN_OK);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(join_and_tell(method));
    }
    assert_int_equal(exit_code_of(pid), 0);
    emulate_destroy(emulate);
}

static void without_a_launcher_nothing_happens(void **state)
{
    (void)state;
    assert_int_equal(emulate_join(0), STN_OK);
    assert_true(emulate_pace_share() == 0);
    emulate_pace();
    struct capture capture;
    setenv("STANNIS_EMULATE", "nonsense", 1);
    capture_start(&capture);
    assert_int_equal(emulate_join(0), STN_ERR_INVALID);
    setenv("STANNIS_EMULATE", "v1:0=1:/nonexistent", 1);
    assert_int_equal(emulate_join(0), STN_ERR_IO);
    capture_stop();
    assert_string_equal(capture.last, "node 0: cannot enter its control group /nonexistent/0: No "
                                      "such file or directory");
    assert_int_equal(emulate_join(1), STN_OK);
}

// Sleeps until a signal comes, as a node that hangs does.
static void hang(void)
{
    for (;;) {
        pause();
    }
}

static void what_still_runs_ends_with_the_groups(void **state)
{
    (void)state;
    struct emulate *emulate;
    assert_int_equal(emulate_create(&cluster, &emulate), STN_OK);
    if (emulate_method(emulate) == EMULATE_PACING) {
        struct capture capture;
        capture_start(&capture);
        assert_int_equal(emulate_enter(emulate, 0, getpid()), STN_ERR_UNSUPPORTED);
        capture_stop();
        emulate_destroy(emulate);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        hang();
    }
    assert_int_equal(emulate_enter(emulate, 0, pid), STN_OK);
    assert_int_equal(emulate_export(emulate), STN_OK);
    const char *dir = exported_folder();
    assert_int_equal(access(dir, F_OK), 0);
    emulate_destroy(emulate);
    assert_int_equal(exit_code_of(pid), 128 + SIGKILL);
    assert_int_equal(access(dir, F_OK), -1);
}

// A launcher: makes groups, starts a node that hangs, tells their names, and waits to be killed.
static void be_launcher(int fd)
{
    struct emulate *emulate;
    if (emulate_create(&cluster, &emulate) != STN_OK || emulate_export(emulate) != STN_OK) {
        _exit(1);
    }
    pid_t node = fork();
    if (node == 0) {
        if (emulate_join(0) != STN_OK) {
            _exit(1);
        }
        dprintf(fd, "%d %d %s\n", emulate_method(emulate), getpid(), exported_folder());
        hang();
    }
    hang();
}

static void groups_of_a_killed_launcher_are_swept(void **state)
{
    (void)state;
    int ends[2], method, node;
    char line[4200], dir[4096] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t launcher = fork();
    if (launcher == 0) {
        be_launcher(ends[1]);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    assert_true(fgets(line, sizeof(line), f) != NULL);
    assert_true(sscanf(line, "%d %d %4095s", &method, &node, dir) >= 2);
    kill(launcher, SIGKILL);
    assert_int_equal(exit_code_of(launcher), 128 + SIGKILL);
    if (method == EMULATE_PACING) {
        kill(node, SIGKILL);
    } else {
        struct emulate *emulate;
        assert_int_equal(access(dir, F_OK), 0);
        assert_int_equal(emulate_create(&cluster, &emulate), STN_OK);
        assert_int_equal(access(dir, F_OK), -1);
        emulate_destroy(emulate);
    }
    // The node held the pipe's other end: its end shows that it is gone.
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
}

static int pace_and_tell(void)
{
    const double share = 0.2;
    volatile double work = 0;
    setenv("STANNIS_EMULATE", "pacing:0=0.2:", 1);
    if (emulate_join(0) != STN_OK || emulate_pace_share() != share) {
        return 2;
    }
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
    for (int i = 0; i < 5; i++) {
        double until = seconds_of(CLOCK_PROCESS_CPUTIME_ID) + 0.005;
        while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < until) {
            work += 1;
        }
        emulate_pace();
    }
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = seconds_of(CLOCK_MONOTONIC) - wall;
    // However busy the machine is, it can only have got less. The calls of the last round are not
    // paced yet.
    return cpu <= share * wall + 0.001 ? 0 : 3;
}

static void a_paced_process_stays_within_its_share(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(pace_and_tell());
    }
    assert_int_equal(exit_code_of(pid), 0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_beyond_the_machine_are_refused),
        cmocka_unit_test(shares_that_cannot_be_made_are_refused),
        cmocka_unit_test(a_child_that_joins_has_its_share),
        cmocka_unit_test(without_a_launcher_nothing_happens),
        cmocka_unit_test(what_still_runs_ends_with_the_groups),
        cmocka_unit_test(groups_of_a_killed_launcher_are_swept),
        cmocka_unit_test(a_paced_process_stays_within_its_share),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), make_cluster, drop_cluster);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
