// SPDX-License-Identifier: Apache-2.0
// What nodes must have in common to train together: settings, which are compared one by one, and
// the rest as a few numbers.
#ifndef CREW_IDENTITY_H
#define CREW_IDENTITY_H

#include "crew/nodes.h"

// What a training about to begin is of.
struct crew_subject {
    uint64_t network;        // a hash of its tensors' names and shapes
    const char *class_list;  // the names, in order
    const float *mean, *std; // [3] of the data
    int64_t public_samples;
};

void crew_identity_of(const struct crew_subject *subject, struct wire_identity *out);

// Refused where a setting that must be alike is not: the line names the node, the setting and both
// values.
STN_MUST_CHECK enum stn_status crew_compare_settings(struct crew *nodes,
                                                     const struct settings *settings);

#endif
