// SPDX-License-Identifier: Apache-2.0
// Speed against energy, drawn and as JSON.
#ifndef TOOLS_STANNIS_FRONT_VIEW_H
#define TOOLS_STANNIS_FRONT_VIEW_H

#include <jansson.h>

#include "sim/sizing.h"

STN_MUST_CHECK enum stn_status front_view_draw(const struct sim_front *front, const char *subtitle,
                                               const char *path);
// What nothing is better than, by rising speed.
json_t *front_view_json(const struct sim_front *front);

#endif
