// SPDX-License-Identifier: Apache-2.0
// The record of the samples that this node trained with. It shows that every sample was seen once
// an epoch, and private ones only by their own node. Each node writes a file of its own, on its own
// disk: FOLDER/NODE.csv, a line for each sample. One thread.
//
//     epoch,step,set,sample
//     1,1,public,4711
//
// A resumed run adds to the file. Steps that a run did after its last checkpoint, before it broke
// off, are then in the file twice.
#ifndef CREW_AUDIT_H
#define CREW_AUDIT_H

#include "data/loader.h"

struct crew_audit;

// The folder is made if need be.
STN_MUST_CHECK enum stn_status crew_audit_open(const char *folder, const char *node, bool resumed,
                                               struct crew_audit **out);
void crew_audit_close(struct crew_audit *audit); // NULL is fine

// `epoch` and `step` count from 1.
void crew_audit_add(struct crew_audit *audit, int epoch, int64_t step,
                    const struct data_batch *batch);
// Called after a step: writes what was added to the file.
STN_MUST_CHECK enum stn_status crew_audit_flush(struct crew_audit *audit);

#endif
