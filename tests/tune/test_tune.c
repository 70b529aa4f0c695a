// SPDX-License-Identifier: Apache-2.0
// Measuring made-up nodes: their steps take the time a formula says, so nothing here waits.
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "comm/comm.h"
#include "plan/near.h"
#include "train/support.h"
#include "tune/tune.h"

enum { NODES = 3, MANY = 1000000 };

// What a node does to whoever measures it.
struct made_up {
    double fixed_s, each_s;
    double noise;        // relative
    double among_others; // seconds more of a step with the others
    double late_s;       // and more of every third of them, of each node another
    // Half of the steps [from, until), by chance, take `slower` times as long.
    int from, until;
    double slower;
    double quota_s;         // after a wait it computes so long at twice its speed
    int fails_at, stops_at; // 0: never
};

struct node {
    const struct made_up *all; // [NODES]
    struct comm *comm;
    struct crew nodes;
    struct base_random random;
    int rank, calls, steps; // of the latter those with the others
    double quota_s;         // left of it
    const int *split;       // NULL: lines only
    struct crew_node_profile own;
    struct plan_reduction reduction;
    enum stn_status status;
};

static const double exchange_s = 0.030, exposed_s = 0.012;

static double time_of(struct node *node, int micro_batches)
{
    const struct made_up *m = &node->all[node->rank];
    double seconds = m->fixed_s + m->each_s * micro_batches;
    bool slow = node->calls >= m->from && node->calls < m->until;
    if (slow && base_random_unit(&node->random) < 0.5) {
        seconds *= m->slower;
    }
    return seconds * (1.0 + m->noise * (2.0 * base_random_unit(&node->random) - 1.0));
}

static enum stn_status alone(void *context, int micro_batches, struct tune_step *out)
{
    struct node *node = context;
    node->calls++;
    if (node->calls == node->all[node->rank].fails_at) {
        return stn_fail(STN_ERR_IO, "a file is gone");
    }
    double seconds = time_of(node, micro_batches);
    seconds *= node->quota_s > 0.0 ? 0.5 : 1.0;
    node->quota_s -= seconds;
    *out = (struct tune_step){
        .compute_s = seconds, .update_s = node->all[node->rank].fixed_s, .wall_s = seconds};
    return STN_OK;
}

static double time_together(const struct node *node, int rank, int micro_batches)
{
    const struct made_up *m = &node->all[rank];
    double late_s = node->steps % NODES == rank ? m->late_s : 0.0;
    return m->fixed_s + m->each_s * micro_batches + m->among_others + late_s;
}

static enum stn_status together(void *context, int micro_batches, struct tune_step *out)
{
    struct node *node = context;
    double longest = 0.0;
    for (int i = 0; i < NODES; i++) {
        longest = fmax(longest, time_together(node, i, node->split[i]));
    }
    *out = (struct tune_step){
        .compute_s = time_together(node, node->rank, micro_batches),
        .update_s = 0.001,
        .wall_s = longest + exposed_s,
    };
    node->steps++;
    return STN_OK;
}

static enum stn_status exchange(void *context, double *seconds)
{
    const struct node *node = context;
    *seconds = exchange_s + 0.001 * node->rank; // a node that comes later waits less
    return STN_OK;
}

// Asked at the end of every round: nodes then wait for each other.
static bool stop(void *context)
{
    struct node *node = context;
    int at = node->all[node->rank].stops_at;
    node->quota_s = node->all[node->rank].quota_s;
    return at > 0 && node->calls >= at;
}

static void *node_run(void *context)
{
    struct node *node = context;
    const struct settings settings = {0};
    const struct tune_probe probe = {node, alone, together, exchange, stop};
    struct tune_config config = tune_defaults;
    config.nodes = &node->nodes;
    config.probe = &probe;
    config.slots = 1;
    node->status = crew_open(node->comm, &settings, &node->nodes);
    if (!node->status) {
        node->status = tune_lines(&config, &node->own);
    }
    if (!node->status && node->split) {
        node->status = tune_reduction(&config, node->split, 0.1, &node->own, &node->reduction);
    }
    crew_close(&node->nodes);
    comm_close(node->comm);
    return NULL;
}

