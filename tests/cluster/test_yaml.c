// SPDX-License-Identifier: Apache-2.0
// The cluster file: what it means, lines in messages, and that writing it and reading it again
// changes nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refused.h"

static enum stn_status parse(const char *text, struct cluster *out)
{
    return cluster_parse_yaml(text, strlen(text), "rack.yaml", out);
}

static const char full[] = "# our rack\n"
                           "nodes:\n"
                           "  - name: big\n"
                           "    host: server1\n"
                           "    threads: 8\n"
                           "    memory: 4G\n"
                           "    max_batch: 256\n"
                           "    private: \"/data/Kliniken Süd\"\n"
                           "    power: csv:/var/log/meter.csv@-2\n"
                           "  - {name: csd, count: 2, cpus: 0.1}\n"
                           "  - host: ann@server2\n";

static void assert_full(const struct cluster *cluster)
{
    assert_int_equal(cluster->count, 4);
    const struct cluster_node *big = &cluster->nodes[0];
    assert_string_equal(big->name, "big");
    assert_string_equal(big->host, "server1");
    assert_int_equal(big->threads, 8);
    assert_true(big->cpus == 0);
    assert_true(big->memory == (size_t)4 << 30);
    assert_int_equal(big->max_batch, 256);
    assert_string_equal(big->private_dir, "/data/Kliniken Süd");
    assert_string_equal(big->power, "csv:/var/log/meter.csv@-2");
    assert_null(cluster->nodes[1].power);
    assert_string_equal(cluster->nodes[1].name, "csd.0");
    assert_null(cluster->nodes[1].host);
    assert_true(cluster->nodes[2].cpus == 0.1);
    assert_string_equal(cluster->nodes[2].name, "csd.1");
    assert_string_equal(cluster->nodes[3].name, "server2");
    assert_string_equal(cluster->nodes[3].host, "ann@server2");
}

static void every_key_is_read(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(parse(full, &cluster), STN_OK);
    assert_full(&cluster);
    cluster_fini(&cluster);
}

static void writing_and_reading_changes_nothing(void **state)
{
    (void)state;
    struct cluster cluster, again;
    char *text;
    assert_int_equal(parse(full, &cluster), STN_OK);
    assert_int_equal(cluster_format(&cluster, &text), STN_OK);
    assert_int_equal(parse(text, &again), STN_OK);
    assert_full(&again);
    free(text);
    cluster_fini(&again);
    cluster_fini(&cluster);
}

static void a_node_without_name_is_called_as_this_machine(void **state)
{
    (void)state;
    char name[256] = "";
    struct cluster cluster;
    gethostname(name, sizeof(name) - 1);
    assert_int_equal(parse("nodes:\n- threads: 1\n", &cluster), STN_OK);
    assert_string_equal(cluster.nodes[0].name, name);
    cluster_fini(&cluster);
}

static void keys_that_are_wrong(void **state)
{
    (void)state;
    assert_refused(parse, "nodes:\n  - name: a\n    thraeds: 2\n",
                   "rack.yaml:3: 'thraeds': unknown key; did you mean threads?");
    assert_refused(
        parse, "nodes:\n  - name: a\n    colour: red\n",
        "rack.yaml:3: 'colour': unknown key; there is name, host, threads, cpus, memory, "
        "max_batch, private, power, count, device, speed, share, private_samples, noise, "
        "noise_memory, "
        "spikes, spike_factor, link, per_host, fails_at, loads");
    assert_refused(parse, "node:\n  - name: a\n",
                   "rack.yaml:1: 'node': unknown key; did you mean nodes?");
    assert_refused(parse, "nodes:\n  - name: a\n    host: b\n    name: c\n",
                   "rack.yaml:4: name: given twice for one node");
    assert_refused(parse, "nodes:\n- {name: a}\nnodes:\n- {name: b}\n",
                   "rack.yaml:3: nodes: given twice");
}

