// SPDX-License-Identifier: Apache-2.0
// Equal batches; no work is moved later.
#include "hypertune/policy.h"

const struct hypertune_policy_ways hypertune_policy_uniform = {.split = plan_split_uniform};
