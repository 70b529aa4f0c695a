// SPDX-License-Identifier: Apache-2.0
// Real steps are measured, and nothing of that is left in the training that follows.
#include <stdlib.h>
#include <string.h>

#include "cluster_run.h"
#include "cmocka_all.h"
#include "planfile/planfile.h"
#include "small_run.h"
#include "support.h"

static char tuned[64], untuned[64], shared[64];

struct seen {
    int told, news;
    int nodes, samples_least;
    int share_sum, micro_batches;
    double step_seconds;
};

static void on_tuning(void *context, const struct stn_tune_progress *tuning)
{
    struct seen *seen = context;
    seen->told++;
    for (int i = 0; i < tuning->nodes; i++) {
        seen->news += tuning->node[i].news;
    }
}

static void on_tuned(void *context, const struct stn_plan *plan)
{
    struct seen *seen = context;
    seen->nodes = plan->info.nodes;
    seen->samples_least = plan->node[0].samples;
    seen->micro_batches = (plan->info.batch + plan->info.micro_batch - 1) / plan->info.micro_batch;
    seen->step_seconds = plan->info.step_seconds;
    for (int i = 0; i < plan->info.nodes; i++) {
        const struct stn_plan_node *node = &plan->node[i];
        seen->samples_least =
            node->samples < seen->samples_least ? node->samples : seen->samples_least;
        seen->share_sum += node->micro_batches;
    }
}

enum tuning { NEVER, SEVERAL, ALWAYS };

static struct seen run_on(int nodes, struct settings config, const char *out, enum tuning tune)
{
    struct seen seen = {0};
    const struct stn_train_observer observer = {
        .context = &seen, .tuning = on_tuning, .tuned = on_tuned};
    enum stn_status statuses[CLUSTER_RUN_NODES_MAX];
    config.out = out;
    config.tune = tune != NEVER;
    config.tune_always = tune == ALWAYS;
    config.tune_seconds = 0.2;
    cluster_run(nodes, &config, NULL, &observer, statuses, NULL);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(statuses[i], STN_OK);
    }
    return seen;
}

static void assert_same_files(void)
{
    struct bytes a = file_load(in(tuned, "last.safetensors"));
    struct bytes b = file_load(in(untuned, "last.safetensors"));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
}

static void tuning_changes_nothing(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    config.steps = 3;
    struct seen seen = run_on(2, config, tuned, SEVERAL);
    assert_true(seen.told > 0);
    assert_int_equal(seen.news, 2);
    assert_int_equal(seen.nodes, 2);
    assert_true(seen.samples_least >= 3);
    assert_int_equal(seen.share_sum, seen.micro_batches);
    assert_true(seen.step_seconds > 0.0);
    seen = run_on(2, config, untuned, NEVER);
    assert_int_equal(seen.told, 0);
    assert_int_equal(seen.nodes, 0);
    assert_same_files();
}

// Neither weights nor the optimizer's state of a checkpoint, nor running statistics.
static void tuning_a_resumed_run_changes_nothing(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    config.net = "mobilenet_v2";
    config.data = "synthetic:24";
    config.image_size = 32;
    config.batch = 8;
    config.micro_batch = 4;
    config.steps = 2;
    run_on(1, config, shared, NEVER);
    char checkpoint[128];
    strcpy(checkpoint, in(shared, "last.safetensors"));
    config.steps = 3;
    config.resume = checkpoint;
    struct seen seen = run_on(1, config, tuned, ALWAYS);
    assert_int_equal(seen.nodes, 1);
    run_on(1, config, untuned, NEVER);
    assert_same_files();
}

static int make(void **state)
{
    (void)state;
    scratch_create(tuned);
    scratch_create(untuned);
    scratch_create(shared);
    errors_catch();
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    scratch_remove(tuned);
    scratch_remove(untuned);
    scratch_remove(shared);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tuning_changes_nothing, make, unmake),
        cmocka_unit_test_setup_teardown(tuning_a_resumed_run_changes_nothing, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
