// SPDX-License-Identifier: Apache-2.0
// What `stannis power` found on this machine, for people and as JSON.
#ifndef TOOLS_STANNIS_POWER_VIEW_H
#define TOOLS_STANNIS_POWER_VIEW_H

#include <jansson.h>

#include "energy/meter.h"

struct power_finding {
    struct energy_finding found;
    struct energy_total total; // what it told while it was read
    bool stopped;              // while it did, for a reason that was said then
};

// `any`: all were looked for, else the user named one.
void power_view_print(const struct power_finding findings[], int count, double seconds, bool any);
json_t *power_view_json(const struct power_finding findings[], int count, double seconds);

#endif
