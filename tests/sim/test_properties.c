// SPDX-License-Identifier: Apache-2.0
// Random clusters with random loads, noise and failures, under every policy: what must hold always
// does, and the same seed gives the same run, bit for bit.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "sim/sim.h"

enum { NODES_MAX = 24, LOADS_MAX = 12, RECORDED = 40, SEEDS = 5000 };

struct scene {
    struct sim_node nodes[NODES_MAX];
    struct sim_load loads[LOADS_MAX];
    double recorded[RECORDED];
    struct sim_cluster cluster;
    struct sim_config config;
    // While it runs.
    uint64_t hash;
    int64_t images, steps;
    double seconds;
    bool fixed_batch;
};

static double between(struct base_random *random, double low, double high)
{
    return low + (high - low) * base_random_unit(random);
}

static bool one_in(struct base_random *random, int many)
{
    return base_random_below(random, (uint64_t)many) == 0;
}

static int64_t below(struct base_random *random, int bound)
{
    return (int64_t)base_random_below(random, (uint64_t)bound);
}

static struct sim_node node_at_random(struct base_random *random, int i)
{
    struct sim_node node = {
        .name = "node",
        .kind = i,
        .curve.line = {.fixed_s = between(random, 0.0, 0.2),
                       .each_s = exp(between(random, -6.0, 0.0))},
        .link = {.bytes_per_s = one_in(random, 2) ? between(random, 1e6, 1e9) : 0.0,
                 .latency_s = between(random, 0.0, 1e-3)},
    };
    node.private_samples = one_in(random, 4) ? below(random, 60) : 0;
    node.noise.relative = one_in(random, 2) ? between(random, 0.0, 0.1) : 0.0;
    node.noise.memory = one_in(random, 3) ? 0.5 : 0.0;
    node.noise.spikes = one_in(random, 3) ? 0.05 : 0.0;
    node.noise.spike_factor = 3.0;
    node.fails_at = one_in(random, 12) ? 1 + below(random, 60) : 0;
    return node;
}

static struct sim_load load_at_random(struct base_random *random, const struct scene *scene)
{
    struct sim_load load = {
        .node = (int)below(random, scene->cluster.count),
        .shape = (enum sim_load_shape)below(random, 4),
        .from = 1 + below(random, 50),
        .slowdown = between(random, 1.0, 6.0),
        .period_steps = 7,
        .on_steps = 3,
    };
    load.to = load.from + below(random, RECORDED);
    if (load.shape == SIM_LOAD_RECORDED) {
        load.recorded = scene->recorded;
    }
    return load;
}

static void scene_at_random(struct scene *scene, uint64_t seed)
{
    struct base_random random = base_random_from(seed);
    *scene = (struct scene){.config = sim_defaults()};
    scene->cluster.count = 1 + (int)below(&random, NODES_MAX);
    scene->cluster.load_count = (int)below(&random, LOADS_MAX);
    for (int i = 0; i < scene->cluster.count; i++) {
        scene->nodes[i] = node_at_random(&random, i);
    }
    for (int i = 0; i < RECORDED; i++) {
        scene->recorded[i] = between(&random, 0.8, 4.0);
    }
    for (int i = 0; i < scene->cluster.load_count; i++) {
        scene->loads[i] = load_at_random(&random, scene);
    }
    scene->cluster.nodes = scene->nodes;
    scene->cluster.loads = scene->loads;
    struct sim_config *config = &scene->config;
    config->policy = &hypertune_policies[seed % (uint64_t)hypertune_policies_count];
    config->micro_batch = 1 + (int)below(&random, 8);
    // Enough for a micro-batch of private data on every node.
    config->micro_batches = 2 * scene->cluster.count + (int)below(&random, 100);
    config->public_samples = 1 + below(&random, 20000);
    config->epochs = 1 + (int)below(&random, 3);
    config->steps = one_in(&random, 3) ? 1 + below(&random, 80) : 120;
    config->gradient_bytes = one_in(&random, 2) ? 14e6 : 0.0;
    config->overlap = between(&random, 0.0, 0.7);
    config->step_fixed_s = one_in(&random, 2) ? 0.01 : 0.0;
    config->failure = one_in(&random, 4) ? SIM_FAILURE_STOP : SIM_FAILURE_RESUME;
    config->checkpoint_steps = below(&random, 10);
    config->restart_s = 5.0;
    config->seed = seed;
    scene->fixed_batch = strcmp(config->policy->name, "hypertune") != 0;
    if (one_in(&random, 4)) { // the policy's choice, and another one when nodes are lost
        config->micro_batches = 0;
        config->public_samples += 20000; // in an epoch of 50 steps there is room for private data
        scene->fixed_batch = false;
    }
}

// ---- in every step -----------------------------------------------------------------------------

static void hash_add(struct scene *scene, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        scene->hash = (scene->hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    }
}

// Images a second that the nodes could compute in this step as they are; noise by what it can do.
static double speed_limit(const struct scene *scene, const struct sim_step *step)
{
    double sum = 0.0;
    for (int i = 0; i < scene->cluster.count; i++) {
        const struct sim_node *node = &scene->nodes[i];
        double luck = exp(6.0 * node->noise.relative);
        sum += luck / (node->curve.line.each_s * step->slowdown[i]);
    }
    return sum * scene->config.micro_batch;
}

