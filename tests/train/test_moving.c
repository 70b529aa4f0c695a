// SPDX-License-Identifier: Apache-2.0
// Work that is moved while training runs: nothing is lost, nothing is learned differently. What the
// nodes measure is made up, so every decision is known beforehand.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster_run.h"
#include "cmocka_all.h"
#include "heard.h"
#include "hypertune/report.h"
#include "rig/starter.h"
#include "small_run.h"
#include "support.h"

static char alone[64], together[64];

static int make_scratch(void **state)
{
    (void)state;
    scratch_create(alone);
    scratch_create(together);
    errors_catch();
    return 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    scratch_remove(alone);
    scratch_remove(together);
    return 0;
}

// ---- made-up time ------------------------------------------------------------------------------

// Node 1 is `slowdown` times slower from one step to before another.
struct load {
    int64_t from, to;
    double slowdown;
    bool broken; // it says nothing of use then
};

static void measure(void *context, int node, struct hypertune_report *report)
{
    const struct load *load = context;
    bool loaded = node == 1 && report->step >= load->from && report->step < load->to;
    double slowdown = loaded ? load->slowdown : 1.0;
    *report = (struct hypertune_report){
        .step = report->step,
        .micro_batches = report->micro_batches,
        .compute_s = 0.1 * report->micro_batches * slowdown,
        .cpu_s = 0.1 * report->micro_batches,
        .throttled_s = 0.1 * report->micro_batches * (slowdown - 1.0),
        .share_cpu_s = 0.1 * report->micro_batches * slowdown,
        .wait_s = 0.01,
        .clock_s = 1000.0 * (double)report->step,
    };
    if (loaded && load->broken) {
        report->compute_s = NAN;
    }
}

enum { SAMPLES = 313, STEPS_OF_EPOCH = 20 };

static struct heard run(const struct settings *config, struct load load,
                        struct stn_train_result *result)
{
    struct heard heard = {0};
    const struct stn_train_observer observer = {
        .context = &heard, .step = hear_step, .change = hear_change};
    const struct crew_hooks hooks = {.measured = measure, .context = &load};
    enum stn_status statuses[NODES];
    cluster_run_hooked(NODES, config, NULL, &observer, &hooks, statuses, result);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_OK);
    }
    return heard;
}

// 20 steps an epoch of 8 micro-batches, the last step short and ragged.
static struct settings steps_of_eight(const char *out)
{
    struct settings config = small_settings(out);
    config.data = "synthetic:313";
    config.batch = 16;
    config.micro_batch = 2;
    config.epochs = 2;
    config.lr = 0.01;
    config.augment = SETTINGS_FULL;
    return config;
}

static void run_alone(struct settings config)
{
    enum stn_status status;
    config.out = alone;
    cluster_run(1, &config, NULL, NULL, &status, NULL);
    assert_int_equal(status, STN_OK);
}

// ---- balanced ----------------------------------------------------------------------------------

static void moved_work_is_the_same_training(void **state)
{
    (void)state;
    struct settings config = steps_of_eight(together);
#ifndef __SANITIZE_ADDRESS__ // batch norms and dropout; ten times slower there, and the same code
    config.net = "mobilenet_v2";
    config.image_size = 32;
    config.epochs = 1;
#endif
    struct stn_train_result result;
    struct heard heard = run(&config, (struct load){.from = 7, .to = 13, .slowdown = 4.0}, &result);
    assert_true(heard_kind(&heard, STN_CHANGE_SPLIT) >= 2);
    assert_int_equal(heard.images, 313 * config.epochs);
    assert_int_equal(result.lost, 0);
    run_alone(config);
    double distance =
        checkpoint_distance(in(together, "last.safetensors"), in(alone, "last.safetensors"));
    if (distance > 0.0) { // not nearly: every bit
        fail_msg("weights differ by %.2g of the largest", distance);
    }
}

// Adds what one node put on record.
static void count_samples(const char *path, int epoch_steps, int seen[2][SAMPLES])
{
    char line[128];
    int epoch;
    long step, sample;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "epoch,step,set,sample\n");
    while (fgets(line, sizeof(line), file)) {
        assert_int_equal(sscanf(line, "%d,%ld,public,%ld\n", &epoch, &step, &sample), 3);
        assert_in_range(epoch, 1, 2);
        assert_in_range(sample, 0, SAMPLES - 1);
        assert_int_equal((step - 1) / epoch_steps + 1, epoch);
        seen[epoch - 1][sample]++;
    }
    fclose(file);
}

static void assert_all_once(int seen[2][SAMPLES])
{
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int i = 0; i < SAMPLES; i++) {
            assert_int_equal(seen[epoch][i], 1);
        }
    }
}

