// SPDX-License-Identifier: Apache-2.0
#include "plan/energy_terms.h"

#include <math.h>

#include "plan/split.h"

// ---- watts -------------------------------------------------------------------------------------

double energy_terms_busy_w(const struct energy_terms *terms, int node)
{
    const struct plan_power *power = &terms->cluster->objective->powers[node];
    return terms->eta * (power->busy_w - power->idle_w);
}

double energy_terms_off_w(const struct energy_terms *terms, int node)
{
    const struct plan_power *power = &terms->cluster->objective->powers[node];
    return power->can_off ? terms->eta * power->idle_w : 0.0;
}

static double always_w(const struct plan_cluster *cluster)
{
    double watts = cluster->objective->base_w;
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_power *power = &cluster->objective->powers[i];
        watts += power->can_off ? 0.0 : power->idle_w;
    }
    return watts;
}

static double all_busy_w(const struct plan_cluster *cluster)
{
    double watts = cluster->objective->base_w;
    for (int i = 0; i < cluster->count; i++) {
        watts += cluster->objective->powers[i].busy_w;
    }
    return watts;
}

static double eta_of(const struct plan_objective *objective)
{
    return objective->aim == PLAN_AIM_ENERGY ? objective->eta : 1.0;
}

static struct energy_terms terms_of(const struct plan_cluster *cluster, int micro_batches)
{
    const struct plan_objective *objective = cluster->objective;
    double eta = eta_of(objective), exposed_s = plan_reduction_exposed_s(&cluster->reduction);
    double samples = (double)micro_batches * cluster->micro_batch, least = objective->speed_least;
    return (struct energy_terms){
        .cluster = cluster,
        .nodes = cluster->nodes,
        .micro_batches = micro_batches,
        .exposed_s = exposed_s,
        .level_most_s = least > 0.0 ? samples / least - exposed_s : INFINITY,
        .always_w = eta * always_w(cluster) + (1.0 - eta) * all_busy_w(cluster),
        .eta = eta,
        .times_step = objective->aim == PLAN_AIM_DELAY_PRODUCT,
    };
}

// ---- what a split costs ------------------------------------------------------------------------

static double slowest_s(const struct plan_cluster *cluster, const int split[])
{
    double seconds = 0.0;
    for (int i = 0; i < cluster->count; i++) {
        seconds = fmax(seconds, plan_line_seconds(&cluster->nodes[i].curve.line, split[i]));
    }
    return seconds;
}

static double weighted_joules(const struct energy_terms *terms, const int split[], double step_s)
{
    double joules = terms->always_w * step_s;
    for (int i = 0; i < terms->cluster->count; i++) {
        if (split[i] > 0) {
            const struct plan_line *line = &terms->cluster->nodes[i].curve.line;
            joules += energy_terms_off_w(terms, i) * step_s;
            joules += energy_terms_busy_w(terms, i) * plan_line_seconds(line, split[i]);
        }
    }
    return joules;
}

double energy_terms_score(const struct energy_terms *terms, const int split[])
{
    double step_s = slowest_s(terms->cluster, split) + terms->exposed_s;
    double joules = weighted_joules(terms, split, step_s);
    return terms->times_step ? joules * step_s : joules;
}

struct plan_energy plan_energy_of(const struct plan_cluster *cluster, const int split[])
{
    int micro_batches = 0;
    for (int i = 0; i < cluster->count; i++) {
        micro_batches += split[i];
    }
    struct energy_terms plain = terms_of(cluster, micro_batches);
    double samples = (double)micro_batches * cluster->micro_batch;
    struct plan_energy out = {.score = energy_terms_score(&plain, split)};
    double level_s = slowest_s(cluster, split);
    out.too_slow = level_s > plain.level_most_s;
    plain.eta = 1.0;
    plain.always_w = always_w(cluster);
    out.step_s = level_s + plain.exposed_s;
    out.joules = weighted_joules(&plain, split, out.step_s);
    out.joules_per_sample = out.joules / samples;
    return out;
}

// ---- checks and limits -------------------------------------------------------------------------

enum stn_status plan_energy_check(const struct plan_cluster *cluster)
{
    const struct plan_objective *objective = cluster->objective;
    double eta = eta_of(objective);
    if (!(eta >= 0.0 && eta <= 1.0) || !(objective->speed_least >= 0.0) ||
        !(objective->base_w >= 0.0 && isfinite(objective->base_w))) {
        return stn_fail(
            STN_ERR_INVALID,
            "an objective with η = %g, at least %g samples/s and %g W besides the nodes "
            "cannot be: η is from 0 to 1, nothing is negative",
            eta, objective->speed_least, objective->base_w);
    }
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_power *power = &objective->powers[i];
        if (!(power->idle_w >= 0.0 && power->busy_w >= power->idle_w && isfinite(power->busy_w))) {
            const char *name = cluster->nodes[i].name;
            return stn_fail(
                STN_ERR_INVALID,
                "node %d%s%s%s: %g W without work and %g W with work cannot be: measure "
                "again, or correct its device profile",
                i, name ? " (" : "", name ? name : "", name ? ")" : "", power->idle_w,
                power->busy_w);
        }
    }
    return STN_OK;
}

int energy_terms_within(const struct energy_terms *terms, int node, double level_s)
{
    const struct plan_node *n = &terms->nodes[node];
    const struct plan_line *line = &n->curve.line;
    double about = (level_s - line->fixed_s) / line->each_s;
    int most = n->cap < terms->micro_batches ? n->cap : terms->micro_batches;
    int within = about >= most ? most : about > 0.0 ? (int)about : 0;
    // Rounding may have taken one that fits to the bit, or given one that does not.
    if (within < most && plan_line_seconds(line, within + 1) <= level_s) {
        within++;
    } else if (within > 0 && plan_line_seconds(line, within) > level_s) {
        within--;
    }
    return within > n->floor ? within : n->floor;
}

static enum stn_status fail_too_slow(const struct energy_terms *terms, double level_s)
{
    double samples = (double)terms->micro_batches * terms->cluster->micro_batch;
    return stn_fail(
        STN_ERR_INVALID,
        "at least %g images/s: these nodes reach %.4g with a batch of %g: ask for less, "
        "or add nodes",
        terms->cluster->objective->speed_least, samples / (level_s + terms->exposed_s), samples);
}

enum stn_status energy_terms_make(const struct plan_cluster *cluster, int micro_batches,
                                  struct plan_node nodes[], struct plan_offer heap[], int split[],
                                  double *level_s, struct energy_terms *out)
{
    struct plan_cluster floored = *cluster;
    floored.nodes = nodes;
    for (int i = 0; i < cluster->count; i++) {
        nodes[i].cap = cluster->nodes[i].cap;
    }
    enum stn_status status = plan_energy_check(cluster);
    status = status ? status : plan_split(&floored, micro_batches, heap, split);
    if (status) {
        return status;
    }
    *out = terms_of(cluster, micro_batches);
    out->nodes = nodes;
    *level_s = slowest_s(cluster, split);
    if (*level_s > out->level_most_s) {
        return fail_too_slow(out, *level_s);
    }
    for (int i = 0; i < cluster->count; i++) {
        nodes[i].cap = energy_terms_within(out, i, out->level_most_s);
    }
    return STN_OK;
}
