// SPDX-License-Identifier: Apache-2.0
// Where the time of a net goes: every call of every op is timed and added up, and the calls of the
// first micro-batches are kept one by one for a timeline. Costs two clock readings a call. Lanes
// note what they do each in a part of its own.
#ifndef NN_PROFILE_H
#define NN_PROFILE_H

#include "nn/net_state.h"

struct nn_profile_call {
    int64_t begin_ns, end_ns;
    int op;
    enum nn_act act;
    int strip;
};

struct nn_profile_lane {
    int64_t (*op_ns)[NN_ACTS];     // [ops]
    struct nn_profile_call *calls; // the first `call_capacity` ones
    int call_count, call_capacity;
};

struct nn_profile {
    struct nn_profile_lane *lanes;
    int lane_count;
    int micro_batches; // profiled
};

STN_MUST_CHECK enum stn_status nn_profile_create(const struct nn_net *net, int call_capacity,
                                                 struct nn_profile **out);
void nn_profile_destroy(struct nn_profile *profile);
void nn_profile_add(struct nn_profile *profile, const struct nn_moment *moment, int lane, int strip,
                    int64_t begin_ns, int64_t end_ns);

#endif
