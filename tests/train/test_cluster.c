// SPDX-License-Identifier: Apache-2.0
// Any split of the same batch over any number of nodes is the same training.
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_run.h"
#include "cmocka_all.h"
#include "small_run.h"
#include "support.h"

static char alone[64], together[64], again[64];

static int make_scratch(void **state)
{
    (void)state;
    scratch_create(alone);
    scratch_create(together);
    scratch_create(again);
    errors_catch();
    return 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    scratch_remove(alone);
    scratch_remove(together);
    scratch_remove(again);
    return 0;
}

static void run_on(int nodes, struct settings config, const char *split, const char *out)
{
    enum stn_status statuses[CLUSTER_RUN_NODES_MAX];
    config.split = split;
    config.out = out;
    cluster_run(nodes, &config, NULL, NULL, statuses, NULL);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(statuses[i], STN_OK);
    }
}

// Not nearly: micro-batches are added up exactly, so not a bit may differ.
static void assert_same(void)
{
    double distance =
        checkpoint_distance(in(together, "last.safetensors"), in(alone, "last.safetensors"));
    if (distance > 0.0) {
        fail_msg("weights differ by %.2g of the largest", distance);
    }
}

// 20 steps of 8 micro-batches, the last step of the epoch short and ragged.
static struct settings network(const char *net, int size)
{
    struct settings config = small_settings(NULL);
    config.net = net;
    config.data = "synthetic:313";
    config.image_size = size;
    config.batch = 16;
    config.micro_batch = 2;
    config.epochs = 1;
#ifdef __SANITIZE_ADDRESS__ // ten times slower, and the same code in every step
    config.data = "synthetic:61";
#endif
    config.lr = 0.01;
    config.augment = SETTINGS_FULL;
    return config;
}

static void same_training(const char *net, int size)
{
    struct settings config = network(net, size);
    run_on(1, config, NULL, alone);
    run_on(3, config, "5,2,1", together);
    assert_same();
    run_on(4, config, "6:1:1:0", together);
    assert_same();
    run_on(3, config, "5,2,1;0,4,4;1,6,1;8,0,0;2,3,3", together);
    assert_same();
}

static void squeezenet_is_the_same(void **state)
{
    (void)state;
    same_training("squeezenet1_1", 40);
}

static void mobilenet_is_the_same(void **state)
{
    (void)state;
    same_training("mobilenet_v2", 32);
}

// In float, as everybody else adds, the same up to rounding, for a network that forgives it.
static void float_sums_are_nearly_the_same(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    config.exact = false;
    run_on(1, config, NULL, alone);
    run_on(3, config, "1,1,1", together);
    assert_true(checkpoint_distance(in(together, "last.safetensors"),
                                    in(alone, "last.safetensors")) < 1e-5);
}

static void two_runs_are_identical(void **state)
{
    (void)state;
    struct settings config = network("mobilenet_v2", 32);
    config.steps = 6;
    run_on(3, config, "5,2,1;2,3,3", together);
    run_on(3, config, "5,2,1;2,3,3", again);
    struct bytes a = file_load(in(together, "last.safetensors"));
    struct bytes b = file_load(in(again, "last.safetensors"));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
}

// 3 nodes save, 1 goes on, 2 finish: as if one had done it all.
static void resumes(struct settings config)
{
    run_on(1, config, NULL, alone);
    config.steps = 5;
    run_on(3, config, NULL, together);
    config.resume = in(together, "last.safetensors");
    config.steps = 9;
    run_on(1, config, NULL, together);
    config.steps = 0;
    run_on(2, config, "1,2", together);
    assert_same();
}

static void resumes_on_other_nodes(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    resumes(config);
    config.optimizer = SETTINGS_OPTIMIZER_adamw; // counts its steps, and has a state more
    config.lr = (double)NAN;                     // the optimizer's own
    resumes(config);
}

// The observer is every node's: the second to ask, whichever node it is, hears yes.
static bool second_time(void *context)
{
    return atomic_fetch_add((atomic_int *)context, 1) == 1;
}

