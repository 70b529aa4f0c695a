// SPDX-License-Identifier: Apache-2.0
// Speed against energy: what no plan is better than in both.
#include <math.h>
#include <stdlib.h>

#include "plan/energy.h"
#include "sim/sizing.h"

// Weights of energy against time that are tried.
enum { ETA_STEPS = 20 };

static int by_speed(const void *one, const void *other)
{
    const struct sim_front_point *a = one, *b = other;
    if (a->images_per_s != b->images_per_s) {
        return a->images_per_s < b->images_per_s ? -1 : 1;
    }
    return (a->joules_per_image < b->joules_per_image) -
           (a->joules_per_image > b->joules_per_image); // the best of equals comes last
}

static enum stn_status run_point(const struct sim_sizing_config *config, int csds, double eta,
                                 struct sim_front_point *out)
{
    const struct plan_objective objective = {.aim = PLAN_AIM_ENERGY, .eta = eta};
    struct sim_sizing_config each = *config;
    struct sim_sizing_row row;
    each.objective = &objective;
    enum stn_status status = sim_sizing_row_run(&each, csds, &row);
    if (status == STN_OK) {
        *out = (struct sim_front_point){.csds = csds,
                                        .working = row.working,
                                        .eta = eta,
                                        .images_per_s = row.images_per_s,
                                        .joules_per_image = row.joules_per_image};
    }
    return status;
}

// From the fastest down, everything that takes less energy than all that are faster.
static void mark_best(struct sim_front *front)
{
    double least_j = INFINITY;
    for (int i = front->count - 1; i >= 0; i--) {
        struct sim_front_point *point = &front->points[i];
        point->best = point->joules_per_image < least_j;
        least_j = fmin(least_j, point->joules_per_image);
    }
}

enum stn_status sim_front_run(const struct sim_sizing_config *config, struct sim_front *out)
{
    *out = (struct sim_front){0};
    enum stn_status status = sim_sizing_check(config);
    if (status != STN_OK) {
        return status;
    }
    size_t most = (size_t)(config->most - config->least + 1) * (ETA_STEPS + 1);
    out->points = calloc(most, sizeof(*out->points));
    if (!out->points) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %zu plans", most);
    }
    for (int csds = config->least; csds <= config->most && status == STN_OK; csds++) {
        for (int eta = 0; eta <= ETA_STEPS && status == STN_OK; eta++) {
            struct sim_front_point *point = &out->points[out->count];
            status = run_point(config, csds, (double)eta / ETA_STEPS, point);
            out->count += status == STN_OK;
        }
    }
    if (status != STN_OK) {
        sim_front_fini(out);
        return status;
    }
    qsort(out->points, (size_t)out->count, sizeof(*out->points), by_speed);
    mark_best(out);
    return STN_OK;
}

void sim_front_fini(struct sim_front *front)
{
    free(front->points);
    *front = (struct sim_front){0};
}
