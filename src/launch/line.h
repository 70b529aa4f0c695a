// SPDX-License-Identifier: Apache-2.0
// The mpirun line, word by word. For this folder.
#ifndef LAUNCH_LINE_H
#define LAUNCH_LINE_H

#include <limits.h>

#include "launch/launch.h"
#include "launch/words.h"

// Makes the line. `out` is to be finished with launch_words_fini, also after a failure.
STN_MUST_CHECK enum stn_status launch_line_make(const struct launch_config *config,
                                                struct launch_words *out);
// The command that reaches other hosts: the user's, with options that make it fail where it would
// ask for a password.
void launch_line_ssh(const struct launch_config *config, struct launch_words *out);
// The absolute path of this program.
STN_MUST_CHECK enum stn_status launch_program(char path[PATH_MAX]);
// Whether a node is on another host.
bool launch_is_remote(const struct cluster *cluster);

#endif
