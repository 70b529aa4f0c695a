// SPDX-License-Identifier: Apache-2.0
// The cluster as a training sees it: which nodes take part, and how they stay of one mind. With one
// node nothing is sent: agreements and comparisons succeed at once, and sums are its own.
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
#include "settings/settings.h"
#include "stannis/train.h"

// What a node tells node 0 at the end of its part of a step.
struct crew_node_report {
    enum stn_status status;
    bool stop;                        // its user wants the training to stop
    struct kernel_loss_totals totals; // of its samples
    int micro_batches;                // that it did
    struct hypertune_report vitals;   // how long that took, and why
};

// What node 0 answers to all.
struct crew_verdict {
    enum stn_status status;
    int failed;                       // the lowest node that failed, or −1
    bool stop;                        // a user wants the training to stop
    struct kernel_loss_totals totals; // of all
    // From the next step on.
    bool moved;     // the split has changed
    bool end_epoch; // the rest of the epoch is given up
    int batch;      // if so, the next epoch's B
    double lr;      // and its learning rate
    int split[];    // [size] if it moved
};

// On node 0: reads the reports of all nodes and says what is to change. A failure is one of all
// nodes.
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
    int files[CREW_SHARED_FILES_MAX]; // copies of node 0's files
    int file_count;
    enum stn_status failed; // what the nodes agreed on: nothing is exchanged any more
};

// Nodes agree on names: those of node 0's cluster file, or their host names. `out` is to be closed
// whatever happens.
STN_MUST_CHECK enum stn_status crew_open(struct comm *comm, const struct settings *settings,
                                         struct crew *out);
void crew_close(struct crew *nodes);
const struct cluster_node *crew_own(const struct crew *nodes);

// STN_OK if `own` is OK on all nodes; else the status of the lowest node that failed, and every
// later call returns it without a message. So a node may leave a function at its first failure,
// past agreements in it: the other nodes leave at the first agreement that they reach.
STN_MUST_CHECK enum stn_status crew_agree(struct crew *nodes, enum stn_status own);

// A file that only node 0 needs to have: the others get it as a nameless copy in memory. *local, to
// be freed, is a path that holds until crew_close; `path` NULL gives NULL.
STN_MUST_CHECK enum stn_status crew_share_file(struct crew *nodes, const char *path, char **local);

// Compares what must be alike on all nodes with node 0's. The refusal names the first node that
// differs, and in what.
STN_MUST_CHECK enum stn_status crew_compare(struct crew *nodes, const struct wire_identity *own);

// Adds up the totals of all nodes; `stop` if one node wants to. Fails on all nodes if one failed.
// Node 0 calls `decide` (may be NULL) before it answers, so decisions cost no message of their own.
// *out is valid until the next call.
STN_MUST_CHECK enum stn_status crew_sum(struct crew *nodes, const struct crew_node_report *own,
                                        crew_decide *decide, void *context,
                                        const struct crew_verdict **out);

#endif