static void every_sample_is_on_record_once(void **state)
{
    (void)state;
    static int seen[2][SAMPLES];
    struct settings config = steps_of_eight(NULL);
    struct stn_train_result result;
    config.audit = alone;
    config.cluster_text = "nodes: [{name: a}, {name: b}, {name: c}]";
    struct heard heard = run(&config, (struct load){.from = 7, .to = 13, .slowdown = 3.0}, &result);
    assert_true(heard_kind(&heard, STN_CHANGE_SPLIT) >= 2);
    assert_int_equal(config.epochs, 2);
    count_samples(in(alone, "a.csv"), STEPS_OF_EPOCH, seen);
    count_samples(in(alone, "b.csv"), STEPS_OF_EPOCH, seen);
    count_samples(in(alone, "c.csv"), STEPS_OF_EPOCH, seen);
    assert_all_once(seen);
}

static void an_audit_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    struct settings config = steps_of_eight(NULL);
    enum stn_status statuses[NODES];
    config.audit = "/proc/audit";
    cluster_run(NODES, &config, NULL, NULL, statuses, NULL);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_ERR_IO);
    }
    assert_non_null(strstr(errors_last(), "audit"));
}

static void work_goes_and_comes_back(void **state)
{
    (void)state;
    const struct settings config = steps_of_eight(NULL);
    struct stn_train_result result;
    struct heard heard = run(&config, (struct load){.from = 7, .to = 13, .slowdown = 3.0}, &result);
    const struct stn_train_change *slowed = heard_first(&heard, STN_CHANGE_SLOWED);
    const struct stn_train_change *split = heard_first(&heard, STN_CHANGE_SPLIT);
    const struct stn_train_change *back = heard_first(&heard, STN_CHANGE_RECOVERED);
    assert_int_equal(slowed->node, 1);
    assert_int_equal(slowed->since_step, 7);
    assert_int_equal(slowed->step, 8); // one step is not believed
    assert_true(fabs(slowed->slowdown - 3.0) < 0.1);
    assert_string_equal(slowed->cause, "another process in its share");
    assert_int_equal(split->step, 8);
    assert_int_equal(split->node, 1);
    assert_true(split->gain > 0.2);
    int at = (int)(split - heard.changes);
    assert_int_equal(heard.splits[at][0] + heard.splits[at][1] + heard.splits[at][2], 8);
    assert_int_equal(heard.splits[at][1], 1);
    assert_int_equal(back->node, 1);
    assert_true(back->step > 13 && back->step <= 20);
    assert_true(back->cost_seconds > 0.0);
    assert_true(heard.slowdown > 2.5);
    assert_true(heard.splits[heard.count - 1][1] >= 2);
    assert_int_equal(heard_kind(&heard, STN_CHANGE_LASTING), 0);
}

static void a_quiet_run_moves_nothing(void **state)
{
    (void)state;
    const struct settings config = steps_of_eight(NULL);
    struct stn_train_result result;
    assert_int_equal(run(&config, (struct load){0}, &result).count, 0);
}

// Reports without meaning are as none: nobody guesses.
static void broken_reports_move_nothing(void **state)
{
    (void)state;
    const struct settings config = steps_of_eight(NULL);
    struct stn_train_result result;
    const struct load load = {.from = 7, .to = 30, .slowdown = 4.0, .broken = true};
    struct heard heard = run(&config, load, &result);
    assert_int_equal(heard.count, 0);
    assert_int_equal(heard.images, 626);
}

// ---- while a step runs -------------------------------------------------------------------------

// In each step another node is late, always by the same pattern.
static double pace(void *context, int node, double seconds)
{
    (void)context;
    (void)seconds;
    static _Thread_local int step;
    static const double times[][NODES] = {{1.0, 1.3, 0.9}, {1.2, 1.0, 1.0}, {1.0, 1.0, 1.0}};
    return times[step++ % 3][node];
}

static double hasty_pace(void *context, int node, double seconds)
{
    return 0.1 * pace(context, node, seconds);
}

struct trades {
    int moved; // steps
    int64_t images;
};

static void hear_trades(void *context, const struct stn_train_step *step)
{
    struct trades *trades = context;
    bool moved = false;
    for (int i = 0; i < NODES; i++) {
        moved = moved || step->node[i].planned != step->node[i].micro_batches;
    }
    trades->moved += moved && step->images == 54; // a short step has other numbers anyway
    trades->images += step->images;
}

