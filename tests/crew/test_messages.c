// SPDX-License-Identifier: Apache-2.0
// What nodes tell each other arrives in the field that it was said in: each value of each node is
// another one.
#include <string.h>

#include "capture.h"
#include "comm/nodes.h"
#include "crew/profile.h"
#include "crew/split.h"

enum { NODES = 3 };

struct seen {
    int right[NODES];
    bool decided; // node 0 saw all reports as they were sent
};

// ---- steps -------------------------------------------------------------------------------------

static struct crew_node_report report_of(int rank)
{
    const int base = 100 * (rank + 1);
    return (struct crew_node_report){
        .stop = rank == 1,
        .totals = {.loss_sum = base + 0.5, .correct = base + 1, .count = base + 2},
        .micro_batches = base + 3,
        .vitals = {.step = base + 4,
                   .micro_batches = base + 5,
                   .compute_s = base + 6,
                   .wait_s = base + 7,
                   .io_s = base + 8,
                   .cpu_s = base + 9,
                   .queue_s = base + 10,
                   .throttled_s = base + 11,
                   .share_cpu_s = base + 12,
                   .clock_s = base + 13},
    };
}

static bool same_vitals(const struct hypertune_report *a, const struct hypertune_report *b)
{
    return a->step == b->step && a->micro_batches == b->micro_batches &&
           a->compute_s == b->compute_s && a->wait_s == b->wait_s && a->io_s == b->io_s &&
           a->cpu_s == b->cpu_s && a->queue_s == b->queue_s && a->throttled_s == b->throttled_s &&
           a->share_cpu_s == b->share_cpu_s && a->clock_s == b->clock_s;
}

static bool same_report(const struct crew_node_report *a, const struct crew_node_report *b)
{
    return a->status == b->status && a->stop == b->stop &&
           a->totals.loss_sum == b->totals.loss_sum && a->totals.correct == b->totals.correct &&
           a->totals.count == b->totals.count && a->micro_batches == b->micro_batches &&
           same_vitals(&a->vitals, &b->vitals);
}

static enum stn_status decide(void *context, const struct crew_node_report reports[],
                              struct crew_verdict *verdict)
{
    struct seen *seen = context;
    seen->decided = true;
    for (int i = 0; i < NODES; i++) {
        const struct crew_node_report sent = report_of(i);
        seen->decided = seen->decided && same_report(&reports[i], &sent);
        verdict->split[i] = 7 * (i + 1);
    }
    verdict->moved = true;
    verdict->batch = 4711;
    verdict->lr = 0.0625;
    return STN_OK;
}

static bool sum_is_right(struct crew *crew, struct seen *seen)
{
    const struct crew_node_report own = report_of(crew->rank);
    const struct crew_verdict *verdict = NULL;
    if (crew_sum(crew, &own, decide, seen, &verdict) != STN_OK) {
        return false;
    }
    bool split = true;
    for (int i = 0; i < NODES; i++) {
        split = split && verdict->split[i] == 7 * (i + 1);
    }
    return split && verdict->status == STN_OK && verdict->failed == -1 && verdict->stop &&
           verdict->moved && !verdict->end_epoch && verdict->batch == 4711 &&
           verdict->lr == 0.0625 && verdict->totals.loss_sum == 601.5 &&
           verdict->totals.correct == 603 && verdict->totals.count == 606;
}

// ---- before the first step ---------------------------------------------------------------------

static struct crew_node_profile profile_of(int rank)
{
    const int base = 100 * (rank + 1);
    struct crew_node_profile profile = {.threads = base,
                                        .cpus = base + 1,
                                        .machine = (uint64_t)base + 2,
                                        .machine_cpus = base + 3,
                                        .memory_needed = (uint64_t)base + 4,
                                        .memory_limit = (uint64_t)base + 5,
                                        .line = {.fixed_s = base + 6, .each_s = base + 7},
                                        .update_s = base + 8,
                                        .fixed_error_s = base + 9,
                                        .each_error_s = base + 10,
                                        .noise = base + 11,
                                        .samples = base + 12,
                                        .outliers = base + 13};
    strcpy(profile.doubt, rank == 1 ? "it shook" : "");
    return profile;
}

