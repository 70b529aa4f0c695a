// SPDX-License-Identifier: Apache-2.0
// Clusters in a line: --emulate NAME[*COUNT]=CPUS,… and --hosts HOST[:COUNT],…
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"
#include "cluster/build.h"

// COUNT behind a name, cut off at `mark`: "csd*3" becomes "csd" and 3. Without the mark it is 1.
static bool cut_count(char *text, char mark, int *count)
{
    char *at = strchr(text, mark);
    int64_t value = 1;
    if (at) {
        *at = '\0';
        if (base_parse_int64(at + 1, &value) != 0 || value < 1 || value > CLUSTER_NODES_MAX) {
            return false;
        }
    }
    *count = (int)value;
    return *text != '\0';
}

static enum stn_status add_share(struct cluster_build *build, char *item)
{
    struct cluster_node node = {.name = item};
    char *whole = base_arena_strdup(&build->cluster.arena, item);
    if (!whole) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory", build->label);
    }
    char *equals = strchr(item, '=');
    int count = 0;
    if (equals) {
        *equals = '\0';
    }
    if (!equals || base_parse_real(equals + 1, &node.cpus) != 0 || node.cpus <= 0 ||
        !cut_count(item, '*', &count)) {
        return cluster_fail(build, "'%.80s': expected NAME[*COUNT]=CPUS, as host=1 or csd*3=0.25",
                            whole);
    }
    return cluster_build_add(build, &node, count);
}

static enum stn_status add_host(struct cluster_build *build, char *item)
{
    struct cluster_node node = {.host = item};
    char *whole = base_arena_strdup(&build->cluster.arena, item);
    if (!whole) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory", build->label);
    }
    int count = 0;
    if (!cut_count(item, ':', &count)) {
        return cluster_fail(build, "'%.80s': expected HOST[:COUNT], as csd1 or server:2", whole);
    }
    return cluster_build_add(build, &node, count);
}

static enum stn_status parse_list(struct cluster_build *build, const char *text,
                                  enum stn_status (*add)(struct cluster_build *, char *),
                                  struct cluster *out)
{
    enum stn_status status = STN_OK;
    char *copy = strdup(text);
    if (!copy) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory", build->label);
    }
    char *rest = copy;
    for (char *item; status == STN_OK && (item = strsep(&rest, ","));) {
        status = add(build, item);
    }
    free(copy);
    return cluster_build_end(build, status, out);
}

enum stn_status cluster_parse_emulate(const char *text, struct cluster *out)
{
    struct cluster_build build = {.label = BASE_SETTING "emulate", .repeat = "*2=…"};
    return parse_list(&build, text, add_share, out);
}

enum stn_status cluster_parse_hosts(const char *text, struct cluster *out)
{
    struct cluster_build build = {.label = BASE_SETTING "hosts", .repeat = ":2"};
    return parse_list(&build, text, add_host, out);
}
