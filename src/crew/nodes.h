// SPDX-License-Identifier: Apache-2.0
// The cluster as a training sees it: who takes part, and how its nodes stay of one mind. With one
// node everything here is at once true.
//
// Errors: while a run lasts, a node's error line waits (base/log_hold.h). At the next agreement the
// lowest failing node prints its own, the others drop theirs, and all return the same status.
#ifndef CREW_NODES_H
#define CREW_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "comm/comm.h"
#include "hypertune/report.h"
#include "kernel/kernel.h"
#include "stannis/train.h"

// What a node tells at the end of its part of a step.
struct crew_node_report {
    enum stn_status status;
    bool stop;                        // its user wants to stop
    struct kernel_loss_totals totals; // of its samples
    int micro_batches;                // that it did
    struct hypertune_report vitals;   // how that went
};

// What all learn then.
struct crew_verdict {
    enum stn_status status;
    int failed;                       // the lowest node that did, or −1
    bool stop;                        // somebody wants to
    struct kernel_loss_totals totals; // of all
    // From the next step on.
    bool moved;     // the split is another one
    bool end_epoch; // what is left of the epoch is given up
    int batch;      // B, where the epoch ends
    double lr;      // and the base of the learning rate
    int split[];    // [size] where it moved
};

// Node 0: reads everybody's reports, says what is to change. A failure is everybody's.
typedef enum stn_status crew_decide(void *context, const struct crew_node_report reports[],
                                    struct crew_verdict *verdict);

enum { CREW_SHARED_FILES_MAX = 4 };

struct crew {
    struct comm *comm; // borrowed
    int rank, size;
    struct cluster cluster;           // names, limits and private folders, the same on every node
    struct crew_node_report *reports; // node 0: [size]
    struct wire_report *heard;        // node 0: [size] the same as they came
    struct crew_verdict *verdict;
    uint8_t *answer;                  // the verdict as it travels
    int files[CREW_SHARED_FILES_MAX]; // copies of node 0's
    int file_count;
    enum stn_status failed; // what the nodes agreed on: nothing is exchanged any more
};

// Agrees on names: the cluster text of node 0's settings, or the nodes' host names. `out` is to be
// closed whatever happens.
STN_MUST_CHECK enum stn_status crew_open(struct comm *comm, const struct stn_train_config *config,
                                         struct crew *out);
void crew_close(struct crew *nodes);
const struct cluster_node *crew_own(const struct crew *nodes);

// STN_OK when it is for all; else the status of the lowest failing node, from then on at once. So a
// node that fails may skip agreements within what failed: the others leave at the first they reach.
STN_MUST_CHECK enum stn_status crew_agree(struct crew *nodes, enum stn_status own);

// A file that only node 0 needs to have: the others get it as a nameless copy in memory. *local, to
// be freed, is a path that holds until crew_close; `path` NULL gives NULL.
STN_MUST_CHECK enum stn_status crew_share_file(struct crew *nodes, const char *path, char **local);

// What must be alike on all nodes. Node 0's counts: refused by naming the first node that differs,
// and in what.
STN_MUST_CHECK enum stn_status crew_compare(struct crew *nodes, const struct wire_identity *own);

// Everybody's totals together; `stop` if anybody's. Fails on all nodes if one did. Node 0 calls
// `decide` (may be NULL) in between, so decisions cost no message of their own. *out is valid until
// the next call.
STN_MUST_CHECK enum stn_status crew_sum(struct crew *nodes, const struct crew_node_report *own,
                                        crew_decide *decide, void *context,
                                        const struct crew_verdict **out);

#endif
