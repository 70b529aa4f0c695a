// SPDX-License-Identifier: Apache-2.0
// Whether the hosts of a cluster answer, and have this program with the same protocol. For this
// folder.
#ifndef LAUNCH_HOSTS_H
#define LAUNCH_HOSTS_H

#include "launch/launch.h"

// Asks all hosts at the same time. One line says what is wrong with the first node that fails.
STN_MUST_CHECK enum stn_status launch_check_hosts(const struct launch_config *config);

#endif
