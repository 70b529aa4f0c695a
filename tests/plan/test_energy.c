// SPDX-License-Identifier: Apache-2.0
// Plans for energy against trying everything, on small clusters with floors, caps, nodes that can
// be switched off and least speeds, for all objectives; what must never happen when watts change;
// many nodes; and what is refused.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "near.h"
#include "plan/energy.h"
#include "plan/policy.h"
#include "plan/split.h"
#include "random_cluster.h"
#include "refused.h"

enum { CASES = 10000 };

struct drawn {
    struct random_cluster c;
    struct plan_power powers[RANDOM_NODES_MAX];
    struct plan_objective objective;
    int micro_batches;
};

static double between(struct base_random *random, double least, double most)
{
    return least + (most - least) * base_random_unit(random);
}

// One of: energy, η, delay product; with or without a least speed that can be reached.
static void draw(struct base_random *random, struct drawn *out)
{
    random_cluster_draw(random, &out->c);
    struct plan_cluster *cluster = &out->c.cluster;
    out->micro_batches = random_cluster_step(random, &out->c);
    cluster->reduction.total_s = random_upto(random, 1) * base_random_unit(random);
    for (int i = 0; i < cluster->count; i++) {
        double idle_w = random_upto(random, 3) == 0 ? 0.0 : between(random, 0.0, 20.0);
        out->powers[i] = (struct plan_power){.idle_w = idle_w,
                                             .busy_w = idle_w + between(random, 0.0, 60.0),
                                             .can_off = random_upto(random, 2) == 0};
    }
    int kind = random_upto(random, 2);
    out->objective = (struct plan_objective){
        .aim = kind == 2 ? PLAN_AIM_DELAY_PRODUCT : PLAN_AIM_ENERGY,
        .eta = kind == 1 ? base_random_unit(random) : 1.0,
        .base_w = random_upto(random, 1) * between(random, 0.0, 100.0),
        .powers = out->powers,
    };
    cluster->objective = &out->objective;
    if (random_upto(random, 2) == 0) {
        struct plan_offer heap[RANDOM_NODES_MAX];
        int split[RANDOM_NODES_MAX];
        assert_int_equal(plan_split(cluster, out->micro_batches, heap, split), STN_OK);
        double fastest_s = plan_energy_of(cluster, split).step_s;
        out->objective.speed_least =
            out->micro_batches * cluster->micro_batch / fastest_s * between(random, 0.4, 0.999);
    }
}

typedef enum stn_status planner(const struct plan_cluster *, int, struct plan_node[],
                                struct plan_offer[], int[]);

static double score_with(planner *plan, const struct drawn *d, int split[])
{
    struct plan_node nodes[RANDOM_NODES_MAX];
    struct plan_offer heap[RANDOM_NODES_MAX];
    int sum = 0;
    memcpy(nodes, d->c.nodes, sizeof(nodes));
    assert_int_equal(plan(&d->c.cluster, d->micro_batches, nodes, heap, split), STN_OK);
    for (int i = 0; i < d->c.cluster.count; i++) {
        assert_true(split[i] >= d->c.nodes[i].floor && split[i] <= d->c.nodes[i].cap);
        sum += split[i];
    }
    assert_int_equal(sum, d->micro_batches);
    struct plan_energy energy = plan_energy_of(&d->c.cluster, split);
    assert_false(energy.too_slow);
    return energy.score;
}

