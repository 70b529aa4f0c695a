// SPDX-License-Identifier: Apache-2.0
// Which samples this node trained with, for whoever must show it: that every sample was seen once
// an epoch, and that private ones were seen where they are. One file a node, written by that node
// alone and on its own disk: FOLDER/NODE.csv, a line a sample. One thread.
//
//     epoch,step,set,sample
//     1,1,public,4711
//
// A resumed run adds to the file. What a run that broke off had done after its last checkpoint is
// there twice then, with the same steps.
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
// After a step: what was added is in the file.
STN_MUST_CHECK enum stn_status crew_audit_flush(struct crew_audit *audit);

#endif
