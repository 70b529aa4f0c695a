// SPDX-License-Identifier: Apache-2.0
// Launching for real, with mpirun. This program plays all parts: the tests start it as a launcher
// ("launch"), which starts it as nodes ("node"), and other hosts are this machine behind a script
// that pretends to be ssh. A test that must wait waits for a line or for the end of a process.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "cmocka_all.h"
#include "emulate/emulate.h"
#include "launch/launch.h"
#include "stannis/stannis.h"

enum { TEXT_BYTES = 1 << 14, NODES = 3, WAIT_MS = 60000 };

// ---- a node ------------------------------------------------------------------------------------

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0) {
        _exit(9);
    }
}

static void stop(int number)
{
    (void)number;
    _exit(130);
}

static void refuse(int number)
{
    (void)number;
    say(STDERR_FILENO, "asked\n");
}

static void pause_for_ever(void)
{
    for (;;) {
        pause();
    }
}

static int be_node(const char *mode)
{
    const char *rank_text = getenv("OMPI_COMM_WORLD_RANK");
    int rank = rank_text ? atoi(rank_text) : -1;
    launch_attach(rank);
    if (emulate_join(rank) != STN_OK) {
        return 9;
    }
    double share =
        emulate_pace_share() > 0 ? emulate_pace_share() : base_cgroup_limits("").cpu_quota;
    if (strcmp(mode, "tell") == 0) {
        printf("rank %d share %.3g parent %d\n", rank, share, getenv("STANNIS_LAUNCHER") != NULL);
        return 0;
    }
    if (strcmp(mode, "move") == 0) {
        say(STDERR_FILENO, rank == 0 ? "\r40 %\033[K" : "");
        return rank == 1 ? 3 : 0;
    }
    if (rank == 1 && strcmp(mode, "fail") == 0) {
        say(STDERR_FILENO, "stannis: error: it broke\n");
        return 3;
    }
    if (rank == 1 && strcmp(mode, "die") == 0) {
        raise(SIGKILL);
    }
    signal(SIGUSR1, strcmp(mode, "stop") == 0 ? stop : refuse);
    if (strcmp(mode, "refuse") == 0) {
        signal(SIGTERM, SIG_IGN);
    }
    char line[64];
    snprintf(line, sizeof(line), "ready %d\n", getpid());
    say(STDOUT_FILENO, line);
    pause_for_ever();
    return 0;
}

// ---- a launcher --------------------------------------------------------------------------------

static int be_launcher(char **argv)
{
    const char *kind = argv[2], *spec = argv[3], *ssh = argv[5];
    struct cluster cluster;
    enum stn_status status = strcmp(kind, "emulate") == 0 ? cluster_parse_emulate(spec, &cluster)
                                                          : cluster_parse_hosts(spec, &cluster);
    if (status != STN_OK) {
        return 99;
    }
    char *node[] = {argv[0], (char[]){"node"}, argv[4], NULL};
    struct launch_config config = {.cluster = &cluster,
                                   .argv = node,
                                   .ssh = ssh,
                                   .timeout_seconds = ssh && strstr(ssh, "slow") ? 0.2 : 60};
    int code = 0;
    status = launch_run(&config, &code);
    cluster_fini(&cluster);
    return status == STN_OK ? code : stn_status_exit_code(status);
}

// ---- the tests ---------------------------------------------------------------------------------

static char program[PATH_MAX], folder[] = "/tmp/stannis-launch-XXXXXX";
static const char shares[] = "host=0.2,csd*2=0.1";

struct launcher {
    pid_t pid;
    FILE *out;
    int err;
    pid_t nodes[NODES];
    char text[TEXT_BYTES]; // of stderr
};

static struct launcher start(const char *kind, const char *spec, const char *mode, const char *ssh)
{
    int out[2], err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        execl(program, program, "launch", kind, spec, mode, ssh, NULL);
        _exit(98);
    }
    close(out[1]);
    close(err[1]);
    return (struct launcher){.pid = pid, .out = fdopen(out[0], "r"), .err = err[0]};
}

// Until each node has told its number.
static void await_nodes(struct launcher *launcher)
{
    for (int i = 0; i < NODES; i++) {
        char line[64];
        assert_true(fgets(line, sizeof(line), launcher->out) != NULL);
        assert_int_equal(sscanf(line, "ready %d", &launcher->nodes[i]), 1);
    }
}

static void await_text(struct launcher *launcher, const char *text)
{
    size_t used = strlen(launcher->text);
    while (!strstr(launcher->text, text)) {
        ssize_t got = read(launcher->err, launcher->text + used, TEXT_BYTES - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
        launcher->text[used] = '\0';
    }
}

static int finish(struct launcher *launcher)
{
    int status;
    size_t used = strlen(launcher->text);
    ssize_t got;
    while ((got = read(launcher->err, launcher->text + used, TEXT_BYTES - 1 - used)) > 0) {
        used += (size_t)got;
        launcher->text[used] = '\0';
    }
    close(launcher->err);
    fclose(launcher->out);
    assert_int_equal(waitpid(launcher->pid, &status, 0), launcher->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What stderr holds beside the line that tells how shares are kept.
static void assert_says(const struct launcher *launcher, const char *expected)
{
    const char *text = launcher->text;
    if (strncmp(text, "CPU shares of ", 14) == 0) {
        text = strchr(text, '\n') + 1;
    }
    assert_string_equal(text, expected);
}

static void assert_ended(pid_t pid)
{
    int fd = pidfd_open(pid, 0);
    if (fd < 0) {
        assert_int_equal(errno, ESRCH);
        return;
    }
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, WAIT_MS), 1);
    close(fd);
}

static const char *write_script(const char *name, const char *body)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s", body);
    fchmod(fileno(f), 0755);
    fclose(f);
    return path;
}

