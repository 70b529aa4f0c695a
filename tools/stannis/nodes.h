// SPDX-License-Identifier: Apache-2.0
// Options that name a cluster, for the verbs that can run on one: which nodes there are, and
// starting this program on all of them.
#ifndef TOOLS_STANNIS_NODES_H
#define TOOLS_STANNIS_NODES_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "stannis/status.h"

struct nodes_options {
    const char *emulate, *hosts, *cluster; // one of them at most
    const char *ssh;
    bool dry_run;
};

// Whether any of them was given.
bool nodes_wanted(const struct nodes_options *options);
// The cluster they name.
STN_MUST_CHECK enum stn_status nodes_read(const struct nodes_options *options, struct cluster *out);
// The same as the text that stn_train_config wants, to be freed; NULL if none was given. Only node
// 0 needs it; it tells the others.
STN_MUST_CHECK enum stn_status nodes_text(const struct nodes_options *options, char **out);
// Whether --interfere is well said, before any node is started. NULL is fine.
STN_MUST_CHECK enum stn_status nodes_check_interfere(const char *text);
// Runs the program (argv of main, ours to change) on all nodes and waits, or prints the line that
// would.
STN_MUST_CHECK enum stn_status nodes_launch(const struct nodes_options *options, char **argv,
                                            double timeout_seconds);

#endif
