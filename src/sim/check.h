// SPDX-License-Identifier: Apache-2.0
// Refuses what cannot be simulated, with the node or the load that is to blame. Pure.
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim/sim.h"

STN_MUST_CHECK enum stn_status sim_check(const struct sim_cluster *cluster,
                                         const struct sim_config *config);

#endif
