// SPDX-License-Identifier: Apache-2.0
// What mpirun says is kept from the screen, what nodes say passes unchanged, however the stream is
// cut into pieces.
#include "launch/filter.h"

#include <string.h>

#include "cmocka_all.h"

#define DASHES "--------------------------------------------------------------------------\n"

struct screen {
    char text[8192];
    size_t bytes;
};

static void show(void *context, const char *data, size_t bytes)
{
    struct screen *screen = context;
    assert_true(screen->bytes + bytes < sizeof(screen->text));
    memcpy(screen->text + screen->bytes, data, bytes);
    screen->bytes += bytes;
}

static struct launch_filter feed(const char *text, size_t piece, struct screen *screen)
{
    struct launch_filter filter = {.pass = show, .context = screen};
    *screen = (struct screen){.bytes = 0};
    for (size_t i = 0, length = strlen(text); i < length; i += piece) {
        launch_filter_feed(&filter, text + i, piece < length - i ? piece : length - i);
    }
    launch_filter_settle(&filter);
    return filter;
}

static struct launch_filter assert_passes(const char *text, const char *expected)
{
    struct screen screen;
    struct launch_filter filter = {.pass = NULL};
    for (size_t piece = 1; piece < 100; piece = piece * 2 + 1) {
        filter = feed(text, piece, &screen);
        assert_string_equal(screen.text, expected);
    }
    return filter;
}

static void assert_unchanged(const char *text)
{
    struct launch_filter filter = assert_passes(text, text);
    assert_int_equal(filter.said_bytes, 0);
}

static void what_nodes_say_passes(void **state)
{
    (void)state;
    assert_unchanged("epoch 1/3  loss 0.4\nplain text without an end");
    assert_unchanged("\r[====    ] 40 %\033[K\r[=====   ] 50 %\033[K");
    assert_unchanged("---- a heading ----\n--out DIR\n-\n");
    assert_unchanged("[1:23] 12 total things; mpirun is a program; mpirun: who?\n");
    assert_unchanged("3 total");
    assert_unchanged("[host:12");
    assert_unchanged("[host][0] [host] [");
    assert_unchanged("");
}

// A node's bytes are not kept waiting for others that may never come, unless they look like
// mpirun's.
static void what_nodes_say_passes_at_once(void **state)
{
    (void)state;
    struct screen screen = {.bytes = 0};
    struct launch_filter filter = {.pass = show, .context = &screen};
    launch_filter_feed(&filter, "\r 40 %\033[K", 9);
    assert_int_equal(screen.bytes, 9);
    launch_filter_feed(&filter, "---", 3);
    assert_int_equal(screen.bytes, 9);
    launch_filter_settle(&filter);
    assert_int_equal(screen.bytes, 12);
}

static void what_mpirun_says_does_not(void **state)
{
    (void)state;
    struct launch_filter filter = assert_passes(
        "one\n\r 40 %" DASHES "Primary job  terminated normally, but 1 process returned\n"
        "a non-zero exit code. Per user-direction, the job has been aborted.\n" DASHES
        "two\n" DASHES "mpirun noticed that process rank 12 with PID 0 on node vm exited on signal "
        "9 (Killed).\n" DASHES "[vm:06862] 1 more process has sent help message help-mpi.txt\n"
        "[vm][[9418,1],0][btl_tcp_frag.c:135:mca_btl_tcp_frag_send] writev failed: reset (104)\n"
        "three\rmpirun: Forwarding signal 10 to job\nfour\n2 total processes failed to start\n",
        "one\n\r 40 %two\nthree\rfour\n");
    int rank, number;
    assert_true(launch_filter_death(&filter, &rank, &number));
    assert_int_equal(rank, 12);
    assert_int_equal(number, 9);
    assert_false(filter.node_failed);
}

static void a_banner_may_lack_its_end(void **state)
{
    (void)state;
    struct launch_filter filter = assert_passes("a\n" DASHES "It broke.\n", "a\n");
    char line[64];
    assert_true(launch_filter_reason(&filter, line, sizeof(line)));
    assert_string_equal(line, "It broke.");
}