// What the objective says, written down once more: nothing of plan/energy.c is used.
static double naive_score(const struct drawn *d, const int split[], double *step_s)
{
    const struct plan_objective *objective = &d->objective;
    double level_s = 0.0, joules = 0.0, busiest_w = objective->base_w;
    for (int i = 0; i < d->c.cluster.count; i++) {
        const struct plan_line *line = &d->c.nodes[i].curve.line;
        level_s = fmax(level_s, split[i] > 0 ? line->fixed_s + line->each_s * split[i] : 0.0);
        busiest_w += d->powers[i].busy_w;
    }
    *step_s = level_s + d->c.cluster.reduction.total_s;
    joules = objective->base_w * *step_s;
    for (int i = 0; i < d->c.cluster.count; i++) {
        const struct plan_line *line = &d->c.nodes[i].curve.line;
        double busy_s = split[i] > 0 ? line->fixed_s + line->each_s * split[i] : 0.0;
        bool on = split[i] > 0 || !d->powers[i].can_off;
        joules += d->powers[i].busy_w * busy_s;
        joules += on ? d->powers[i].idle_w * (*step_s - busy_s) : 0.0;
    }
    if (objective->aim == PLAN_AIM_DELAY_PRODUCT) {
        return joules * *step_s;
    }
    return objective->eta * joules + (1.0 - objective->eta) * busiest_w * *step_s;
}

static double try_all(const struct drawn *d, int i, int left, int split[])
{
    double best = INFINITY, step_s;
    if (i == d->c.cluster.count) {
        double score = left == 0 ? naive_score(d, split, &step_s) : INFINITY;
        double samples = (double)d->micro_batches * d->c.cluster.micro_batch;
        bool fast = left == 0 && samples / step_s >= d->objective.speed_least;
        return fast ? score : INFINITY;
    }
    for (int m = d->c.nodes[i].floor; m <= d->c.nodes[i].cap && m <= left; m++) {
        split[i] = m;
        best = fmin(best, try_all(d, i + 1, left - m, split));
    }
    split[i] = 0;
    return best;
}

static void test_exact_equals_trying_all(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    double worst = 0.0;
    int optimal = 0, near = 0;
    for (int n = 0; n < CASES; n++) {
        struct drawn d;
        int split[RANDOM_NODES_MAX], trial[RANDOM_NODES_MAX] = {0};
        double step_s;
        draw(&random, &d);
        double best = try_all(&d, 0, d.micro_batches, trial);
        double exact = score_with(plan_energy_exact, &d, split);
        assert_true(fabs(exact - best) <= 1e-9 * best);
        assert_true(fabs(naive_score(&d, split, &step_s) - exact) <= 1e-12 * exact);
        double fast = score_with(plan_energy_fast, &d, split);
        assert_true(fast >= best * (1.0 - 1e-9));
        double off = best > 0.0 ? fast / best - 1.0 : 0.0;
        worst = fmax(worst, off);
        optimal += off < 1e-9;
        near += off <= 0.05;
    }
    print_message(
        "fast form on tiny clusters: best in %d of %d, within 5 %% in %d, worst %.1f %%\n", optimal,
        CASES, near, 100.0 * worst);
    assert_true(optimal >= CASES - CASES / 500 && near >= CASES - CASES / 1000 && worst <= 0.1);
}

// ---- clusters of a size to have ----------------------------------------------------------------

enum { SOME = 12, SOME_CASES = 300 };

struct some {
    struct plan_node nodes[SOME];
    struct plan_power powers[SOME];
    struct plan_objective objective;
    struct plan_cluster cluster;
    int micro_batches;
};