static void check_step(void *context, const struct sim_step *step)
{
    struct scene *scene = context;
    const struct sim_config *config = &scene->config;
    int done = 0, next = 0;
    for (int i = 0; i < scene->cluster.count; i++) {
        assert_true(isfinite(step->node_s[i]) && step->node_s[i] <= step->compute_s);
        assert_true((step->micro_batches[i] > 0) == (step->node_s[i] > 0.0));
        assert_true(step->micro_batches[i] >= 0 && step->split_next[i] >= 0);
        done += step->micro_batches[i];
        next += step->split_next[i];
    }
    int64_t g = config->micro_batch;
    assert_true(step->images > 0 && step->images <= done * g);
    if (scene->fixed_batch) { // the global batch stays
        assert_int_equal(next, config->micro_batches);
        assert_true(step->images <= config->micro_batches * g);
        bool last = step->epoch_position == step->epoch_samples;
        assert_true(last || step->images == config->micro_batches * g);
    }
    assert_true(step->exposed_s >= 0.0 && step->seconds >= step->compute_s + step->exposed_s);
    assert_true((double)step->images <= step->seconds * speed_limit(scene, step) * (1.0 + 1e-9));
    assert_true(step->epoch_position <= step->epoch_samples);
    assert_true(step->begin_s >= scene->seconds); // time does not run backwards
    scene->seconds = step->begin_s + step->seconds;
    scene->images += step->images;
    scene->steps++;
    size_t nodes = (size_t)scene->cluster.count;
    hash_add(scene, step->micro_batches, nodes * sizeof(*step->micro_batches));
    hash_add(scene, step->node_s, nodes * sizeof(*step->node_s));
    hash_add(scene, &step->seconds, sizeof(step->seconds));
    hash_add(scene, &step->then, sizeof(step->then));
}

// ---- in the end --------------------------------------------------------------------------------

static void check_sums(const struct scene *scene, const struct sim_result *result)
{
    int64_t images = 0, phase_images = 0, phase_steps_last = 0;
    double phase_s = 0.0;
    for (int i = 0; i < result->node_count; i++) {
        const struct sim_node_result *node = &result->nodes[i];
        images += node->images;
        assert_true(node->private_images <= node->images);
        assert_true(node->busy_s + node->idle_s <= result->seconds * (1.0 + 1e-9));
        if (scene->nodes[i].fails_at == 0) {
            assert_true(fabs(node->busy_s + node->idle_s - result->seconds) <
                        1e-9 * (1.0 + result->seconds));
        }
    }
    for (int i = 0; i < result->phase_count; i++) {
        phase_images += result->phases[i].images;
        phase_s += result->phases[i].seconds;
        assert_true(result->phases[i].first_step > phase_steps_last ||
                    result->phases[i].first_step == 1);
        phase_steps_last = result->phases[i].last_step;
    }
    assert_int_equal(images, result->images);
    assert_int_equal(scene->images, result->images);
    assert_int_equal(scene->steps, result->steps);
    assert_int_equal(phase_images, result->images);
    assert_true(fabs(phase_s - result->seconds) < 1e-9 * (1.0 + result->seconds));
}

// Work is conserved: every sample of every epoch was computed, or is accounted for.
static void check_work(const struct scene *scene, const struct sim_result *result)
{
    int64_t whole = scene->config.public_samples;
    for (int i = 0; i < scene->cluster.count; i++) {
        whole += scene->nodes[i].private_samples;
    }
    int64_t known = result->images - result->repeated + result->unreached + result->lost;
    if (result->epochs == scene->config.epochs) {
        assert_int_equal(known, whole * result->epochs);
    } else {
        assert_true(result->stopped || result->steps == scene->config.steps);
        assert_true(known >= whole * result->epochs && known <= whole * (result->epochs + 1));
    }
    assert_true(scene->config.failure == SIM_FAILURE_RESUME || result->repeated == 0);
    assert_true(result->lost_node >= 0 || (result->lost == 0 && result->repeated == 0));
    bool may_end_epochs = strcmp(scene->config.policy->name, "hypertune") == 0;
    assert_true(may_end_epochs || result->unreached == 0);
}

static void run(struct scene *scene, uint64_t seed, struct sim_result *result)
{
    scene_at_random(scene, seed);
    const struct sim_observer observer = {.context = scene, .step = check_step};
    assert_int_equal(sim_run(&scene->cluster, &scene->config, &observer, result), STN_OK);
}

static void invariants_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct scene scene;
        struct sim_result result;
        run(&scene, seed, &result);
        check_sums(&scene, &result);
        check_work(&scene, &result);
        sim_result_fini(&result);
    }
}

static void same_seed_same_bytes(void **state)
{
    (void)state;
    uint64_t former = 0;
    for (uint64_t seed = 0; seed < SEEDS / 10; seed++) {
        struct scene one, two;
        struct sim_result a, b;
        run(&one, seed, &a);
        run(&two, seed, &b);
        assert_true(one.hash == two.hash && one.hash != former);
        assert_memory_equal(a.nodes, b.nodes, (size_t)a.node_count * sizeof(*a.nodes));
        former = one.hash;
        sim_result_fini(&a);
        a.nodes = NULL;
        sim_result_fini(&b);
        assert_memory_equal(&a, &b, sizeof(a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold),
        cmocka_unit_test(same_seed_same_bytes),
    };
    return cmocka_run_group_tests_name("sim_properties", tests, NULL, NULL);
}
