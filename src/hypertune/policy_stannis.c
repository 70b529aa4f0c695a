// SPDX-License-Identifier: Apache-2.0
// The first paper's Algorithm 1; no work is moved later.
#include "hypertune/policy.h"

const struct hypertune_policy_ways hypertune_policy_stannis = {.split = plan_split_stannis};
