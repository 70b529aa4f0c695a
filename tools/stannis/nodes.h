// SPDX-License-Identifier: Apache-2.0
// Settings that name a cluster, `emulate`, `hosts` or `cluster`, for the verbs that can run on one:
// which nodes there are, and starting this program on all of them.
#ifndef TOOLS_STANNIS_NODES_H
#define TOOLS_STANNIS_NODES_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "settings/settings.h"
#include "stannis/status.h"

// Whether any of them was given.
bool nodes_wanted(const struct settings *settings);
// The cluster they name.
STN_MUST_CHECK enum stn_status nodes_read(const struct settings *settings, struct cluster *out);
// The same as the text of a cluster file, to be freed; NULL if none was given. Only node
// 0 needs it; it tells the others.
STN_MUST_CHECK enum stn_status nodes_text(const struct settings *settings, char **out);
// Whether --interfere is well said, before any node is started. NULL is fine.
STN_MUST_CHECK enum stn_status nodes_check_interfere(const char *text);
// Runs the program (argv of main, ours to change) on all nodes and waits, or prints the line that
// would.
STN_MUST_CHECK enum stn_status nodes_launch(const struct settings *settings, char **argv);

#endif