static struct trades run_trades(const struct settings *config,
                                double (*pace_of)(void *context, int node, double seconds))
{
    struct trades trades = {0};
    const struct stn_train_observer observer = {.context = &trades, .step = hear_trades};
    struct load none = {0};
    const struct crew_hooks hooks = {.measured = measure, .pace = pace_of, .context = &none};
    enum stn_status statuses[NODES];
    cluster_run_hooked(NODES, config, NULL, &observer, &hooks, statuses, NULL);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_OK);
    }
    assert_int_equal(trades.images, 2 * SAMPLES);
    return trades;
}

// 6 steps an epoch, five of 27 micro-batches, nine a node, and one that is short.
static struct settings steps_of_nine(const char *out)
{
    struct settings config = steps_of_eight(out);
    config.batch = 54;
    return config;
}

static void traded_work_is_the_same_training(void **state)
{
    (void)state;
    static int seen[2][SAMPLES];
    struct settings config = steps_of_nine(together);
    config.cluster_text = "nodes: [{name: a}, {name: b}, {name: c}]";
    config.audit = alone;
    assert_true(run_trades(&config, pace).moved >= 5);
    count_samples(in(alone, "a.csv"), 6, seen);
    count_samples(in(alone, "b.csv"), 6, seen);
    count_samples(in(alone, "c.csv"), 6, seen);
    assert_all_once(seen);
    config.audit = config.cluster_text = NULL;
    run_alone(config);
    double distance =
        checkpoint_distance(in(together, "last.safetensors"), in(alone, "last.safetensors"));
    if (distance > 0.0) {
        fail_msg("weights differ by %.2g of the largest", distance);
    }
}

static void who_is_told_not_to_trade_does_not(void **state)
{
    (void)state;
    struct settings config = steps_of_nine(NULL);
    config.trade = false;
    assert_int_equal(run_trades(&config, pace).moved, 0);
    config.trade = true;
    config.split = "9,9,9";
    assert_int_equal(run_trades(&config, pace).moved, 0);
}

// Once is enough to see that it is not worth it.
static void steps_that_are_short_are_let_be(void **state)
{
    (void)state;
    const struct settings config = steps_of_nine(NULL);
    assert_int_equal(run_trades(&config, hasty_pace).moved, 1);
}

static void refuse_to_trade(int node, struct settings *config)
{
    config->trade = node != 1;
}

static void all_trade_or_nobody(void **state)
{
    (void)state;
    struct settings config = steps_of_nine(NULL);
    enum stn_status statuses[NODES];
    cluster_run(NODES, &config, refuse_to_trade, NULL, statuses, NULL);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_ERR_INVALID);
    }
    assert_non_null(strstr(errors_last(), "was started with trade off, "));
}

struct watch {
    int steps;
};

static void count_step(void *context, const struct stn_train_step *step)
{
    struct watch *watch = context;
    (void)step;
    watch->steps++;
}

static void assert_all_fail(const struct settings *config, const char *line)
{
    enum stn_status statuses[NODES];
    cluster_run(NODES, config, NULL, NULL, statuses, NULL);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_ERR_IO);
    }
    assert_non_null(strstr(errors_last(), line));
}

// It has something to say to the others also when it computes nothing.
static void a_node_that_fails_before_it_trades_ends_all(void **state)
{
    (void)state;
    struct settings config = steps_of_nine(NULL);
    char path[4096];
    const char *usual = getenv("PATH");
    snprintf(path, sizeof(path), "%s", usual ? usual : "");
    config.epochs = 1000;
    config.cluster_text = "nodes: [{name: a}, {name: b}, {name: c}]";
    config.interfere = "b@2-1000:gzip*1"; // noticed in the third step, or when it has ended
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(rig_starter_begin(), STN_OK);
    assert_all_fail(&config, "is gzip installed?");
    rig_starter_end();
    setenv("PATH", path, 1);
}

static enum stn_status fail_on_c(void *context, int node, int64_t step)
{
    (void)context;
    return node == 2 && step == 4 ? stn_fail(STN_ERR_IO, "node c: failed in step 4") : STN_OK;
}

// Whatever it is that goes wrong on a node in a step: the others learn of it in that step.
static void a_node_that_is_made_to_fail_ends_all(void **state)
{
    (void)state;
    struct settings config = steps_of_nine(NULL);
    struct watch watch = {0};
    const struct stn_train_observer observer = {.context = &watch, .step = count_step};
    const struct crew_hooks hooks = {.step = fail_on_c};
    enum stn_status statuses[NODES];
    cluster_run_hooked(NODES, &config, NULL, &observer, &hooks, statuses, NULL);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(statuses[i], STN_ERR_IO);
    }
    assert_int_equal(watch.steps, 3);
    assert_non_null(strstr(errors_last(), "node c: failed in step 4"));
}

