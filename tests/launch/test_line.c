// SPDX-License-Identifier: Apache-2.0
// The mpirun line, as --dry-run shows it.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "launch/launch.h"
#include "launch/words.h"

static char *const argv_train[] = {(char[]){"stannis"}, (char[]){"train"}, (char[]){"--data"},
                                   (char[]){"folder:my photos"}, NULL};

static char program[PATH_MAX];

// Without what this machine's environment would add to the line.
static int set_up(void **state)
{
    (void)state;
    static char *empty[] = {NULL};
    environ = empty;
    setenv("STANNIS_TERMINAL", "80x24", 1);
    setenv("OMP_PROC_BIND", "false", 1);
    setenv("HOME", "/root", 1);
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    return length > 0 ? 0 : -1;
}

static void assert_line(const struct cluster *cluster, const char *ssh, const char *middle)
{
    struct launch_config config = {
        .cluster = cluster, .argv = argv_train, .ssh = ssh, .timeout_seconds = 4.5};
    char expected[3 * PATH_MAX], *line;
    assert_int_equal(launch_line(&config, &line), STN_OK);
    snprintf(
        expected, sizeof(expected),
        "mpirun%s --oversubscribe --bind-to none --mca pml ob1 %s -x STANNIS_TERMINAL=80x24 -x "
        "OMP_PROC_BIND=false -np %d %s train --data 'folder:my photos'",
        geteuid() == 0 ? " --allow-run-as-root" : "", middle, cluster->count, program);
    assert_string_equal(line, expected);
    free(line);
}

static void nodes_of_this_machine_stay_on_it(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(cluster_parse_emulate("host=1,csd*2=0.1", &cluster), STN_OK);
    assert_line(&cluster, NULL,
                "--mca btl vader,self --mca oob_tcp_if_include lo --host localhost:3");
    cluster_fini(&cluster);
}

static void hosts_are_reached_in_their_order(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(cluster_parse_hosts("server:2,ann@csd1,csd2", &cluster), STN_OK);
    assert_line(&cluster, NULL,
                "--mca btl tcp,vader,self --mca plm rsh --mca plm_rsh_agent 'ssh -o BatchMode=yes "
                "-o ConnectTimeout=5' --mca plm_rsh_no_tree_spawn 1 --mca rmaps seq --host "
                "server,server,ann@csd1,csd2");
    cluster.nodes[1].host = NULL; // this machine
    assert_line(&cluster, "my-ssh  -p 2222",
                "--mca btl tcp,vader,self --mca plm rsh --mca plm_rsh_agent 'my-ssh -p 2222 -o "
                "BatchMode=yes -o ConnectTimeout=5' --mca plm_rsh_no_tree_spawn 1 --mca rmaps seq "
                "--host server,localhost,ann@csd1,csd2");
    cluster_fini(&cluster);
}

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    char *words[] = {(char[]){"plain-1.0/x=y"}, (char[]){""},     (char[]){"it's"},
                     (char[]){"$HOME"},         (char[]){"a\nb"}, NULL};
    char *text = launch_words_join(words);
    assert_string_equal(text, "plain-1.0/x=y '' 'it'\\''s' '$HOME' 'a\nb'");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_this_machine_stay_on_it),
        cmocka_unit_test(hosts_are_reached_in_their_order),
        cmocka_unit_test(words_are_quoted_for_a_shell),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
