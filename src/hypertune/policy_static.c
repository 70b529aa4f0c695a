// SPDX-License-Identifier: Apache-2.0
// Balanced at the start; no work is moved later.
#include "hypertune/policy.h"

const struct hypertune_policy_ways hypertune_policy_static = {.split = plan_split_balanced};