static void reasons_are_one_line(void **state)
{
    (void)state;
    struct launch_filter filter = assert_passes(
        "mpirun: Forwarding signal 10 to job\n" DASHES "Primary job  terminated\n" DASHES DASHES
        "ORTE was unable to start\n\n  a daemon:  \n  host x\n" DASHES,
        "");
    char line[64];
    int rank, number;
    assert_true(launch_filter_reason(&filter, line, sizeof(line)));
    assert_string_equal(line, "ORTE was unable to start a daemon: host x");
    assert_true(launch_filter_reason(&filter, line, 10));
    assert_string_equal(line, "ORTE was");
    assert_false(launch_filter_death(&filter, &rank, &number));
    filter = assert_passes("fine\n", "fine\n");
    assert_false(launch_filter_reason(&filter, line, sizeof(line)));
}

static void the_first_that_failed_is_known(void **state)
{
    (void)state;
    struct launch_filter filter = assert_passes(
        DASHES
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
        "the job to be terminated. The first process to do so was:\n\n"
        "  Process name: [[26234,1],17]\n  Exit code:    130\n" DASHES,
        "");
    int rank;
    char line[64];
    assert_true(launch_filter_exit(&filter, &rank));
    assert_int_equal(rank, 17);
    assert_false(launch_filter_reason(&filter, line, sizeof(line)));
    assert_false(launch_filter_exit(&(struct launch_filter){.said = ""}, &rank));
}

static void a_lost_host_is_named(void **state)
{
    (void)state;
    struct launch_filter filter = assert_passes(
        DASHES "ORTE has lost communication with a remote daemon.\n\n"
               "  HNP daemon   : [[8848,0],0] on node vm\n"
               "  Remote daemon: [[8848,0],1] on node csd1\n\nThis is usually due to\n" DASHES,
        "");
    char host[64];
    assert_true(launch_filter_host(&filter, host, sizeof(host)));
    assert_string_equal(host, "csd1");
    assert_false(launch_filter_host(&(struct launch_filter){.said = ""}, host, sizeof(host)));
}

static void errors_of_nodes_are_noticed(void **state)
{
    (void)state;
    struct screen screen;
    assert_true(feed("x\nstannis: error: lost csd.1\n", 5, &screen).node_failed);
    assert_true(feed("stannis: stannis: error: x", 1, &screen).node_failed);
    assert_false(feed("stannis: warning: error: x\n", 5, &screen).node_failed);
}

static void long_texts_are_cut_not_overrun(void **state)
{
    (void)state;
    struct screen screen;
    struct launch_filter filter = {.pass = show, .context = &screen};
    char block[600];
    screen.bytes = 0;
    memset(block, 'x', sizeof(block));
    launch_filter_feed(&filter, DASHES, strlen(DASHES));
    for (int i = 0; i < 20; i++) {
        launch_filter_feed(&filter, block, sizeof(block));
    }
    launch_filter_feed(&filter, "\n" DASHES "node\n", strlen("\n" DASHES "node\n"));
    assert_int_equal(screen.bytes, 5);
    assert_int_equal(filter.said_bytes, sizeof(filter.said) - 1);
    memset(block, '-', sizeof(block)); // longer than any line of dashes
    launch_filter_feed(&filter, block, sizeof(block));
    launch_filter_feed(&filter, "!\n", 2);
    assert_int_equal(screen.bytes, 5 + sizeof(block) + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nodes_say_passes),
        cmocka_unit_test(what_nodes_say_passes_at_once),
        cmocka_unit_test(what_mpirun_says_does_not),
        cmocka_unit_test(a_banner_may_lack_its_end),
        cmocka_unit_test(reasons_are_one_line),
        cmocka_unit_test(the_first_that_failed_is_known),
        cmocka_unit_test(a_lost_host_is_named),
        cmocka_unit_test(errors_of_nodes_are_noticed),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
