// SPDX-License-Identifier: Apache-2.0
#include "engine/memory.h"

#include "base/cpu.h"
#include "base/setting_mark.h"

// Code, libraries, stacks and the loader's batches: what a run of the smallest network occupies.
enum { PROGRAM_BYTES = 48 << 20 };

size_t engine_memory_needed(const struct nn_net *net, size_t state_bytes)
{
    return nn_net_bytes(net) + nn_net_parameter_count(net) * state_bytes + PROGRAM_BYTES;
}

static enum stn_status needed_with(struct kernel *kernel, struct nn_net_config net,
                                   size_t state_bytes, int micro_batch, size_t *needed)
{
    struct nn_net *plan;
    net.micro_batch = micro_batch;
    net.plan_only = true;
    enum stn_status status = nn_net_create(kernel, &net, &plan);
    if (status == STN_OK) {
        *needed = engine_memory_needed(plan, state_bytes);
        nn_net_destroy(plan);
    }
    return status;
}

enum stn_status engine_memory_fits(struct kernel *kernel, const struct nn_net_config *net,
                                   size_t state_bytes, size_t limit, bool *fits)
{
    size_t most = limit > 0 ? limit : base_memory_limit(), needed = 0;
    struct nn_net_config least = *net;
    least.one_at_a_time = true;
    enum stn_status status = needed_with(kernel, least, state_bytes, net->micro_batch, &needed);
    *fits = status == STN_OK && (most == 0 || needed <= most);
    return status;
}

enum stn_status engine_memory_settle(struct kernel *kernel, struct nn_net_config *net,
                                     size_t state_bytes, size_t limit)
{
    size_t most = limit > 0 ? limit : base_memory_limit(), needed = 0, smaller = 0;
    enum stn_status status = needed_with(kernel, *net, state_bytes, net->micro_batch, &needed);
    if (status == STN_OK && most > 0 && needed > most && !net->one_at_a_time) {
        net->one_at_a_time = true;
        status = needed_with(kernel, *net, state_bytes, net->micro_batch, &needed);
    }
    if (status != STN_OK || most == 0 || needed <= most) {
        return status;
    }
    int fits = net->micro_batch / 2;
    for (; fits >= 1; fits /= 2) {
        status = needed_with(kernel, *net, state_bytes, fits, &smaller);
        if (status != STN_OK) {
            return status;
        }
        if (smaller <= most) {
            return stn_fail(STN_ERR_NO_MEMORY,
                            "%s at %d pixels with micro-batches of %d needs %zu MiB, and there are "
                            "%zu; " BASE_SETTING "micro-batch %d would fit (%zu MiB)",
                            net->model->name, net->shape.image_size, net->micro_batch, needed >> 20,
                            most >> 20, fits, smaller >> 20);
        }
    }
    return stn_fail(STN_ERR_NO_MEMORY,
                    "%s at %d pixels needs %zu MiB, and there are %zu; even one image at a time "
                    "would not fit: use a smaller " BASE_SETTING
                    "image-size or network, or more memory",
                    net->model->name, net->shape.image_size, needed >> 20, most >> 20);
}