static void tune(const struct made_up *all, const int *split, struct node nodes[NODES])
{
    struct comm *comms[NODES];
    pthread_t threads[NODES];
    assert_int_equal(comm_loopback_create(NODES, 30.0, comms), STN_OK);
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (struct node){.all = all,
                                 .comm = comms[i],
                                 .random = base_random_from((uint64_t)i + 7),
                                 .rank = i,
                                 .split = split};
        assert_int_equal(pthread_create(&threads[i], NULL, node_run, &nodes[i]), 0);
    }
    for (int i = 0; i < NODES; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void assert_line(const struct node *node, double tolerance)
{
    const struct made_up *m = &node->all[node->rank];
    double expected = m->fixed_s + 8 * m->each_s;
    double found = plan_line_seconds(&node->own.line, 8);
    if (fabs(found / expected - 1.0) > tolerance) {
        fail_msg("node %d: %g s for 8 micro-batches, expected %g", node->rank, found, expected);
    }
}

static void nodes_are_measured(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {{.fixed_s = 0.004, .each_s = 0.041, .noise = 0.01},
                                       {.fixed_s = 0.0002, .each_s = 0.001, .noise = 0.02},
                                       {.fixed_s = 0.02, .each_s = 1.3, .noise = 0.01}};
    struct node nodes[NODES];
    tune(all, NULL, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i].status, STN_OK);
        assert_string_equal(nodes[i].own.doubt, "");
        assert_true(nodes[i].own.samples >= 3);
        assert_line(&nodes[i], 0.03);
    }
}

// A node that waited has its quota left; a speed that it cannot hold is not its speed.
static void what_a_full_quota_gives_does_not_count(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {{.each_s = 0.01, .noise = 0.01, .quota_s = 0.06},
                                       {.each_s = 0.04, .noise = 0.01, .quota_s = 0.06},
                                       {.each_s = 0.02, .noise = 0.01}};
    struct node nodes[NODES];
    tune(all, NULL, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(nodes[i].own.doubt, "");
        assert_line(&nodes[i], 0.02);
    }
}

// Something ran on node 1 for a while: its line is found all the same, without doubt.
static void a_disturbance_does_not_poison(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {
        {.each_s = 0.05, .noise = 0.01},
        {.each_s = 0.5, .noise = 0.01, .from = 3, .until = 14, .slower = 2.5},
        {.each_s = 0.5, .noise = 0.01}};
    struct node nodes[NODES];
    tune(all, NULL, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i].status, STN_OK);
        assert_string_equal(nodes[i].own.doubt, "");
        assert_line(&nodes[i], 0.05);
    }
    assert_true(nodes[1].own.samples > nodes[2].own.samples);
}

// What never calms down is said, unless the line is right all the same.
static void lasting_noise_is_said(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {{.each_s = 0.05, .noise = 0.01},
                                       {.each_s = 0.5, .noise = 0.6},
                                       {.each_s = 0.5, .until = MANY, .slower = 3.0}};
    struct node nodes[NODES];
    tune(all, NULL, nodes);
    assert_string_equal(nodes[0].own.doubt, "");
    assert_line(&nodes[0], 0.03);
    assert_string_not_equal(nodes[1].own.doubt, "");
    assert_line(&nodes[1], 0.6);
    assert_line(&nodes[2], *nodes[2].own.doubt ? 2.0 : 0.05);
}