static bool same_profile(const struct crew_node_profile *a, const struct crew_node_profile *b)
{
    return a->threads == b->threads && a->cpus == b->cpus && a->machine == b->machine &&
           a->machine_cpus == b->machine_cpus && a->memory_needed == b->memory_needed &&
           a->memory_limit == b->memory_limit && a->line.fixed_s == b->line.fixed_s &&
           a->line.each_s == b->line.each_s && a->update_s == b->update_s &&
           a->fixed_error_s == b->fixed_error_s && a->each_error_s == b->each_error_s &&
           a->noise == b->noise && a->samples == b->samples && a->outliers == b->outliers &&
           strcmp(a->doubt, b->doubt) == 0;
}

static bool profiles_are_right(struct crew *crew)
{
    struct crew_profile profile;
    const struct crew_node_profile own = profile_of(crew->rank);
    bool right = crew_profile_create(&crew->cluster, 8, &profile) == STN_OK &&
                 crew_profile_gather(crew, &own, &profile) == STN_OK;
    for (int i = 0; i < NODES && right; i++) {
        const struct crew_node_profile sent = profile_of(i);
        right = same_profile(&profile.about[i], &sent);
    }
    crew_profile_fini(&profile);
    return right;
}

static bool splits_are_node_0s(struct crew *crew)
{
    const int first[NODES] = {5, 0, 70000}, others[NODES] = {1, 1, 1};
    struct crew_splits splits;
    int batch = crew->rank == 0 ? 600040 : 24;
    bool right = crew_splits_copy(crew->rank == 0 ? first : others, NODES, &splits) == STN_OK &&
                 crew_splits_spread(crew, &splits, &batch) == STN_OK &&
                 memcmp(splits.values, first, sizeof(first)) == 0 && batch == 600040;
    crew_splits_fini(&splits);
    return right;
}

// Node 2's settings differ, so all refuse to begin; before that all were alike.
static bool identities_are_compared(struct crew *crew)
{
    struct wire_identity own = {.network = 1, .classes = 2, .settings = 3, .samples = 4};
    if (crew_compare(crew, &own) != STN_OK) {
        return false;
    }
    own.settings += crew->rank == 2;
    return crew_compare(crew, &own) == STN_ERR_INVALID;
}

// Node 1 sends bytes that are no report: the step fails on all nodes.
static void send_nonsense(struct comm *comm, void *context)
{
    struct seen *seen = context;
    const struct settings settings = settings_defaults(STN_VERB_TRAIN);
    const struct crew_verdict *verdict;
    struct crew crew;
    uint8_t nonsense[WIRE_REPORT_BYTES], answer[WIRE_VERDICT_BYTES + NODES * WIRE_INT_BYTES];
    memset(nonsense, 0xff, sizeof(nonsense));
    enum stn_status status = crew_open(comm, &settings, &crew);
    if (!status && crew.rank == 1) {
        struct wire_verdict heard = {0};
        status = comm_gather(comm, COMM_CONTROL, 0, nonsense, sizeof(nonsense), NULL);
        status = status ? status : comm_broadcast(comm, COMM_CONTROL, 0, answer, sizeof(answer));
        status = !status && wire_decode(WIRE_VERDICT, answer, &heard)
                     ? (enum stn_status)heard.status
                     : status;
    } else if (!status) {
        const struct crew_node_report own = report_of(crew.rank);
        status = crew_sum(&crew, &own, decide, seen, &verdict);
    }
    seen->right[comm_rank(comm)] = status == STN_ERR_CORRUPT;
    crew_close(&crew);
}

static void talk(struct comm *comm, void *context)
{
    struct seen *seen = context;
    const struct settings settings = settings_defaults(STN_VERB_TRAIN);
    struct crew crew;
    bool right = crew_open(comm, &settings, &crew) == STN_OK;
    right = right && sum_is_right(&crew, seen) && profiles_are_right(&crew) &&
            splits_are_node_0s(&crew) && identities_are_compared(&crew);
    seen->right[comm_rank(comm)] = right;
    crew_close(&crew);
}

static void fields_arrive_where_they_were_said(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct capture capture;
    capture_start(&capture);
    nodes_run(NODES, 30.0, talk, &seen);
    capture_stop();
    assert_int_equal(capture.lines, 1); // of node 0, about node 2's data
    assert_non_null(strstr(capture.last, "pictures of other brightness"));
    assert_true(seen.decided);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(seen.right[i], 1);
    }
}

static void a_report_that_cannot_be_read_fails_all(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct capture capture;
    capture_start(&capture);
    nodes_run(NODES, 30.0, send_nonsense, &seen);
    capture_stop();
    assert_false(seen.decided);
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "sent a message (report) that cannot be read"));
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(seen.right[i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_arrive_where_they_were_said),
        cmocka_unit_test(a_report_that_cannot_be_read_fails_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
