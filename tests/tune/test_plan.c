// SPDX-License-Identifier: Apache-2.0
// From speeds to a plan, to a file and back; and what is refused on the way.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plan/near.h"
#include "planfile/planfile.h"
#include "train/support.h"
#include "tune/plan.h"

static struct cluster_node members[] = {{.name = "host"}, {.name = "csd.0"}, {.name = "csd.1"}};
static const struct cluster cluster = {.nodes = members, .count = 3};
static int64_t counts[4] = {100000, 0, 0, 0};

static struct settings settings(int batch)
{
    struct settings config = settings_defaults(STN_VERB_TRAIN);
    config.net = "lenet";
    config.image_size = 28;
    config.batch = batch;
    config.micro_batch = 16;
    config.policy = STN_POLICY_BALANCED;
    return config;
}

static struct tune_subject subject_of(const struct settings *config)
{
    return (struct tune_subject){
        .settings = config,
        .cluster = &cluster,
        .channels = 1,
        .classes = 10,
        .counts = counts,
        .samples = counts[0] + counts[1] + counts[2] + counts[3],
    };
}

// The host is four times as fast as the others.
static void profile_make(struct crew_profile *profile)
{
    assert_int_equal(crew_profile_create(&cluster, 16, profile), STN_OK);
    for (int i = 0; i < 3; i++) {
        profile->about[i] = (struct crew_node_profile){
            .threads = 1,
            .cpus = i ? 0.25 : 1.0,
            .memory_needed = 100 << 20,
            .memory_limit = (uint64_t)4 << 30,
            .line = {0.001, i ? 0.040 : 0.010},
            .update_s = 0.0005,
            .each_error_s = 1e-4,
            .samples = 9,
        };
    }
    snprintf(profile->about[2].doubt, WIRE_DOUBT_BYTES, "it shook");
    profile->cluster.reduction =
        (struct plan_reduction){.total_s = 0.02, .hidden_s = 0.015, .uneven_s = 0.004};
    profile->seconds = 4.5;
    crew_profile_use_measured(profile);
}

static struct stn_plan *plan_for(int batch)
{
    struct crew_profile profile;
    struct crew_splits splits;
    struct stn_plan *plan;
    const struct settings config = settings(batch);
    const struct tune_subject subject = subject_of(&config);
    int chosen;
    profile_make(&profile);
    assert_int_equal(tune_plan_split(&subject, &profile, &chosen, &splits), STN_OK);
    assert_int_equal(tune_plan_describe(&subject, &profile, chosen, splits.values, &plan), STN_OK);
    crew_splits_fini(&splits);
    crew_profile_fini(&profile);
    return plan;
}

static void shares_follow_speeds(void **state)
{
    (void)state;
    struct stn_plan *plan = plan_for(384); // 24 micro-batches
    assert_int_equal(plan->info.batch, 384);
    assert_int_equal(plan->node[0].micro_batches, 16);
    assert_int_equal(plan->node[1].micro_batches, 4);
    assert_int_equal(plan->node[2].micro_batches, 4);
    assert_within(plan->info.step_seconds, 0.161 + 0.005 + 0.004, 1e-6);
    assert_within(plan->info.ceiling, 16 / 0.010 + 2 * 16 / 0.040, 1e-6);
    assert_within(plan->info.images_per_second, 384 / plan->info.step_seconds, 1e-6);
    assert_within(plan->info.uniform_images_per_second, 384 / (0.321 + 0.005 + 0.004), 1e-6);
    assert_null(plan->node[0].doubt);
    assert_string_equal(plan->node[2].doubt, "it shook");
    stn_plan_destroy(plan);
}

static void the_batch_is_the_smallest_that_is_efficient(void **state)
{
    (void)state;
    struct stn_plan *plan = plan_for(SETTINGS_AUTO);
    assert_true(plan->info.efficiency >= 0.95);
    assert_true(plan->info.batch > PLAN_BATCH_LEAST &&
                plan->info.batch <= 100000 / PLAN_BATCH_STEPS_LEAST);
    struct stn_plan *smaller = plan_for(plan->info.batch - 16);
    assert_true(smaller->info.efficiency < 0.95);
    stn_plan_destroy(smaller);
    stn_plan_destroy(plan);
}

static void private_data_make_floors(void **state)
{
    (void)state;
    counts[0] = 1000;
    counts[2] = 3000; // three quarters of all
    struct stn_plan *plan = plan_for(384);
    assert_true(plan->node[1].floor >= 17);
    assert_true(plan->node[1].micro_batches >= plan->node[1].floor);
    stn_plan_destroy(plan);
    counts[0] = 100000;
    counts[2] = 0;
}

static void max_batch_caps(void **state)
{
    (void)state;
    members[0].max_batch = 64;
    struct stn_plan *plan = plan_for(384);
    assert_int_equal(plan->node[0].micro_batches, 4);
    stn_plan_destroy(plan);
    struct crew_profile profile;
    struct crew_splits splits;
    const struct settings config = settings(384);
    const struct tune_subject subject = subject_of(&config);
    int batch;
    profile_make(&profile);
    members[1].max_batch = members[2].max_batch = 32; // 8 of 24 have no place
    errors_reset();
    assert_int_equal(tune_plan_split(&subject, &profile, &batch, &splits), STN_ERR_INVALID);
    assert_int_equal(errors_count(), 1);
    crew_profile_fini(&profile);
    members[0].max_batch = members[1].max_batch = members[2].max_batch = 0;
}

