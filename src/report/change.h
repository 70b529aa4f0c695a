// SPDX-License-Identifier: Apache-2.0
// What happened in a cluster, in words and as JSON: a change when it happens, an incident (a node
// was slow for a while) when it is over. `crew` must have been told of the change. Pure.
#ifndef REPORT_CHANGE_H
#define REPORT_CHANGE_H

#include <jansson.h>

#include "report/crew.h"

enum { REPORT_CHANGE_BYTES = 512 };

// One line, without its end.
void report_change_text(const struct report_crew *crew, const struct stn_train_change *change,
                        char out[REPORT_CHANGE_BYTES]);
// An object; NULL when memory is out.
json_t *report_change_json(const struct report_crew *crew, const struct stn_train_change *change);

struct report_incident {
    const char *name;               // of the node
    int64_t since_step, until_step; // until: −1: to the end of the run
    double slowdown, cost_seconds;
    int before, least; // its micro-batches
    char cause[REPORT_CAUSE_BYTES];
};

// Whether the change ends an incident.
bool report_incident_of(const struct report_crew *crew, const struct stn_train_change *change,
                        struct report_incident *out);
void report_incident_text(const struct report_incident *incident, char out[REPORT_CHANGE_BYTES]);
json_t *report_incident_json(const struct report_incident *incident);

#endif