// A few kinds of devices, as clusters have.
static void draw_some(struct base_random *random, struct some *out)
{
    *out = (struct some){.micro_batches = 20 + random_upto(random, 120)};
    out->cluster = (struct plan_cluster){.nodes = out->nodes,
                                         .count = 4 + random_upto(random, SOME - 4),
                                         .micro_batch = 4,
                                         .reduction.total_s = base_random_unit(random)};
    for (int i = 0; i < out->cluster.count; i++) {
        bool same = i > 0 && random_upto(random, 1) == 0;
        double idle_w = between(random, 0.0, 20.0);
        out->nodes[i] = (struct plan_node){
            .curve.line = {2.0 * base_random_unit(random), between(random, 0.1, 2.0)},
            .cap = random_upto(random, 2) == 0 ? 10 + random_upto(random, 40) : INT_MAX,
            .floor = random_upto(random, 4) == 0 ? random_upto(random, 2) : 0};
        out->powers[i] = (struct plan_power){idle_w, idle_w + between(random, 1.0, 60.0),
                                             random_upto(random, 2) == 0};
        if (same) {
            out->nodes[i] = out->nodes[i - 1];
            out->powers[i] = out->powers[i - 1];
        }
    }
    out->nodes[0].cap = INT_MAX;
    out->objective = (struct plan_objective){
        .aim = random_upto(random, 2) == 0 ? PLAN_AIM_DELAY_PRODUCT : PLAN_AIM_ENERGY,
        .eta = random_upto(random, 1) ? 1.0 : base_random_unit(random),
        .base_w = random_upto(random, 1) * between(random, 0.0, 200.0),
        .powers = out->powers};
    out->cluster.objective = &out->objective;
    int most = PLAN_ENERGY_EXACT_MOST / out->cluster.count - 1;
    out->micro_batches = out->micro_batches < most ? out->micro_batches : most;
}

static struct plan_energy energy_with(planner *plan, const struct some *s, int split[])
{
    struct plan_node nodes[SOME];
    struct plan_offer heap[SOME];
    memcpy(nodes, s->nodes, sizeof(nodes));
    assert_int_equal(plan(&s->cluster, s->micro_batches, nodes, heap, split), STN_OK);
    return plan_energy_of(&s->cluster, split);
}

static void test_fast_form_is_within_five_per_cent(void **state)
{
    (void)state;
    struct base_random random = base_random_from(2);
    double worst = 0.0;
    for (int n = 0; n < SOME_CASES; n++) {
        struct some s;
        int split[SOME];
        draw_some(&random, &s);
        double exact = energy_with(plan_energy_exact, &s, split).score;
        double fast = energy_with(plan_energy_fast, &s, split).score;
        assert_true(fast >= exact * (1.0 - 1e-9));
        worst = fmax(worst, fast / exact - 1.0);
    }
    print_message("fast form on clusters of 4 to 12 nodes: worst %.2f %%\n", 100.0 * worst);
    assert_true(worst <= 0.05);
}

static double work_s(const struct some *s, const int split[], int i)
{
    return plan_line_seconds(&s->nodes[i].curve.line, split[i]);
}

// Busy watts alone: more idle watts are a reason to be done sooner. Of the delay product it is the
// node's time times the step's that cannot grow.
static void test_more_watts_never_mean_more_work(void **state)
{
    (void)state;
    struct base_random random = base_random_from(3);
    int less = 0;
    for (int n = 0; n < SOME_CASES; n++) {
        struct some s;
        int before[SOME], after[SOME];
        draw_some(&random, &s);
        bool product = s.objective.aim == PLAN_AIM_DELAY_PRODUCT;
        s.objective.eta = 1.0;
        double before_s = energy_with(plan_energy_split, &s, before).step_s;
        int i = random_upto(&random, s.cluster.count - 1);
        s.powers[i].busy_w += between(&random, 0.5, 60.0);
        double after_s = energy_with(plan_energy_split, &s, after).step_s;
        double was = work_s(&s, before, i) * (product ? before_s : 1.0);
        double is = work_s(&s, after, i) * (product ? after_s : 1.0);
        assert_true(is <= was * (1.0 + 1e-9));
        less += is < was;
    }
    assert_true(less > SOME_CASES / 10);
}

