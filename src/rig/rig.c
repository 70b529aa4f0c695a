// SPDX-License-Identifier: Apache-2.0
#include "rig/rig.h"

#include <stdbool.h>
#include <stdlib.h>

#include "emulate/emulate.h"
#include "rig/interfere.h"

struct rig {
    struct rig_interfere *interfere; // NULL: no programs
    struct crew_hooks hooks;
};

static enum stn_status before_step(void *context, int node, int64_t step)
{
    const struct rig *rig = context;
    (void)node; // this one
    return rig_interfere_step(rig->interfere, step);
}

static void keep_to_share(void *context)
{
    (void)context;
    emulate_pace();
}

enum stn_status rig_open(const char *interfere, const struct cluster *cluster, int rank,
                         struct rig **out)
{
    *out = NULL;
    bool paced = emulate_pace_share() > 0.0;
    if (!interfere && !paced) {
        return STN_OK;
    }
    struct rig *rig = calloc(1, sizeof(*rig));
    if (!rig) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for what is done to this node");
    }
    rig->hooks = (struct crew_hooks){.context = rig,
                                     .step = interfere ? before_step : NULL,
                                     .computed = paced ? keep_to_share : NULL};
    enum stn_status status = rig_interfere_open(interfere, cluster, rank, &rig->interfere);
    if (status) {
        rig_close(rig);
        return status;
    }
    *out = rig;
    return STN_OK;
}

void rig_close(struct rig *rig)
{
    if (rig) {
        rig_interfere_close(rig->interfere);
        free(rig);
    }
}

const struct crew_hooks *rig_hooks(const struct rig *rig)
{
    return rig ? &rig->hooks : NULL;
}

double rig_paced_cpus(void)
{
    return emulate_pace_share();
}
