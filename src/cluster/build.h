// SPDX-License-Identifier: Apache-2.0
// A cluster while it is being read: nodes are added one entry at a time, each remembers its line,
// and the end checks what only all of them together can break. For the readers of this folder.
#ifndef CLUSTER_BUILD_H
#define CLUSTER_BUILD_H

#include "cluster/cluster.h"

enum { CLUSTER_NODES_MAX = 100000, CLUSTER_NAME_MAX = 63 };

struct cluster_build {
    const char *label;  // a file or an option, for messages
    int line;           // of the entry being read; 0: there are no lines
    const char *repeat; // what after a name repeats it ("*2=…"), where there are no lines
    struct cluster cluster;
    int *lines; // of the nodes
    int capacity;
};

// One line that begins with "LABEL: " or "LABEL:LINE: ".
enum stn_status cluster_fail(const struct cluster_build *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// What a node of this host (NULL: this machine) is called that has no name.
void cluster_default_name(const char *host, char *name, size_t size);
// Adds `count` copies, called NAME, or NAME.0, NAME.1, … if there are several. Texts are copied.
STN_MUST_CHECK enum stn_status cluster_build_add(struct cluster_build *build,
                                                 const struct cluster_node *node, int count);
// On success `out` has the nodes; on failure nothing is kept. `status` is what reading came to.
STN_MUST_CHECK enum stn_status cluster_build_end(struct cluster_build *build,
                                                 enum stn_status status, struct cluster *out);

#endif