static void values_that_are_wrong(void **state)
{
    (void)state;
    assert_refused(parse, "nodes:\n  - name: a\n    memory: lots\n",
                   "rack.yaml:3: memory: 'lots': expected a size as 512M or 4G");
    assert_refused(parse, "nodes:\n  - name: a\n    memory: 99999999999T\n",
                   "rack.yaml:3: memory: '99999999999T': expected a size as 512M or 4G");
    assert_refused(parse, "nodes:\n  - threads: 0\n",
                   "rack.yaml:2: threads: '0': expected a whole number from 1 to 1024");
    assert_refused(parse, "nodes:\n  - cpus: -1\n",
                   "rack.yaml:2: cpus: '-1': expected a number of CPUs as 0.25 or 2");
    assert_refused(parse, "nodes:\n  - count: 100001\n",
                   "rack.yaml:2: count: '100001': expected a whole number from 1 to 100000");
    assert_refused(parse, "nodes:\n  - name:\n",
                   "rack.yaml:2: name: expected one value on one line");
    assert_refused(parse, "nodes:\n  - name: [a, b]\n",
                   "rack.yaml:2: name: expected one value on one line");
    assert_refused(parse, "nodes:\n  - private: \"a\\nb\"\n",
                   "rack.yaml:2: private: expected one value on one line");
    assert_refused(parse, "nodes:\n  - name: a/b\n",
                   "rack.yaml:2: name: 'a/b': expected letters, digits, '.', '_' and '-'");
    assert_refused(parse, "nodes:\n  - host: -x\n",
                   "rack.yaml:2: host: '-x': expected a host's name or address");
}

// Everything that the simulator reads may be said to a training, too.
static void keys_of_virtual_nodes_are_passed_over(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(parse("nodes:\n"
                           "- {name: host, device: xeon-4108, noise: 0.02, memory: 4G}\n"
                           "- name: csd\n"
                           "  count: 2\n"
                           "  speed: {fixed_s: 0.05, each_s: 0.02}\n"
                           "  link: {bytes_per_s: 117e6}\n"
                           "  share: 0.5\n"
                           "  private: 500\n"
                           "  loads: [{from: 10, to: 20, slowdown: 2}]\n"
                           "- {name: clinic, private: ./500, private_samples: 70}\n",
                           &cluster),
                     STN_OK);
    assert_int_equal(cluster.count, 4);
    assert_int_equal(cluster.nodes[0].memory, (size_t)4 << 30);
    assert_true(cluster.nodes[1].cpus == 0.0);
    assert_null(cluster.nodes[2].private_dir);
    assert_string_equal(cluster.nodes[3].private_dir, "./500");
    cluster_fini(&cluster);
}

// But they are looked at.
static void mistakes_about_virtual_nodes_are_refused(void **state)
{
    (void)state;
    assert_refused(parse, "nodes:\n  - name: a\n    devise: box\n",
                   "rack.yaml:3: 'devise': unknown key; did you mean device?");
    assert_refused(parse, "nodes:\n  - name: a\n    speed: {each: 1}\n",
                   "rack.yaml:3: 'each': unknown key; did you mean each_s?");
    assert_refused(parse, "nodes:\n  - name: a\n    link: {latency_s: -1}\n",
                   "rack.yaml:3: latency_s: '-1': expected seconds, 0 or more");
    assert_refused(parse, "nodes:\n  - name: a\n    loads:\n    - {form: 3, slowdown: 2}\n",
                   "rack.yaml:4: 'form': unknown key; did you mean from?");
    assert_refused(parse, "nodes:\n  - name: a\n    fails_at: never\n",
                   "rack.yaml:3: fails_at: 'never': expected a whole number from 1 to 2147483647");
    assert_refused(parse, "nodes:\n  - {name: a, private: 5, private_samples: 6}\n",
                   "rack.yaml:2: private: '5' is a number of samples, and so is private_samples");
}

// A folder called by a number stays a folder on its way to the other nodes.
static void a_folder_may_be_called_by_a_number(void **state)
{
    (void)state;
    struct cluster cluster, again;
    char *text;
    assert_int_equal(parse("nodes:\n- name: a\n", &cluster), STN_OK);
    assert_int_equal(cluster_set_private(&cluster, "a=500"), STN_OK);
    assert_int_equal(cluster_format(&cluster, &text), STN_OK);
    assert_int_equal(parse(text, &again), STN_OK);
    assert_string_equal(again.nodes[0].private_dir, "./500");
    free(text);
    cluster_fini(&again);
    cluster_fini(&cluster);
}

