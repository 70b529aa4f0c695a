// SPDX-License-Identifier: Apache-2.0
// --emulate, --hosts and --private: what they mean, and what is said to those who mistype.
#include <string.h>

#include "refused.h"

static void assert_node(const struct cluster *cluster, int index, const char *name,
                        const char *host, double cpus)
{
    assert_in_range(index, 0, cluster->count - 1);
    const struct cluster_node *node = &cluster->nodes[index];
    assert_string_equal(node->name, name);
    assert_int_equal(node->host == NULL, host == NULL);
    if (host) {
        assert_string_equal(node->host, host);
    }
    assert_true(node->cpus == cpus);
    assert_int_equal(cluster_find(cluster, name), index);
}

static void shares_make_nodes(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(cluster_parse_emulate("host=1.0,csd*3=0.25,x*1=2", &cluster), STN_OK);
    assert_int_equal(cluster.count, 5);
    assert_node(&cluster, 0, "host", NULL, 1);
    assert_node(&cluster, 1, "csd.0", NULL, 0.25);
    assert_node(&cluster, 3, "csd.2", NULL, 0.25);
    assert_node(&cluster, 4, "x", NULL, 2);
    assert_int_equal(cluster_find(&cluster, "csd.3"), -1);
    cluster_fini(&cluster);
}

static void hosts_make_nodes(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(cluster_parse_hosts("server:2,csd1,ann@csd2:1", &cluster), STN_OK);
    assert_int_equal(cluster.count, 4);
    assert_node(&cluster, 0, "server.0", "server", 0);
    assert_node(&cluster, 1, "server.1", "server", 0);
    assert_node(&cluster, 2, "csd1", "csd1", 0);
    assert_node(&cluster, 3, "csd2", "ann@csd2", 0);
    cluster_fini(&cluster);
}

static void many_nodes_are_fine_and_too_many_are_not(void **state)
{
    (void)state;
    struct cluster cluster;
    assert_int_equal(cluster_parse_emulate("a*50000=0.1,b*50000=0.1", &cluster), STN_OK);
    assert_int_equal(cluster.count, 100000);
    assert_node(&cluster, 99999, "b.49999", NULL, 0.1);
    cluster_fini(&cluster);
    assert_refused(cluster_parse_emulate, "a*50000=0.1,b*50001=0.1",
                   "emulate: more than 100000 nodes");
}

static void mistakes_in_shares(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",       "host",    "host=",      "host=fast", "=1",
                                        "host=0", "host=-1", "csd*=1",     "csd*0=1",   "csd*x=1",
                                        "*3=1",   "a=1,",    "a*100001=1", "a=nan",     "a= 1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char line[200];
        const char *item = strcmp(wrong[i], "a=1,") == 0 ? "" : wrong[i];
        snprintf(line, sizeof(line),
                 "emulate: '%s': expected NAME[*COUNT]=CPUS, as host=1 or csd*3=0.25", item);
        assert_refused(cluster_parse_emulate, wrong[i], line);
    }
    assert_refused(cluster_parse_emulate, "a b=1",
                   "emulate: name: 'a b': expected letters, digits, '.', '_' and '-'");
    assert_refused(cluster_parse_emulate, "csd=1,host=1,csd=0.5",
                   "emulate: 'csd' is given twice; several nodes alike are written csd*2=…");
    assert_refused(cluster_parse_emulate, "csd*2=0.1,csd.1=0.1",
                   "emulate: 'csd.1' is given twice; several nodes alike are written csd.1*2=…");
}

static void mistakes_in_hosts(void **state)
{
    (void)state;
    assert_refused(cluster_parse_hosts, "a:0",
                   "hosts: 'a:0': expected HOST[:COUNT], as csd1 or server:2");
    assert_refused(cluster_parse_hosts, "a,,b",
                   "hosts: '': expected HOST[:COUNT], as csd1 or server:2");
    assert_refused(cluster_parse_hosts, "a,a",
                   "hosts: 'a' is given twice; several nodes alike are written a:2");
    static const char *const wrong[] = {"ann@", "@csd", "a@b@c", "ann@-x", "h/x", "h x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char line[200];
        snprintf(line, sizeof(line), "hosts: host: '%s': expected a host's name or address",
                 wrong[i]);
        assert_refused(cluster_parse_hosts, wrong[i], line);
    }
    assert_refused(cluster_parse_hosts, "-oProxyCommand=reboot",
                   "hosts: host: '-oProxyCommand=reboot': expected a host's name or address");
}

static void names_have_a_limit(void **state)
{
    (void)state;
    char text[80] = "", line[160];
    memset(text, 'x', 64);
    strcpy(text + 64, "=1");
    snprintf(line, sizeof(line), "emulate: name: '%.64s': longer than 63 characters", text);
    assert_refused(cluster_parse_emulate, text, line);
    struct cluster cluster;
    assert_int_equal(cluster_parse_emulate(text + 1, &cluster), STN_OK);
    cluster_fini(&cluster);
}

static struct cluster private_cluster;

static enum stn_status set_private(const char *text, struct cluster *out)
{
    *out = (struct cluster){0};
    return cluster_set_private(&private_cluster, text);
}

static void private_data_belongs_to_a_node(void **state)
{
    (void)state;
    assert_int_equal(cluster_parse_emulate("host=1,csd*2=0.1", &private_cluster), STN_OK);
    assert_int_equal(cluster_set_private(&private_cluster, "csd.1=/data/a=b"), STN_OK);
    assert_string_equal(private_cluster.nodes[2].private_dir, "/data/a=b");
    assert_null(private_cluster.nodes[1].private_dir);
    assert_refused(set_private, "csd.1=/other",
                   "private csd.1=/other: csd.1 has private data already (/data/a=b)");
    assert_refused(set_private, "hots=/x",
                   "private hots=/x: there is no node 'hots'; did you mean host?");
    assert_refused(set_private, "quantum=/x",
                   "private quantum=/x: there is no node 'quantum'; the first is host");
    assert_refused(set_private, "host", "private host: expected NODE=DIR, as csd.1=/data/clinicA");
    assert_refused(set_private,
                   "host=", "private host=: expected NODE=DIR, as csd.1=/data/clinicA");
    cluster_fini(&private_cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_make_nodes),
        cmocka_unit_test(hosts_make_nodes),
        cmocka_unit_test(many_nodes_are_fine_and_too_many_are_not),
        cmocka_unit_test(mistakes_in_shares),
        cmocka_unit_test(mistakes_in_hosts),
        cmocka_unit_test(names_have_a_limit),
        cmocka_unit_test(private_data_belongs_to_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
