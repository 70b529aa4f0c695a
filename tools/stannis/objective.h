// SPDX-License-Identifier: Apache-2.0
// What the user wants plans to be good for.
#ifndef TOOLS_STANNIS_OBJECTIVE_H
#define TOOLS_STANNIS_OBJECTIVE_H

#include "plan/energy.h"
#include "settings/settings.h"

// From `objective` and `min-speed`, without watts; *wanted is `out`, or NULL for time. Refused:
// what cannot be, and policies that plan for time alone.
STN_MUST_CHECK enum stn_status objective_of(const struct settings *settings,
                                            struct plan_objective *out,
                                            const struct plan_objective **wanted);

#endif