// One node is asked to stop; all do, after the same step.
static void all_stop_together(void **state)
{
    (void)state;
    struct settings config = small_settings(together);
    enum stn_status statuses[3];
    struct stn_train_result result;
    atomic_int asked = 0;
    const struct stn_train_observer observer = {.stop_requested = second_time,
                                                .stop_context = &asked};
    cluster_run(3, &config, NULL, &observer, statuses, &result);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(statuses[i], STN_ERR_INTERRUPTED);
    }
    assert_int_equal(result.steps, 1);
}

static void other_seed(int node, struct settings *config)
{
    config->seed += node == 2;
}

static void other_net(int node, struct settings *config)
{
    config->net = node == 1 ? "squeezenet1_1" : config->net;
    config->image_size = 40;
}

static void other_classes(int node, struct settings *config)
{
    config->classes = node == 1 ? 5 : 4;
}

static void missing_data(int node, struct settings *config)
{
    config->data = node == 1 ? "folder:/nowhere/at/all" : config->data;
}

static void refused(void (*change)(int, struct settings *), const char *a, const char *b)
{
    struct settings config = small_settings(NULL);
    enum stn_status statuses[3];
    config.cluster_text = "nodes: [{name: host}, {name: left}, {name: right}]\n";
    errors_reset();
    cluster_run(3, &config, change, NULL, statuses, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(statuses[i], STN_OK);
    }
    assert_int_equal(errors_count(), 1); // one line, whoever of the three failed
    if (!strstr(errors_last(), a) || !strstr(errors_last(), b)) {
        fail_msg("'%s' should speak of %s and %s", errors_last(), a, b);
    }
}

static void unlike_nodes_are_refused(void **state)
{
    (void)state;
    refused(other_seed, "right was started with seed 12", "host with 11");
    refused(other_net, "left", "network");
    refused(other_classes, "left", "classes");
    refused(missing_data, "left", "/nowhere/at/all");
}

static void bad_settings_are_said_once(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    enum stn_status statuses[3];
    config.split = "1,2";
    errors_reset();
    cluster_run(3, &config, NULL, NULL, statuses, NULL);
    assert_int_equal(statuses[1], STN_ERR_INVALID);
    assert_int_equal(errors_count(), 1);
    assert_non_null(strstr(errors_last(), "split 1,2"));
}

struct heard {
    struct stn_train_node nodes[CLUSTER_RUN_NODES_MAX];
    int count;
};

static void hear_nodes(void *context, const struct stn_train_node *nodes, int count)
{
    struct heard *heard = context;
    heard->count = count;
    memcpy(heard->nodes, nodes, (size_t)count * sizeof(*nodes));
}

static void nodes_are_told(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    struct heard heard = {.count = 0};
    const struct stn_train_observer observer = {.context = &heard, .nodes = hear_nodes};
    enum stn_status statuses[3];
    struct stn_train_result result;
    config.split = "2,1,0";
    cluster_run(3, &config, NULL, &observer, statuses, &result);
    assert_int_equal(heard.count, 3);
    assert_int_equal(result.images, 400);
    int64_t images = 0;
    for (int i = 0; i < 3; i++) {
        images += heard.nodes[i].images;
        assert_int_equal(heard.nodes[i].private_images, 0);
        assert_true(heard.nodes[i].gradient_bytes > 0);
    }
    assert_int_equal(images, 400);
    assert_int_equal(heard.nodes[2].images, 0);
    assert_int_equal(heard.nodes[0].micro_batches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squeezenet_is_the_same),
        cmocka_unit_test(mobilenet_is_the_same),
        cmocka_unit_test(float_sums_are_nearly_the_same),
        cmocka_unit_test(two_runs_are_identical),
        cmocka_unit_test(resumes_on_other_nodes),
        cmocka_unit_test(all_stop_together),
        cmocka_unit_test(unlike_nodes_are_refused),
        cmocka_unit_test(bad_settings_are_said_once),
        cmocka_unit_test(nodes_are_told),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
