// SPDX-License-Identifier: Apache-2.0
// What exchanging costs, from real steps of all nodes: the part of it in which no node computes,
// and by how much it slows computing (its thread runs in the node's own CPU share).
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

enum { STEPS_MAX = WIRE_STEPS_MAX, STEPS_LEAST = 4, EXCHANGES = WIRE_EXCHANGES };
static const double measure_s = 3.0; // for all steps, about
// The exchange does not slow computing by more than this part of a step; if it seems to, something
// else did.
static const double correction_most = 0.10;

static double median(double values[], int count)
{
    assert(count > 0);
    for (int i = 1; i < count; i++) {
        double value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

// The first exchange and the first step are not measured: they touch buffers for the first time.
static enum stn_status measure(const struct tune_config *config, int micro_batches, int steps,
                               struct wire_reduction *out, double update_s[STEPS_MAX])
{
    const struct tune_probe *probe = config->probe;
    enum stn_status status = STN_OK;
    for (int i = -1; i < EXCHANGES && !status; i++) {
        status = probe->exchange(probe->context, &out->exchange_s[i < 0 ? 0 : i]);
    }
    for (int i = -1; i < steps && !status; i++) {
        struct tune_step step = {0};
        status = probe->together(probe->context, micro_batches, &step);
        int at = i < 0 ? 0 : i;
        out->compute_s[at] = step.compute_s;
        out->wall_s[at] = step.wall_s;
        update_s[at] = step.update_s;
    }
    return status;
}

// What an exchange takes: the node that comes last to it spends least time in it, and does not
// wait.
static double total_of(const struct wire_reduction *reports, int nodes)
{
    double least[EXCHANGES];
    for (int e = 0; e < EXCHANGES; e++) {
        least[e] = reports[0].exchange_s[e];
        for (int i = 1; i < nodes; i++) {
            least[e] = fmin(least[e], reports[i].exchange_s[e]);
        }
    }
    return median(least, EXCHANGES);
}

// The values stay in their order.
static double median_of(const double values[], int count)
{
    double sorted[STEPS_MAX];
    memcpy(sorted, values, (size_t)count * sizeof(*values));
    return median(sorted, count);
}

// What a step takes beyond the computing of the node that computed longest in it.
static double exposed_of(const struct wire_reduction *reports, int nodes, int steps)
{
    double exposed[STEPS_MAX];
    for (int s = 0; s < steps; s++) {
        const struct wire_reduction *longest = &reports[0];
        for (int i = 1; i < nodes; i++) {
            longest = reports[i].compute_s[s] > longest->compute_s[s] ? &reports[i] : longest;
        }
        exposed[s] = fmax(0.0, longest->wall_s[s] - longest->compute_s[s]);
    }
    return median(exposed, steps);
}

// The node that computes longest is not always the same, so a step is longer than the slowest
// node's usual one: by so much.
static double uneven_of(const struct wire_reduction *reports, int nodes, int steps,
                        double exposed_s)
{
    double slowest_s = 0.0;
    for (int i = 0; i < nodes; i++) {
        slowest_s = fmax(slowest_s, median_of(reports[i].compute_s, steps));
    }
    return fmax(0.0, median_of(reports[0].wall_s, steps) - slowest_s - exposed_s);
}

// Corrects the line of this node: with the exchange beside it, a step takes longer than alone, by
// an amount that does not grow with the step.
static void correct(struct crew_node_profile *own, const double compute_s[],
                    const double update_s[], int count, int micro_batches)
{
    own->update_s = median_of(update_s, count);
    if (micro_batches == 0) {
        return;
    }
    double alone_s = plan_line_seconds(&own->line, micro_batches);
    double more_s = median_of(compute_s, count) - alone_s, most_s = correction_most * alone_s;
    if (fabs(more_s) > most_s) {
        if (!*own->doubt) {
            snprintf(own->doubt, sizeof(own->doubt), "steps with the others took %+.0f %% of alone",
                     100.0 * more_s / alone_s);
        }
        more_s = copysign(most_s, more_s);
    }
    own->line.fixed_s += more_s;
    if (own->line.fixed_s < 0.0) {
        own->line.each_s += own->line.fixed_s / micro_batches;
        own->line.fixed_s = 0.0;
    }
}

enum stn_status tune_reduction(const struct tune_config *config, const int split[], double step_s,
                               struct crew_node_profile *own, struct plan_reduction *out)
{
    struct crew *nodes = config->nodes;
    *out = (struct plan_reduction){0};
    if (nodes->size == 1) {
        return STN_OK;
    }
    double wanted = ceil(measure_s / step_s);
    int steps = wanted < STEPS_LEAST ? STEPS_LEAST : wanted > STEPS_MAX ? STEPS_MAX : (int)wanted;
    struct wire_reduction mine = {0};
    double update_s[STEPS_MAX] = {0};
    struct wire_reduction *reports = calloc((size_t)nodes->size, sizeof(*reports));
    enum stn_status status =
        reports ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory to measure the exchange");
    status = crew_agree(nodes, status);
    if (!status) {
        assert(reports); // all nodes have agreed that they have theirs
        status = measure(config, split[nodes->rank], steps, &mine, update_s);
        status = crew_agree(nodes, status);
    }
    if (!status) {
        status = comm_all_gather_message(nodes->comm, WIRE_REDUCTION, &mine, reports);
    }
    if (!status) {
        double exposed_s = exposed_of(reports, nodes->size, steps);
        out->total_s = fmax(total_of(reports, nodes->size), exposed_s);
        out->hidden_s = out->total_s - exposed_s;
        out->uneven_s = uneven_of(reports, nodes->size, steps, exposed_s);
        correct(own, mine.compute_s, update_s, steps, split[nodes->rank]);
    }
    free(reports);
    return status;
}
