// SPDX-License-Identifier: Apache-2.0
// The launcher's side. It checks shares, makes groups, and tells children by the variable
// STANNIS_EMULATE, which reads METHOD:RANK=CPUS[,RANK=CPUS…]:DIR.
#include "emulate/emulate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "emulate/group.h"
#include "emulate/membership.h"
#include "emulate/quota.h"

static const double cpus_min = 0.001; // 1 ms of the longest period the kernel knows, 1 s

struct emulate {
    struct emulate_group group;
    double *cpus; // [count] as in struct emulate_shares
    int count;
};

static enum stn_status check_shares(const struct cluster *cluster, struct base_cpu_share machine)
{
    double limit = machine.affinity, sum = 0;
    if (machine.quota > 0 && machine.quota < limit) {
        limit = machine.quota;
    }
    for (int i = 0; i < cluster->count; i++) {
        const struct cluster_node *node = &cluster->nodes[i];
        if (node->cpus > 0 && node->cpus < cpus_min) {
            return stn_fail(STN_ERR_INVALID, "node %s: %g CPUs is too small a share; at least %g",
                            node->name, node->cpus, cpus_min);
        }
        if (node->cpus > 0 && node->host) {
            return stn_fail(STN_ERR_INVALID,
                            "node %s: only nodes of this machine can be confined to a share, and "
                            "it has a host (%s)",
                            node->name, node->host);
        }
        sum += node->cpus;
    }
    if (sum > limit * (1 + 1e-9)) {
        return stn_fail(STN_ERR_INVALID,
                        "the nodes' shares add up to %.6g CPUs, but this machine has %.6g; use "
                        "smaller shares or fewer nodes",
                        sum, limit);
    }
    return STN_OK;
}

enum stn_status emulate_create(const struct cluster *cluster, struct emulate **out)
{
    *out = NULL;
    const struct base_cpu_share machine = base_cpu_share();
    enum stn_status status = check_shares(cluster, machine);
    if (status != STN_OK) {
        return status;
    }
    struct emulate *emulate = calloc(1, sizeof(*emulate));
    double *cpus = calloc((size_t)cluster->count + 1, sizeof(*cpus));
    if (!emulate || !cpus) {
        free(emulate);
        free(cpus);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", cluster->count);
    }
    for (int i = 0; i < cluster->count; i++) {
        cpus[i] = cluster->nodes[i].cpus;
    }
    emulate->cpus = cpus;
    emulate->count = cluster->count;
    const struct emulate_shares shares = {
        cpus, cluster->count, emulate_shares_fit(cpus, cluster->count, machine.affinity)};
    emulate_group_make("", &shares, &emulate->group);
    *out = emulate;
    return STN_OK;
}

void emulate_destroy(struct emulate *emulate)
{
    if (!emulate) {
        return;
    }
    if (emulate->group.method != EMULATE_PACING) {
        emulate_group_remove(
            emulate->group.dir); // a later launcher sweeps what cannot be removed now
    }
    free(emulate->cpus);
    free(emulate);
}

enum emulate_method emulate_method(const struct emulate *emulate)
{
    return emulate->group.method;
}

const char *emulate_method_text(enum emulate_method method)
{
    switch (method) {
    case EMULATE_CGROUP_V1: return "control groups (v1)";
    case EMULATE_CGROUP_V2: return "control groups (v2)";
    case EMULATE_PACING: break;
    }
    return "pacing (control groups cannot be made here)";
}

static char *describe(const struct emulate *emulate)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        return NULL;
    }
    const char *separator = "";
    fprintf(f, "%s:", emulate_method_word(emulate->group.method));
    for (int i = 0; i < emulate->count; i++) {
        if (emulate->cpus[i] > 0) {
            fprintf(f, "%s%d=%.17g", separator, i, emulate->cpus[i]);
            separator = ",";
        }
    }
    fprintf(f, ":%s", emulate->group.dir);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

enum stn_status emulate_export(const struct emulate *emulate)
{
    char *text = describe(emulate);
    bool ok = text && setenv(EMULATE_VARIABLE, text, 1) == 0;
    free(text);
    return ok ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory to tell nodes their shares");
}

enum stn_status emulate_enter(const struct emulate *emulate, int rank, int pid)
{
    if (emulate->cpus[rank] == 0) {
        return STN_OK;
    }
    if (emulate->group.method == EMULATE_PACING) {
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "node %d: another program cannot be held to a share of the CPUs without "
                        "control groups",
                        rank);
    }
    if (!emulate_group_enter(emulate->group.dir, rank, pid)) {
        return stn_fail(STN_ERR_IO, "node %d: cannot enter its control group %s/%d: %s", rank,
                        emulate->group.dir, rank, strerror(errno));
    }
    return STN_OK;
}
