// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as a cluster file, as --emulate and as --hosts: what is accepted must be sound,
// and survive being written and read again.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "target.h"

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_node(const struct cluster_node *node)
{
    fuzz_check(node->name && *node->name && strlen(node->name) < 64);
    fuzz_check(!node->host || (*node->host && *node->host != '-'));
    fuzz_check(isfinite(node->cpus) && node->cpus >= 0);
    fuzz_check(node->threads >= 0 && node->max_batch >= 0);
    fuzz_check(!node->private_dir || *node->private_dir);
}

static void check_round_trip(const struct cluster *cluster)
{
    char *text;
    struct cluster again;
    fuzz_check(cluster_format(cluster, &text) == STN_OK);
    fuzz_check(cluster_parse_yaml(text, strlen(text), "again", &again) == STN_OK);
    fuzz_check(again.count == cluster->count);
    for (int i = 0; i < cluster->count; i++) {
        const struct cluster_node *a = &cluster->nodes[i], *b = &again.nodes[i];
        fuzz_check(same_text(a->name, b->name) && same_text(a->host, b->host) &&
                   same_text(a->private_dir, b->private_dir) && a->threads == b->threads &&
                   a->cpus == b->cpus && a->memory == b->memory && a->max_batch == b->max_batch);
    }
    cluster_fini(&again);
    free(text);
}

static void check_result(enum stn_status status, struct cluster *cluster)
{
    fuzz_check(status == STN_OK || (cluster->count == 0 && !cluster->nodes));
    fuzz_check(status != STN_OK || cluster->count > 0);
    for (int i = 0; i < cluster->count; i++) {
        check_node(&cluster->nodes[i]);
    }
    if (status == STN_OK && cluster->count <= 1000) {
        check_round_trip(cluster);
    }
    cluster_fini(cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster cluster;
    char *text = fuzz_text(data, size);
    fuzz_quiet();
    check_result(cluster_parse_yaml((const char *)data, size, "fuzz", &cluster), &cluster);
    check_result(cluster_parse_emulate(text, &cluster), &cluster);
    check_result(cluster_parse_hosts(text, &cluster), &cluster);
    free(text);
    return 0;
}