static void a_file_keeps_the_plan(void **state)
{
    (void)state;
    struct stn_plan *plan = plan_for(384), *again;
    const char *path = in(scratch, "plan.json");
    assert_int_equal(stn_plan_write(plan, path), STN_OK);
    assert_int_equal(stn_plan_read(path, &again), STN_OK);
    char *before, *after;
    assert_int_equal(stn_plan_text(plan, &before), STN_OK);
    assert_int_equal(stn_plan_text(again, &after), STN_OK);
    assert_string_equal(before, after);
    free(before);
    free(after);
    struct crew_profile profile;
    profile_make(&profile);
    memset(profile.about, 0, 3 * sizeof(*profile.about));
    tune_plan_take(again, &profile);
    assert_within(profile.about[1].line.each_s, 0.040, 1e-9);
    assert_string_equal(profile.about[2].doubt, "it shook");
    assert_within(profile.cluster.reduction.hidden_s, 0.015, 1e-9);
    assert_within(profile.cluster.reduction.uneven_s, 0.004, 1e-9);
    crew_profile_fini(&profile);
    stn_plan_destroy(again);
    stn_plan_destroy(plan);
}

// Replaces `from` by `to` in a good file; it must be refused, in words that hold `says`.
static void assert_refused(const char *from, const char *to, const char *says)
{
    struct stn_plan *plan = plan_for(384), *read;
    char *text, edited[8192];
    assert_int_equal(stn_plan_text(plan, &text), STN_OK);
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(edited, sizeof(edited), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    errors_reset();
    assert_int_not_equal(planfile_parse(edited, strlen(edited), "p.json", &read), STN_OK);
    assert_int_equal(errors_count(), 1);
    if (!strstr(errors_last(), says)) {
        fail_msg("\"%s\" does not say \"%s\"", errors_last(), says);
    }
    free(text);
    stn_plan_destroy(plan);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    assert_refused("\"stannis_plan\": 2", "\"stannis_plan\": 1", "format 1");
    assert_refused("\"stannis_plan\"", "\"a_plan\"", "not a plan");
    assert_refused("{", "", "p.json:2");
    assert_refused("\"net\": \"lenet\",", "", "\"net\" is missing");
    assert_refused("\"image_size\": 28", "\"image_size\": 0", "image_size");
    assert_refused("\"image_size\": 28", "\"image_size\": 28.5", "image_size");
    assert_refused("\"policy\": \"balanced\"", "\"policy\": \"best\"", "policy");
    assert_refused("\"each_seconds\": 0.04", "\"each_seconds\": 0.0", "without speed");
    assert_refused("\"each_seconds\": 0.04", "\"each_seconds\": \"0.04\"", "each_seconds");
    assert_refused("\"batch\": 384", "\"batch\": 400", "add up");
    assert_refused("\"cap\": 24", "\"cap\": 3", "cap");
    assert_refused("\"floor\": 0", "\"floor\": 0, \"ceil\": 1", "does not have");
    assert_refused("\"hidden_seconds\": 0.015", "\"hidden_seconds\": 0.5", "hidden");
}

// What differs is said.
static void assert_unfit(const struct stn_plan *plan, const struct settings *config,
                         const char *says)
{
    const struct tune_subject subject = subject_of(config);
    errors_reset();
    assert_int_equal(tune_plan_check(plan, &subject, "p.json"), STN_ERR_INVALID);
    assert_non_null(strstr(errors_last(), "p.json"));
    if (!strstr(errors_last(), says)) {
        fail_msg("\"%s\" does not say \"%s\"", errors_last(), says);
    }
}

static void plans_for_something_else_are_refused(void **state)
{
    (void)state;
    struct stn_plan *plan = plan_for(384);
    struct settings config = settings(0);
    struct tune_subject subject = subject_of(&config);
    assert_int_equal(tune_plan_check(plan, &subject, "p.json"), STN_OK);
    config.micro_batch = 0; // any
    assert_int_equal(tune_plan_check(plan, &subject, "p.json"), STN_OK);
    config.micro_batch = 8;
    assert_unfit(plan, &config, "micro-batch is 16, and here it is 8");
    config = settings(0);
    config.image_size = 32;
    assert_unfit(plan, &config, "image size is 28");
    config = settings(0);
    config.net = "mobilenet_v2";
    assert_unfit(plan, &config, "lenet, not for mobilenet_v2");
    config = settings(0);
    members[1].name = "other";
    assert_unfit(plan, &config, "csd.0, and here it is other");
    members[1].name = "csd.0";
    members[1].cpus = 0.5;
    assert_unfit(plan, &config, "csd.0 had 0.25 CPUs, and here it has 0.5");
    members[1].cpus = 0.0;
    subject.classes = 11;
    assert_int_equal(tune_plan_check(plan, &subject, "p.json"), STN_ERR_INVALID);
    stn_plan_destroy(plan);
}

static void trials_are_short(void **state)
{
    (void)state;
    struct crew_profile profile;
    static const int split[3] = {400, 100, 0};
    int step[3];
    profile_make(&profile);
    assert_within(tune_plan_trial(&profile, split, 0.5, step), 0.491, 0.002);
    assert_int_equal(step[0], 49);
    assert_int_equal(step[1], 12);
    assert_int_equal(step[2], 0);
    tune_plan_trial(&profile, split, 0.001,
                    step); // the slowest does one, the others what fits beside
    assert_int_equal(step[0], 4);
    assert_int_equal(step[1], 1);
    crew_profile_fini(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_speeds),
        cmocka_unit_test(the_batch_is_the_smallest_that_is_efficient),
        cmocka_unit_test(private_data_make_floors),
        cmocka_unit_test(max_batch_caps),
        cmocka_unit_test(a_file_keeps_the_plan),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(plans_for_something_else_are_refused),
        cmocka_unit_test(trials_are_short),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
