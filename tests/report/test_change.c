// SPDX-License-Identifier: Apache-2.0
// What happened, in words and as JSON.
#include "fixture.h"
#include "report/change.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "crew_run.h"

enum { LINES = 8 };

static struct report_crew crew;
static char texts[LINES][REPORT_CHANGE_BYTES];
static char *jsons[LINES];
static struct report_incident incidents[LINES];
static int count, incident_count;

static void take_change(void *context, const struct stn_train_change *change)
{
    (void)context;
    assert_true(count < LINES);
    report_crew_change(&crew, change);
    report_change_text(&crew, change, texts[count]);
    json_t *json = report_change_json(&crew, change);
    jsons[count] = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    incident_count += report_incident_of(&crew, change, &incidents[incident_count]);
    count++;
}

static const struct stn_train_observer observer = {.change = take_change};

static int begin(void **state)
{
    (void)state;
    const struct stn_train_start start = crew_start();
    count = incident_count = 0;
    return report_crew_start(&crew, &start) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    report_crew_fini(&crew);
    for (int i = 0; i < LINES; i++) {
        free(jsons[i]);
        jsons[i] = NULL;
    }
    return 0;
}

static void a_slow_node_is_told(void **state)
{
    (void)state;
    crew_slows(&observer);
    assert_string_equal(texts[0], "step 41: work moved: host 12 → 13, csd.0 4 → 5, csd.1 4 → 2; "
                                  "steps 45 % shorter");
    assert_string_equal(texts[1], "step 41: csd.1 is 2.0 × slower, from step 40 on: another "
                                  "process in its share");
    assert_string_equal(jsons[0],
                        "{\"event\":\"change\",\"kind\":\"split\",\"step\":41,\"node\":\"csd.1\","
                        "\"before\":[12,4,4,4],\"after\":[13,5,2,4],\"gain\":0.45000000000000001,"
                        "\"batch\":384,\"lost_samples\":0}");
    assert_string_equal(jsons[1],
                        "{\"event\":\"change\",\"kind\":\"slowed\",\"step\":41,\"node\":\"csd.1\","
                        "\"before\":[13,5,2,4],\"after\":[13,5,2,4],\"since_step\":40,"
                        "\"slowdown\":2.0,\"cause\":\"another process in its share\","
                        "\"cost_seconds\":null}");
    assert_int_equal(incident_count, 0);
}

static void an_incident_says_what_it_was_and_cost(void **state)
{
    (void)state;
    crew_slows(&observer);
    crew_recovers(&observer);
    assert_int_equal(incident_count, 1);
    char text[REPORT_CHANGE_BYTES];
    report_incident_text(&incidents[0], text);
    assert_string_equal(text, "csd.1: up to 2.1 × slower in steps 40–62 (another process in its "
                              "share), 2 instead of 4 micro-batches, cost 3.4 s");
    json_t *json = report_incident_json(&incidents[0]);
    char *dump = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(3));
    assert_string_equal(dump, "{\"node\":\"csd.1\",\"since_step\":40,\"until_step\":63,"
                              "\"slowdown\":2.1,\"cause\":\"another process in its share\","
                              "\"cost_seconds\":3.4,\"micro_batches_before\":4,"
                              "\"micro_batches_least\":2}");
    free(dump);
    json_decref(json);
    assert_string_equal(
        texts[3], "step 63: csd.1 is as fast as before again: up to 2.1 × slower in steps 40–62 "
                  "(another process in its share), 2 instead of 4 micro-batches, cost 3.4 s");
}

// Whichever is told first, the node had 4 before.
static void the_order_of_news_does_not_matter(void **state)
{
    (void)state;
    const struct stn_train_change slowed = {.kind = STN_CHANGE_SLOWED,
                                            .step = 41,
                                            .node = 2,
                                            .before = crew_first,
                                            .after = crew_moved,
                                            .cause = "unknown",
                                            .slowdown = 2.0,
                                            .since_step = 40};
    const struct stn_train_change lasting = {.kind = STN_CHANGE_LASTING,
                                             .step = 100,
                                             .node = 2,
                                             .before = crew_moved,
                                             .after = crew_moved,
                                             .cause = "unknown",
                                             .slowdown = 3.0,
                                             .since_step = 40,
                                             .cost_seconds = 9};
    const struct stn_train_change split = {
        .kind = STN_CHANGE_SPLIT, .step = 41, .node = 2, .before = crew_first, .after = crew_moved};
    take_change(NULL, &slowed);
    take_change(NULL, &split);
    take_change(NULL, &lasting);
    assert_int_equal(incident_count, 1);
    assert_int_equal(incidents[0].before, 4);
    assert_int_equal(incidents[0].least, 2);
    char text[REPORT_CHANGE_BYTES];
    report_incident_text(&incidents[0], text);
    assert_string_equal(text, "csd.1: up to 3.0 × slower from step 40 to the end (unknown), 2 "
                              "instead of 4 micro-batches, cost 9.0 s");
    assert_non_null(strstr(jsons[2], "\"kind\":\"lasting\""));
}

static void an_epoch_that_ends_early_is_told(void **state)
{
    (void)state;
    const struct stn_train_change split = {.kind = STN_CHANGE_SPLIT,
                                           .step = 46,
                                           .node = 2,
                                           .before = crew_first,
                                           .after = crew_moved,
                                           .batch = 368,
                                           .lost_samples = 20736};
    take_change(NULL, &split);
    assert_string_equal(texts[0], "step 46: work moved: host 12 → 13, csd.0 4 → 5, csd.1 4 → 2; "
                                  "batch 368 from now on; the epoch ends, 20,736 of its images "
                                  "untrained");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_node_is_told),
        cmocka_unit_test(an_incident_says_what_it_was_and_cost),
        cmocka_unit_test(the_order_of_news_does_not_matter),
        cmocka_unit_test(an_epoch_that_ends_early_is_told),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