// Never more energy than the shortest step takes, and η = 0 is that step.
static void test_never_worse_than_balanced(void **state)
{
    (void)state;
    struct base_random random = base_random_from(4);
    for (int n = 0; n < SOME_CASES; n++) {
        struct some s;
        struct plan_offer heap[SOME];
        int balanced[SOME], split[SOME];
        draw_some(&random, &s);
        assert_int_equal(plan_split(&s.cluster, s.micro_batches, heap, balanced), STN_OK);
        struct plan_energy time = plan_energy_of(&s.cluster, balanced);
        assert_true(energy_with(plan_energy_fast, &s, split).score <= time.score);
        s.objective.aim = PLAN_AIM_ENERGY;
        s.objective.eta = 1.0;
        assert_true(energy_with(plan_energy_split, &s, split).joules <= time.joules);
        s.objective.eta = 0.0;
        assert_near(energy_with(plan_energy_split, &s, split).step_s, time.step_s);
    }
}

// The knob goes from time to energy without going back.
static void test_knob_is_monotone(void **state)
{
    (void)state;
    struct base_random random = base_random_from(5);
    for (int n = 0; n < SOME_CASES / 10; n++) {
        struct some s;
        draw_some(&random, &s);
        s.objective.aim = PLAN_AIM_ENERGY;
        double joules = INFINITY, step_s = 0.0;
        for (int eta = 0; eta <= 10; eta++) {
            int split[SOME];
            s.objective.eta = eta / 10.0;
            struct plan_energy energy = energy_with(plan_energy_exact, &s, split);
            assert_true(energy.joules <= joules * (1.0 + 1e-9));
            assert_true(energy.step_s >= step_s * (1.0 - 1e-9));
            joules = energy.joules;
            step_s = energy.step_s;
        }
    }
}

// ---- many nodes --------------------------------------------------------------------------------

enum { MANY = 10000, MANY_BATCH = 100000 };

static struct plan_node many[MANY], many_scratch[MANY];
static struct plan_power many_powers[MANY];
static struct plan_offer many_heap[MANY];
static int many_split[MANY], many_balanced[MANY];

// What is saved by leaving out nodes that take much for little, and that the prefix is the best
// one: neither a few nodes more nor a few less are better.
static void test_ten_thousand_nodes(void **state)
{
    (void)state;
    struct base_random random = base_random_from(6);
    for (int i = 0; i < MANY; i++) {
        many[i] = (struct plan_node){
            .curve.line = {0.1 * base_random_unit(&random), between(&random, 0.1, 1.0)},
            .cap = i % 5 == 0 ? random_upto(&random, 30) : INT_MAX,
            .floor = 0};
        many_powers[i] = (struct plan_power){1.0, between(&random, 2.0, 100.0), false};
    }
    struct plan_objective objective = {.eta = 1.0, .base_w = 1000.0, .powers = many_powers};
    struct plan_cluster cluster = {
        .nodes = many, .count = MANY, .micro_batch = 1, .objective = &objective};
    assert_int_equal(plan_split(&cluster, MANY_BATCH, many_heap, many_balanced), STN_OK);
    memcpy(many_scratch, many, sizeof(many));
    assert_int_equal(plan_energy_split(&cluster, MANY_BATCH, many_scratch, many_heap, many_split),
                     STN_OK);
    double best = plan_energy_of(&cluster, many_split).joules;
    assert_true(best < 0.95 * plan_energy_of(&cluster, many_balanced).joules);
    double most_j = 0.0; // of those that work
    for (int i = 0; i < MANY; i++) {
        double each_j = (many_powers[i].busy_w - 1.0) * many[i].curve.line.each_s;
        most_j = many_split[i] > 0 ? fmax(most_j, each_j) : most_j;
    }
    for (int percent = 80; percent < 130; percent += 5) {
        double factor = 0.01 * percent;
        for (int i = 0; i < MANY; i++) {
            double each_j = (many_powers[i].busy_w - 1.0) * many[i].curve.line.each_s;
            many_scratch[i] = many[i];
            many_scratch[i].cap = each_j <= factor * most_j ? many[i].cap : 0;
        }
        struct plan_cluster prefix = cluster;
        prefix.nodes = many_scratch;
        assert_int_equal(plan_split(&prefix, MANY_BATCH, many_heap, many_balanced), STN_OK);
        assert_true(plan_energy_of(&cluster, many_balanced).joules >= best * 0.999);
    }
}

