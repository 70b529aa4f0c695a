// SPDX-License-Identifier: Apache-2.0
// Whether a network fits into memory, known before anything large is allocated.
#ifndef ENGINE_MEMORY_H
#define ENGINE_MEMORY_H

#include "nn/net.h"

// What exact sums keep for each parameter beside the net and the optimizer (optim_rule_bytes).
enum { ENGINE_EXACT_BYTES = 8 };

// What the process needs with that net: the net itself, `state_bytes` for each parameter, and the
// program with its libraries.
size_t engine_memory_needed(const struct nn_net *net, size_t state_bytes);

// Whether the net fits `limit` bytes, as below, if need be one micro-batch at a time.
STN_MUST_CHECK enum stn_status engine_memory_fits(struct kernel *kernel,
                                                  const struct nn_net_config *net,
                                                  size_t state_bytes, size_t limit, bool *fits);

// ERR_NO_MEMORY with the number needed and a micro-batch that would fit, if the net does not fit
// `limit` bytes. 0: the cgroup's limit or physical memory. A net that fits only as long as it takes
// micro-batches one at a time is told to.
STN_MUST_CHECK enum stn_status engine_memory_settle(struct kernel *kernel,
                                                    struct nn_net_config *net, size_t state_bytes,
                                                    size_t limit);

#endif
