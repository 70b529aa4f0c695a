// SPDX-License-Identifier: Apache-2.0
#include "hypertune/policy.h"

#include <string.h>

#define OBJECT(id, word, text)                                                                     \
    [STN_POLICY_##id] = {.name = #word, .help = (text), .does = &hypertune_policy_##word},
const struct hypertune_policy hypertune_policies[] = {STN_POLICY_LIST(OBJECT)};
#undef OBJECT
const int hypertune_policies_count = sizeof(hypertune_policies) / sizeof(*hypertune_policies);

const struct hypertune_policy *hypertune_policy_find(const char *name)
{
    for (int i = 0; i < hypertune_policies_count; i++) {
        if (strcmp(hypertune_policies[i].name, name) == 0) {
            return &hypertune_policies[i];
        }
    }
    return NULL;
}

const struct hypertune_policy *hypertune_policy_of(enum stn_policy policy)
{
    int i = (int)policy;
    return i >= 0 && i < hypertune_policies_count ? &hypertune_policies[i] : NULL;
}

enum stn_policy hypertune_policy_number(const struct hypertune_policy *policy)
{
    return (enum stn_policy)(policy - hypertune_policies);
}
