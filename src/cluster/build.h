// SPDX-License-Identifier: Apache-2.0
// A cluster while it is being read. Nodes are added one entry at a time, each with the line it came
// from; the end checks that no name is given twice. For the readers of this folder.
#ifndef CLUSTER_BUILD_H
#define CLUSTER_BUILD_H

#include "cluster/cluster.h"

enum { CLUSTER_NODES_MAX = 100000, CLUSTER_NAME_MAX = 63 };

struct cluster_build {
    const char *label;  // a file or an option, for messages
    int line;           // of the entry being read; 0: there are no lines
    const char *repeat; // without lines: what repeats a node when put behind its name ("*2=…")
    struct cluster cluster;
    int *lines; // of the nodes
    int capacity;
};

// One line that begins with "LABEL: " or "LABEL:LINE: ".
enum stn_status cluster_fail(const struct cluster_build *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// What a node without a name is called: as its host (NULL: as this machine).
void cluster_default_name(const char *host, char *name, size_t size);
// Adds `count` copies, called NAME, or NAME.0, NAME.1, … if there are several. Texts are copied.
STN_MUST_CHECK enum stn_status cluster_build_add(struct cluster_build *build,
                                                 const struct cluster_node *node, int count);
// `status` is that of reading. On success `out` has the nodes; on failure nothing is kept.
STN_MUST_CHECK enum stn_status cluster_build_end(struct cluster_build *build,
                                                 enum stn_status status, struct cluster *out);

#endif
