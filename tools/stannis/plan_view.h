// SPDX-License-Identifier: Apache-2.0
// A plan as a picture.
#ifndef TOOLS_STANNIS_PLAN_VIEW_H
#define TOOLS_STANNIS_PLAN_VIEW_H

#include "stannis/plan.h"

// How fast each node is with a batch of so many images, as measured, and at which it will work.
STN_MUST_CHECK enum stn_status plan_plot(const struct stn_plan *plan, const char *path);

#endif