// Runs on this machine what should run on another.
static const char pretend[] = "while [ \"${1#-}\" != \"$1\" ]; do\n"
                              "    if [ \"$1\" = -o ]; then shift; fi\n"
                              "    shift\n"
                              "done\n"
                              "host=$1; shift\n"
                              "exec sh -c \"$*\"\n";

static void every_node_runs_in_its_share(void **state)
{
    (void)state;
    static const double expected[NODES] = {0.2, 0.1, 0.1};
    struct launcher launcher = start("emulate", shares, "tell", NULL);
    bool seen[NODES] = {false};
    for (int i = 0; i < NODES; i++) {
        int rank, parent;
        double share;
        assert_int_equal(
            fscanf(launcher.out, "rank %d share %lf parent %d\n", &rank, &share, &parent), 3);
        assert_in_range(rank, 0, NODES - 1);
        assert_true(share == expected[rank] && parent && !seen[rank]);
        seen[rank] = true;
    }
    assert_int_equal(finish(&launcher), 0);
    assert_says(&launcher, "");
}

static void a_node_that_fails_speaks_for_itself(void **state)
{
    (void)state;
    struct launcher launcher = start("emulate", shares, "fail", NULL);
    assert_int_equal(finish(&launcher), 3);
    assert_says(&launcher, "stannis: error: it broke\n");
}

static void a_node_that_was_killed_is_named(void **state)
{
    (void)state;
    struct launcher launcher = start("emulate", shares, "die", NULL);
    assert_int_equal(finish(&launcher), 1);
    assert_says(&launcher, "stannis: error: node csd.0 was ended by signal 9 (Killed)\n");
}

static void a_moving_line_passes_and_silence_does_not(void **state)
{
    (void)state;
    struct launcher launcher = start("emulate", shares, "move", NULL);
    assert_int_equal(finish(&launcher), 3);
    assert_non_null(strstr(launcher.text, "\r40 %\033[K"));
    assert_non_null(strstr(launcher.text, "\nstannis: error: node csd.0 ended with code 3 and did "
                                          "not say why\n"));
    assert_null(strstr(launcher.text, "-----"));
    assert_null(strstr(launcher.text, "Primary job"));
}

static void a_signal_asks_nodes_to_stop(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct launcher launcher = start("emulate", shares, "stop", NULL);
        await_nodes(&launcher);
        kill(launcher.pid, numbers[i]);
        assert_int_equal(finish(&launcher), 130);
        assert_says(&launcher, "");
    }
}

static void a_second_signal_ends_nodes_that_refuse(void **state)
{
    (void)state;
    struct launcher launcher = start("emulate", shares, "refuse", NULL);
    await_nodes(&launcher);
    kill(launcher.pid, SIGINT);
    await_text(&launcher, "asked\nasked\nasked\n");
    kill(launcher.pid, SIGINT);
    assert_int_equal(finish(&launcher), 130);
    for (int i = 0; i < NODES; i++) {
        assert_ended(launcher.nodes[i]);
    }
}

static void nodes_end_with_a_launcher_that_is_killed(void **state)
{
    (void)state;
    struct launcher launcher = start("emulate", shares, "refuse", NULL);
    await_nodes(&launcher);
    kill(launcher.nodes[2], SIGSTOP); // even one that cannot run
    kill(launcher.pid, SIGKILL);
    assert_int_equal(finish(&launcher), 128 + SIGKILL);
    for (int i = 0; i < NODES; i++) {
        assert_ended(launcher.nodes[i]);
    }
    // Its control groups go with the next launcher; test_shares.c looks at how.
    launcher = start("emulate", shares, "tell", NULL);
    assert_int_equal(finish(&launcher), 0);
}

static void other_hosts_are_reached_by_ssh(void **state)
{
    (void)state;
    struct launcher launcher =
        start("hosts", "127.0.0.2,127.0.0.3,localhost", "tell", write_script("ssh", pretend));
    int seen = 0;
    for (int i = 0; i < NODES; i++) {
        int rank, parent;
        double share;
        assert_int_equal(
            fscanf(launcher.out, "rank %d share %lf parent %d\n", &rank, &share, &parent), 3);
        assert_true(parent);
        seen |= 1 << rank;
    }
    assert_int_equal(seen, 7);
    assert_int_equal(finish(&launcher), 0);
    assert_says(&launcher, "");
}