static void a_node_that_fails_after_it_traded_ends_all(void **state)
{
    (void)state;
    struct settings config = steps_of_nine(NULL);
    config.cluster_text = "nodes: [{name: a}, {name: full}, {name: c}]";
    config.audit = alone;
    assert_int_equal(symlink("/dev/full", in(alone, "full.csv")), 0);
    assert_all_fail(&config, "audit");
}

// ---- those that only watch ---------------------------------------------------------------------

static void others_are_told_and_move_nothing(void **state)
{
    (void)state;
    struct settings config = steps_of_eight(NULL);
    struct stn_train_result result;
    const struct load load = {.from = 7, .to = 1000, .slowdown = 2.0};
    for (int way = 0; way < 3; way++) {
        config.policy = way == 0   ? STN_POLICY_STATIC
                        : way == 1 ? STN_POLICY_UNIFORM
                                   : STN_POLICY_BALANCED;
        config.split = way == 2 ? "4,3,1" : NULL;
        struct heard heard = run(&config, load, &result);
        assert_int_equal(heard_kind(&heard, STN_CHANGE_SPLIT), 0);
        assert_int_equal(heard_first(&heard, STN_CHANGE_SLOWED)->node, 1);
        const struct stn_train_change *end = heard_first(&heard, STN_CHANGE_LASTING);
        assert_int_equal(end->node, 1);
        assert_int_equal(end->since_step, 7);
        assert_true(end->cost_seconds > 0.0);
        assert_true(heard.most[1] == 3);
    }
}

// ---- the paper's -------------------------------------------------------------------------------

// Five flags in a row after step 7, so step 11 ends the epoch: 313 − 11·16 samples are lost.
static void the_papers_way_ends_the_epoch(void **state)
{
    (void)state;
    struct settings config = steps_of_eight(together);
    config.policy = STN_POLICY_HYPERTUNE;
    config.schedule = SETTINGS_CONSTANT;
    config.warmup_epochs = 0.0;
    config.lr_scale = SETTINGS_LR_SCALE_LINEAR;
    struct stn_train_result result;
    struct heard heard =
        run(&config, (struct load){.from = 7, .to = 1000, .slowdown = 4.0}, &result);
    const struct stn_train_change *split = heard_first(&heard, STN_CHANGE_SPLIT);
    assert_int_equal(split->step, 11);
    assert_int_equal(split->node, 1);
    assert_int_equal(split->lost_samples, 313 - 11 * 16);
    assert_int_equal(result.lost, 313 - 11 * 16);
    assert_true(split->batch < 16 && split->batch >= 8);
    assert_int_equal(heard.batch_last_epoch, split->batch);
    assert_true(fabs(heard.lr / heard.lr_begin - split->batch / 16.0) < 1e-9);
    assert_int_equal(heard.images + result.lost, 626);
    assert_int_equal(result.steps, 11 + (313 + split->batch - 1) / split->batch);
}

// What a run with another batch saves goes on with that batch.
static void the_papers_way_resumes(void **state)
{
    (void)state;
    struct settings config = steps_of_eight(together);
    config.policy = STN_POLICY_HYPERTUNE;
    config.steps = 15;
    struct stn_train_result result;
    const struct load load = {.from = 7, .to = 1000, .slowdown = 4.0};
    int batch = run(&config, load, &result).batch_last_epoch;
    assert_true(batch < 16);
    config = steps_of_eight(together);
    config.policy = STN_POLICY_STATIC;
    config.batch = batch;
    config.resume = in(together, "last.safetensors");
    struct heard heard = run(&config, (struct load){0}, &result);
    assert_int_equal(heard.batch_last_epoch, batch);
    assert_int_equal(heard.images, 313 - 4 * batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_work_is_the_same_training),
        cmocka_unit_test(every_sample_is_on_record_once),
        cmocka_unit_test(an_audit_that_cannot_be_written_is_refused),
        cmocka_unit_test(work_goes_and_comes_back),
        cmocka_unit_test(a_quiet_run_moves_nothing),
        cmocka_unit_test(broken_reports_move_nothing),
        cmocka_unit_test(traded_work_is_the_same_training),
        cmocka_unit_test(who_is_told_not_to_trade_does_not),
        cmocka_unit_test(steps_that_are_short_are_let_be),
        cmocka_unit_test(all_trade_or_nobody),
        cmocka_unit_test(a_node_that_fails_before_it_trades_ends_all),
        cmocka_unit_test(a_node_that_is_made_to_fail_ends_all),
        cmocka_unit_test(a_node_that_fails_after_it_traded_ends_all),
        cmocka_unit_test(others_are_told_and_move_nothing),
        cmocka_unit_test(the_papers_way_ends_the_epoch),
        cmocka_unit_test(the_papers_way_resumes),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
