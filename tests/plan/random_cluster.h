// SPDX-License-Identifier: Apache-2.0
// Small clusters drawn at random, with ties, floors, caps, useless nodes and nodes that may not
// compute. Always with room for at least one micro-batch.
#ifndef TESTS_PLAN_RANDOM_CLUSTER_H
#define TESTS_PLAN_RANDOM_CLUSTER_H

#include "base/random.h"
#include "plan/node.h"

enum { RANDOM_NODES_MAX = 5, RANDOM_CAP_MAX = 6 };

struct random_cluster {
    struct plan_node nodes[RANDOM_NODES_MAX];
    struct plan_cluster cluster; // points to the nodes: do not copy
    int floors, caps;            // sums
};

static inline int random_upto(struct base_random *random, int most)
{
    return (int)base_random_below(random, (uint64_t)most + 1);
}

static inline void random_cluster_draw(struct base_random *random, struct random_cluster *out)
{
    *out = (struct random_cluster){0};
    out->cluster = (struct plan_cluster){.nodes = out->nodes,
                                         .count = 1 + random_upto(random, RANDOM_NODES_MAX - 1),
                                         .micro_batch = 8};
    int ties = random_upto(random, 1); // whole numbers, so that times meet
    for (int i = 0; i < out->cluster.count; i++) {
        struct plan_node *node = &out->nodes[i];
        double scale = random_upto(random, 4) == 0 ? 20.0 : 1.0;
        node->curve.line =
            ties ? (struct plan_line){random_upto(random, 4), scale * (1 + random_upto(random, 3))}
                 : (struct plan_line){4.0 * base_random_unit(random),
                                      scale * (0.1 + base_random_unit(random))};
        node->kind = i;
        node->cap = random_upto(random, RANDOM_CAP_MAX) + (i == 0);
        node->floor = random_upto(random, 2) == 0 ? random_upto(random, node->cap) : 0;
        out->floors += node->floor;
        out->caps += node->cap;
    }
}

// A step that can be planned.
static inline int random_cluster_step(struct base_random *random, const struct random_cluster *c)
{
    int least = c->floors > 1 ? c->floors : 1;
    return least + random_upto(random, c->caps - least);
}

#endif
