// SPDX-License-Identifier: Apache-2.0
// What nodes must have in common to train together, as a few numbers that can be compared.
#ifndef CREW_IDENTITY_H
#define CREW_IDENTITY_H

#include "checkpoint/checkpoint.h"
#include "crew/nodes.h"

// The identity of a training that is about to begin. Fails only for want of memory.
STN_MUST_CHECK enum stn_status crew_identity_of(const struct checkpoint_meta *meta,
                                                const struct nn_net *net, int64_t public_samples,
                                                struct wire_identity *out);

#endif