static void the_exchange_is_part_of_the_model(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {{.fixed_s = 0.005, .each_s = 0.05, .among_others = 0.003},
                                       {.fixed_s = 0.005, .each_s = 0.2, .among_others = 0.010},
                                       {.fixed_s = 0.005, .each_s = 0.2, .among_others = 0.100}};
    static const int split[NODES] = {4, 1, 1};
    struct node nodes[NODES];
    tune(all, split, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i].status, STN_OK);
        assert_within(nodes[i].reduction.total_s, exchange_s, 1e-9);
        assert_within(plan_reduction_exposed_s(&nodes[i].reduction), exposed_s, 1e-9);
        assert_within(nodes[i].own.update_s, 0.001, 1e-9);
    }
    assert_within(nodes[0].own.line.fixed_s, 0.008, 0.1);
    assert_within(nodes[1].own.line.fixed_s, 0.015, 0.1);
    // No exchange takes half of a step: limited, and said.
    assert_true(nodes[2].own.line.fixed_s < 0.03);
    assert_string_not_equal(nodes[2].own.doubt, "");
}

// All take as long, but in every step another one is late: no step is as short as a node's usual
// one.
static void who_is_late_is_part_of_the_model(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {{.each_s = 0.05, .late_s = 0.008},
                                       {.each_s = 0.2, .late_s = 0.008},
                                       {.each_s = 0.2, .late_s = 0.008}};
    static const int split[NODES] = {4, 1, 1};
    struct node nodes[NODES];
    tune(all, split, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_within(nodes[i].reduction.uneven_s, 0.008, 1e-9);
        assert_within(plan_reduction_exposed_s(&nodes[i].reduction), exposed_s + 0.008, 1e-9);
        assert_line(&nodes[i], 0.03);
    }
}

static void a_failure_is_everybodys(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {
        {.each_s = 0.05}, {.each_s = 0.2, .fails_at = 7}, {.each_s = 0.2}};
    struct node nodes[NODES];
    errors_reset();
    tune(all, NULL, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i].status, STN_ERR_IO);
    }
    assert_int_equal(errors_count(), 1);
}

static void anybody_can_stop(void **state)
{
    (void)state;
    const struct made_up all[NODES] = {
        {.each_s = 0.05}, {.each_s = 0.2}, {.each_s = 0.2, .stops_at = 5}};
    struct node nodes[NODES];
    tune(all, NULL, nodes);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i].status, STN_ERR_INTERRUPTED);
    }
}

// Only who asks for more than the machine has takes turns, and all of them are then slower
// together.
static void crowded_nodes_take_turns(void **state)
{
    (void)state;
    const struct crew_node_profile about[] = {
        {.machine = 1, .cpus = 1.0, .machine_cpus = 2},
        {.machine = 1, .cpus = 0.5, .machine_cpus = 2},
        {.machine = 2, .cpus = 2.0, .machine_cpus = 2},
        {.machine = 1, .cpus = 0.5, .machine_cpus = 2},
        {.machine = 3, .cpus = 1.0, .machine_cpus = 1},
        {.machine = 3, .cpus = 1.0, .machine_cpus = 1},
    };
    int slot, slots;
    for (int i = 0; i < 4; i++) {
        tune_take_turns(about, 6, i, &slot, &slots);
        assert_int_equal(slots, 1);
        assert_int_equal(slot, 0);
        assert_within(tune_crowding(about, 6, i), 1.0, 0.0);
    }
    for (int i = 4; i < 6; i++) {
        tune_take_turns(about, 6, i, &slot, &slots);
        assert_int_equal(slots, 2);
        assert_int_equal(slot, i - 4);
        assert_within(tune_crowding(about, 6, i), 2.0, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_measured),
        cmocka_unit_test(what_a_full_quota_gives_does_not_count),
        cmocka_unit_test(a_disturbance_does_not_poison),
        cmocka_unit_test(lasting_noise_is_said),
        cmocka_unit_test(the_exchange_is_part_of_the_model),
        cmocka_unit_test(who_is_late_is_part_of_the_model),
        cmocka_unit_test(a_failure_is_everybodys),
        cmocka_unit_test(anybody_can_stop),
        cmocka_unit_test(crowded_nodes_take_turns),
    };
    return cmocka_run_group_tests(tests, errors_set_up, NULL);
}