static void this_machine_needs_no_ssh(void **state)
{
    (void)state;
    char own[HOST_NAME_MAX + 1] = "", hosts[HOST_NAME_MAX + 32];
    gethostname(own, sizeof(own) - 1);
    snprintf(hosts, sizeof(hosts), "localhost:2,%s", own);
    struct launcher launcher = start("hosts", hosts, "tell", write_script("none", "exit 255\n"));
    assert_int_equal(finish(&launcher), 0);
    assert_says(&launcher, "");
}

static void assert_host_refused(const char *name, const char *body, int code, const char *line)
{
    struct launcher launcher = start("hosts", "127.0.0.2:2", "tell", write_script(name, body));
    assert_int_equal(finish(&launcher), code);
    assert_says(&launcher, line);
}

static void hosts_that_will_not_do_are_named(void **state)
{
    (void)state;
    char line[2 * PATH_MAX];
    assert_host_refused("down", "echo 'ssh: connect: No route to host' >&2; exit 255\n", 1,
                        "stannis: error: node 127.0.0.2.0: cannot reach host 127.0.0.2: ssh: "
                        "connect: No route to host\n");
    snprintf(line, sizeof(line),
             "stannis: error: node 127.0.0.2.0: host 127.0.0.2 has no program %s; install stannis "
             "%s there\n",
             program, STN_VERSION);
    assert_host_refused("bare", "exit 127\n", 2, line);
    char protocol[LAUNCH_PROTOCOL_BYTES], body[2 * LAUNCH_PROTOCOL_BYTES];
    launch_protocol(protocol);
    snprintf(line, sizeof(line),
             "stannis: error: node 127.0.0.2.0: host 127.0.0.2 has stannis 0.0.1 of no protocol, "
             "but this is stannis %s of %s; install the same Stannis there\n",
             STN_VERSION, protocol);
    assert_host_refused("old", "echo Welcome!; echo stannis 0.0.1\n", 2, line);
    snprintf(line, sizeof(line),
             "stannis: error: node 127.0.0.2.0: host 127.0.0.2 has stannis 9.0.0 of protocol 7 "
             "0123456789abcdef, but this is stannis %s of %s; install the same Stannis there\n",
             STN_VERSION, protocol);
    assert_host_refused("late", "echo stannis 9.0.0; echo protocol 7 0123456789abcdef\n", 2, line);
    snprintf(body, sizeof(body), "echo %s; exit 1\n", protocol);
    assert_host_refused("serial", body, 2,
                        "stannis: error: node 127.0.0.2.0: host 127.0.0.2 has no orted; install "
                        "Open MPI there (openmpi-bin)\n");
    assert_host_refused("slow", "exec sleep 1000\n", 1,
                        "stannis: error: node 127.0.0.2.0: host 127.0.0.2 did not answer within "
                        "0.2 s\n");
    struct launcher launcher = start("hosts", "127.0.0.2", "tell", "/nonexistent/ssh");
    assert_int_equal(finish(&launcher), 1);
    assert_says(&launcher,
                "stannis: error: cannot start /nonexistent/ssh: No such file or directory\n");
}

static void a_missing_mpirun_is_said(void **state)
{
    (void)state;
    const char *usual = getenv("PATH");
    char *path = strdup(usual ? usual : "");
    setenv("PATH", folder, 1);
    struct launcher launcher = start("emulate", shares, "tell", NULL);
    assert_int_equal(finish(&launcher), 2);
    assert_says(&launcher, "stannis: error: mpirun is not installed; several nodes need Open MPI "
                           "(Debian: apt install openmpi-bin)\n");
    setenv("PATH", path, 1);
    free(path);
}

static int set_up(void **state)
{
    (void)state;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    // Hosts that are not there must not become traffic: all sockets stay on this machine.
    setenv("OMPI_MCA_oob_tcp_if_include", "lo", 1);
    setenv("OMPI_MCA_btl_tcp_if_include", "lo", 1);
    return length > 0 && mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const scripts[] = {"ssh",  "down",   "bare", "old",
                                          "late", "serial", "slow", "none"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, scripts[i]);
        remove(path);
    }
    return remove(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--version") == 0) {
        char protocol[LAUNCH_PROTOCOL_BYTES];
        launch_protocol(protocol);
        printf("stannis %s\n%s\n", STN_VERSION, protocol);
        return 0;
    }
    if (argc > 2) {
        return strcmp(argv[1], "node") == 0 ? be_node(argv[2]) : be_launcher(argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_runs_in_its_share),
        cmocka_unit_test(a_node_that_fails_speaks_for_itself),
        cmocka_unit_test(a_node_that_was_killed_is_named),
        cmocka_unit_test(a_moving_line_passes_and_silence_does_not),
        cmocka_unit_test(a_signal_asks_nodes_to_stop),
        cmocka_unit_test(a_second_signal_ends_nodes_that_refuse),
        cmocka_unit_test(nodes_end_with_a_launcher_that_is_killed),
        cmocka_unit_test(other_hosts_are_reached_by_ssh),
        cmocka_unit_test(this_machine_needs_no_ssh),
        cmocka_unit_test(hosts_that_will_not_do_are_named),
        cmocka_unit_test(a_missing_mpirun_is_said),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
