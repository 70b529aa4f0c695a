// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "base/suggest.h"

void cluster_fini(struct cluster *cluster)
{
    base_arena_fini(&cluster->arena);
    *cluster = (struct cluster){0};
}

int cluster_find(const struct cluster *cluster, const char *name)
{
    for (int i = 0; i < cluster->count; i++) {
        if (strcmp(cluster->nodes[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

enum stn_status cluster_fail_unknown(const struct cluster *cluster, const char *option,
                                     const char *text, const char *name)
{
    const char **names = calloc((size_t)cluster->count + 1, sizeof(*names));
    for (int i = 0; names && i < cluster->count; i++) {
        names[i] = cluster->nodes[i].name;
    }
    const char *meant = names ? base_did_you_mean(name, names) : NULL;
    free(names);
    if (meant) {
        return stn_fail(STN_ERR_INVALID, "%s %s: there is no node '%s'; did you mean %s?", option,
                        text, name, meant);
    }
    return stn_fail(STN_ERR_INVALID, "%s %s: there is no node '%s'; the first is %s", option, text,
                    name, cluster->nodes[0].name);
}

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '\x7f') {
            return true;
        }
    }
    return false;
}

enum stn_status cluster_set_private(struct cluster *cluster, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1] || has_control(text)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "private %s: expected NODE=DIR, as csd.1=/data/clinicA", text);
    }
    char *name = base_arena_printf(&cluster->arena, "%.*s", (int)(equals - text), text);
    char *dir = base_arena_strdup(&cluster->arena, equals + 1);
    if (!name || !dir) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "private %s: no memory", text);
    }
    int index = cluster_find(cluster, name);
    if (index < 0) {
        return cluster_fail_unknown(cluster, BASE_SETTING "private", text, name);
    }
    if (cluster->nodes[index].private_dir) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "private %s: %s has private data already (%s)", text, name,
                        cluster->nodes[index].private_dir);
    }
    cluster->nodes[index].private_dir = dir;
    return STN_OK;
}
