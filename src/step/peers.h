// SPDX-License-Identifier: Apache-2.0
// What a node's step has to do with the other nodes: sums are exchanged, micro-batches change
// hands, each measures itself, and node 0 decides who computes what. And the account of what each
// node did.
//
//     open_exchange → (measuring nodes, planning) → open_policy → steps → close
#ifndef STEP_PEERS_H
#define STEP_PEERS_H

#include "crew/adapt.h"
#include "crew/feed.h"
#include "crew/hooks.h"
#include "crew/nodes.h"
#include "crew/profile.h"
#include "crew/trade.h"
#include "crew/vitals.h"
#include "exchange/exchange.h"
#include "settings/settings.h"
#include "stannis/train.h"
#include "step/model.h"

struct step_peers {
    struct exchange *exchange;
    struct crew_vitals vitals;  // with several nodes
    struct crew_trade *trade;   // NULL: nodes keep what the plan gave them
    struct crew_adapt *adapt;   // on the first of several nodes
    struct stn_train_node own;  // what this node did
    struct stn_train_node *all; // [nodes] on node 0: what each did
};

// Which node adds up which gradients: everybody's CPUs, in the profile, are known to everybody.
// `own` is this node's of the profile.
STN_MUST_CHECK enum stn_status step_peers_open_exchange(const struct settings *settings,
                                                        const struct crew *nodes,
                                                        const struct crew_profile *profile,
                                                        struct step_model *model,
                                                        struct step_peers *out);
// The policy that moves work, once the split and the feed are there. `hooks` as in crew/trade.h.
STN_MUST_CHECK enum stn_status
step_peers_open_policy(struct step_peers *peers, const struct settings *settings,
                       const struct crew *nodes, const struct crew_profile *profile,
                       const int first[], const struct crew_hooks *hooks);
// A zeroed one may be closed too.
void step_peers_close(struct step_peers *peers);

// Fills `all`, on node 0, with what each node did; `split` [nodes] is in force.
STN_MUST_CHECK enum stn_status step_peers_gather(struct step_peers *peers, struct crew *nodes,
                                                 const int split[]);

#endif