static void structures_that_are_wrong(void **state)
{
    (void)state;
    assert_refused(parse, "", "rack.yaml:1: expected \"nodes:\" with a list of nodes below it");
    assert_refused(parse, "- a\n",
                   "rack.yaml:1: expected \"nodes:\" with a list of nodes below it");
    assert_refused(parse, "nodes: 3\n", "rack.yaml:1: nodes: expected a list, as \"- name: host\"");
    assert_refused(parse, "nodes: []\n", "rack.yaml: there are no nodes");
    assert_refused(parse, "nodes:\n  - host\n", "rack.yaml:2: expected a node as \"- name: host\"");
    assert_refused(parse, "nodes:\n- name: a\n---\nnodes: []\n",
                   "rack.yaml:4: a second document; expected one");
    assert_refused(parse, "nodes:\n  - name: a\n   host: b\n",
                   "rack.yaml:3: did not find expected '-' indicator");
    assert_refused(parse, "nodes:\n  - name: \"a\n", "rack.yaml:3: found unexpected end of stream");
}

static void nodes_that_do_not_go_together(void **state)
{
    (void)state;
    assert_refused(parse, "nodes:\n- name: a\n- name: b\n- name: a\n",
                   "rack.yaml:4: name: 'a' is already the node of line 2");
    assert_refused(parse, "nodes:\n- {name: a, count: 3}\n- name: a.2\n",
                   "rack.yaml:3: name: 'a.2' is already the node of line 2");
    assert_refused(parse, "nodes:\n- &x {name: a}\n- *x\n",
                   "rack.yaml:2: name: 'a' is already the node of line 2");
    assert_refused(parse, "nodes:\n- {name: a, count: 2, private: /d}\n",
                   "rack.yaml:2: private: belongs to one node, not to count: 2 of them");
    assert_refused(
        parse, "nodes:\n- {host: h, cpus: 1}\n",
        "rack.yaml:2: cpus: only nodes of this machine can be confined, and this one has "
        "a host");
    assert_refused(parse, "nodes:\n- {name: a, count: 60000}\n- {name: b, count: 60000}\n",
                   "rack.yaml:3: more than 100000 nodes");
}

static void files_are_read_and_missing_ones_named(void **state)
{
    (void)state;
    char path[] = "/tmp/stannis-rack-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, full, strlen(full)), strlen(full));
    close(fd);
    struct cluster cluster;
    assert_int_equal(cluster_load(path, &cluster), STN_OK);
    assert_full(&cluster);
    cluster_fini(&cluster);
    remove(path);

    struct capture capture;
    capture_start(&capture);
    assert_int_equal(cluster_load("/nonexistent/rack.yaml", &cluster), STN_ERR_NOT_FOUND);
    assert_string_equal(capture.last, "/nonexistent/rack.yaml: cannot read the cluster file: No "
                                      "such file or directory");
    assert_int_equal(cluster_load("/", &cluster), STN_ERR_IO);
    capture_stop();
}

static void a_path_that_yaml_cannot_hold_is_refused(void **state)
{
    (void)state;
    struct capture capture;
    struct cluster cluster;
    char *text;
    assert_int_equal(cluster_parse_emulate("a=1", &cluster), STN_OK);
    assert_int_equal(cluster_set_private(&cluster, "a=/data/\xff"), STN_OK);
    capture_start(&capture);
    assert_int_equal(cluster_format(&cluster, &text), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_null(text);
    cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(writing_and_reading_changes_nothing),
        cmocka_unit_test(a_node_without_name_is_called_as_this_machine),
        cmocka_unit_test(keys_that_are_wrong),
        cmocka_unit_test(values_that_are_wrong),
        cmocka_unit_test(keys_of_virtual_nodes_are_passed_over),
        cmocka_unit_test(mistakes_about_virtual_nodes_are_refused),
        cmocka_unit_test(a_folder_may_be_called_by_a_number),
        cmocka_unit_test(structures_that_are_wrong),
        cmocka_unit_test(nodes_that_do_not_go_together),
        cmocka_unit_test(files_are_read_and_missing_ones_named),
        cmocka_unit_test(a_path_that_yaml_cannot_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
