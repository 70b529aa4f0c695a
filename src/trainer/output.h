// SPDX-License-Identifier: Apache-2.0
// The files that a training writes: its checkpoints, on the first node, and each node's account of
// the samples that it computed.
#ifndef TRAINER_OUTPUT_H
#define TRAINER_OUTPUT_H

#include "crew/audit.h"
#include "crew/nodes.h"

struct trainer_output {
    char *last, *best;        // NULL without a directory, and on all nodes but the first
    struct crew_audit *audit; // NULL: not asked for
};

STN_MUST_CHECK enum stn_status trainer_output_open(const struct settings *settings,
                                                   const struct crew *nodes,
                                                   struct trainer_output *out);
// A zeroed one may be closed too.
void trainer_output_close(struct trainer_output *output);

#endif