// ---- through the policy, and what is refused ---------------------------------------------------

static void test_policy_plans_for_the_objective(void **state)
{
    (void)state;
    struct plan_node nodes[2] = {{.curve.line = {0.0, 0.1}, .cap = 100, .kind = 0},
                                 {.curve.line = {0.0, 0.3}, .cap = 100, .kind = 1}};
    struct plan_power powers[2] = {{1.0, 5.0, false}, {1.0, 90.0, false}};
    struct plan_objective objective = {.eta = 1.0, .powers = powers};
    struct plan_request request = {.cluster = {nodes, 2, 4, {0.0, 0.0, 0.0}, NULL},
                                   .micro_batches = 8,
                                   .options = plan_policy_defaults};
    struct plan_node scratch_nodes[2];
    struct plan_offer offers[2];
    struct plan_scratch scratch = {scratch_nodes, offers};
    int split[2];
    assert_int_equal(plan_split_balanced(&request, &scratch, split), STN_OK);
    assert_true(split[0] == 6 && split[1] == 2);
    request.cluster.objective = &objective;
    assert_int_equal(plan_split_balanced(&request, &scratch, split), STN_OK);
    assert_true(split[0] == 8 && split[1] == 0); // the second takes 26.7 J for one, the first 0.4
    objective.speed_least = 4 * 8 / 0.75;
    assert_int_equal(plan_split_balanced(&request, &scratch, split), STN_OK);
    assert_true(split[0] == 7 && split[1] == 1);
    request.micro_batches = 0; // the batch of `balanced`
    objective.speed_least = 0.0;
    assert_int_equal(plan_split_balanced(&request, &scratch, split), STN_OK);
    assert_true(split[0] > 0 && split[1] == 0);
}

static void refuse(const struct plan_cluster *cluster, const char *expected)
{
    struct plan_node nodes[2];
    struct plan_offer heap[2];
    int split[2];
    struct capture capture;
    memcpy(nodes, cluster->nodes, sizeof(nodes));
    capture_start(&capture);
    assert_int_equal(plan_energy_split(cluster, 8, nodes, heap, split), STN_ERR_INVALID);
    assert_said(&capture, expected);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct plan_node nodes[2] = {{.name = "host", .curve.line = {0.0, 0.1}, .cap = 100},
                                 {.name = "csd", .curve.line = {0.0, 0.3}, .cap = 100}};
    struct plan_power powers[2] = {{1.0, 5.0, false}, {1.0, 9.0, false}};
    struct plan_objective objective = {.eta = 1.0, .speed_least = 60.0, .powers = powers};
    struct plan_cluster cluster = {nodes, 2, 4, {0.0, 0.0, 0.0}, &objective};
    refuse(&cluster, "at least 60 images/s: these nodes reach 53.33 with a batch of 32");
    objective.speed_least = 0.0;
    powers[1].idle_w = 10.0;
    refuse(&cluster, "node 1 (csd): 10 W without work and 9 W with work cannot be");
    powers[1].idle_w = NAN;
    refuse(&cluster, "node 1 (csd)");
    powers[1].idle_w = 1.0;
    objective.eta = 1.5;
    refuse(&cluster, "from 0 to 1");
    objective.eta = 1.0;
    nodes[0].cap = nodes[1].cap = 2;
    refuse(&cluster, "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_equals_trying_all),
        cmocka_unit_test(test_fast_form_is_within_five_per_cent),
        cmocka_unit_test(test_more_watts_never_mean_more_work),
        cmocka_unit_test(test_never_worse_than_balanced),
        cmocka_unit_test(test_knob_is_monotone),
        cmocka_unit_test(test_ten_thousand_nodes),
        cmocka_unit_test(test_policy_plans_for_the_objective),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
