// SPDX-License-Identifier: Apache-2.0
#include "crew/identity.h"

#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "crew/trade.h"

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        hash = base_key(hash, *c);
    }
    return base_key(hash, 256); // "a", "b" is not "ab"
}

static uint64_t network_of(const struct nn_net *net)
{
    uint64_t hash = 0;
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *tensor = nn_net_tensor(net, i);
        hash = mix_text(hash, tensor->name);
        for (int d = 0; d < tensor->rank; d++) {
            hash = base_key(hash, (uint64_t)tensor->dims[d]);
        }
    }
    return hash;
}

// Where the data lie may differ from node to node, so that is left out; classes and the number of
// samples are compared by themselves.
static enum stn_status settings_of(const struct checkpoint_meta *meta, uint64_t *out)
{
    struct base_arena arena = {0};
    int count = 0;
    const struct safetensors_pair *pairs = checkpoint_meta_encode(meta, &arena, &count);
    uint64_t hash = 0;
    for (int i = 0; i < count && pairs; i++) {
        bool apart = strcmp(pairs[i].key, "stannis.data") == 0 ||
                     strcmp(pairs[i].key, "stannis.class_names") == 0;
        hash = apart ? hash : mix_text(mix_text(hash, pairs[i].key), pairs[i].value);
    }
    *out = base_key(
        hash,
        crew_trade_wanted(
            &meta->config)); // no part of what is learned, but all nodes must trade or none
    base_arena_fini(&arena);
    return pairs ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory to compare settings");
}

enum stn_status crew_identity_of(const struct checkpoint_meta *meta, const struct nn_net *net,
                                 int64_t public_samples, struct wire_identity *out)
{
    memset(out, 0, sizeof(*out));
    out->network = network_of(net);
    out->classes = mix_text(0, meta->class_list);
    out->samples = public_samples;
    return settings_of(meta, &out->settings);
}
