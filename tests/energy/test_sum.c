// SPDX-License-Identifier: Apache-2.0
// The energy of a cluster, in numbers and words: one meter a machine, models, machines of which
// nothing is known, scopes that differ, gaps.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "energy/spec.h"
#include "energy/sum.h"

static struct energy_node measured(const char *name, uint64_t machine, double joules, double idle_w)
{
    return (struct energy_node){.name = name,
                                .machine = machine,
                                .source = ENERGY_MEASURED,
                                .idle_w = idle_w,
                                .total = {.joules = joules, .known_s = 92.0, .samples = 93}};
}

static struct energy_node other(const char *name, uint64_t machine, enum energy_source source,
                                double joules)
{
    return (struct energy_node){.name = name,
                                .machine = machine,
                                .source = source,
                                .idle_w = 0.5,
                                .total = {.joules = joules, .known_s = 92.0}};
}

static void assert_text(const struct energy_node nodes[], int count, const char *expected)
{
    char text[512];
    struct energy_sum sum = energy_sum_of(nodes, count);
    energy_sum_text(&sum, nodes, count, 92.0, 10000, text, sizeof(text));
    if (strcmp(text, expected) != 0) {
        fail_msg("'%s'\nis not\n'%s'", text, expected);
    }
}

static void test_one_meter_a_machine(void **state)
{
    (void)state;
    // All four see the same counters.
    struct energy_node nodes[4];
    for (int i = 0; i < 4; i++) {
        nodes[i] =
            measured(((const char *[]){"server", "csd.0", "csd.1", "csd.2"})[i], 7, 400.0, 1);
    }
    struct energy_sum sum = energy_sum_of(nodes, 4);
    assert_true(sum.joules == 400.0 && sum.machines == 1 && sum.measured == 1 && !sum.is_least);
    assert_true(sum.above_idle_j == 400.0 - 92.0);
    assert_text(
        nodes, 4,
        "400 J in 1:32, 0.04 J/image gross (cpu; server measured, with csd.0 and 2 more that "
        "run on it), 0.0308 above idle");
    nodes[0].source = ENERGY_MODELLED; // inside of what csd.0 measures
    assert_true(energy_sum_of(nodes, 4).joules == 400.0);
    assert_true(energy_sum_is_within(nodes, 4, 0) && !energy_sum_is_within(nodes, 4, 1));
}

static void test_measured_with_a_model(void **state)
{
    (void)state;
    struct energy_node nodes[] = {measured("server", 1, 300.0, 1.0),
                                  other("csd.0", 1, ENERGY_UNKNOWN, 0.0),
                                  other("clinic", 2, ENERGY_MODELLED, 112.0)};
    assert_text(nodes, 3,
                "412 J in 1:32, 0.0412 J/image gross (cpu; server measured, with csd.0 that runs "
                "on it; clinic modelled), 0.0274 above idle");
}

static void test_models_of_one_machine_add_up(void **state)
{
    (void)state;
    struct energy_node nodes[] = {other("a", 1, ENERGY_MODELLED, 10.0),
                                  other("b", 1, ENERGY_MODELLED, 5.0)};
    struct energy_sum sum = energy_sum_of(nodes, 2);
    assert_true(sum.joules == 15.0 && sum.modelled == 1 && !sum.is_least);
    nodes[1].source = ENERGY_UNKNOWN;
    sum = energy_sum_of(nodes, 2);
    assert_true(sum.joules == 10.0 && sum.is_least && isnan(sum.above_idle_j));
}

static void test_unknown_is_not_nothing(void **state)
{
    (void)state;
    struct energy_node nodes[] = {measured("a", 1, 300.0, NAN), measured("b", 2, 100.0, 1.0),
                                  other("c", 3, ENERGY_UNKNOWN, 0.0),
                                  other("d", 4, ENERGY_UNKNOWN, 0.0)};
    assert_text(nodes, 4,
                "at least 400 J in 1:32, 0.04 J/image gross (cpu; a measured; b measured): 2 of 4 "
                "machines measured");
    assert_text(nodes + 2, 2,
                "unknown: none of 2 machines has a power meter that can be read, or a model");
    assert_true(isnan(energy_sum_of(nodes + 2, 2).joules));
    nodes[0].total = (struct energy_total){.gap_s = 92.0}; // it never told anything
    assert_true(energy_sum_of(nodes, 2).joules == 100.0 && energy_sum_of(nodes, 2).is_least);
}

static void test_other_scopes_and_gaps_make_it_a_least(void **state)
{
    (void)state;
    struct energy_node nodes[] = {measured("a", 1, 300.0, 1.0), measured("b", 2, 100.0, 1.0)};
    assert_false(energy_sum_of(nodes, 2).is_least);
    nodes[1].scope = ENERGY_WALL;
    assert_text(nodes, 2,
                "at least 400 J in 1:32, 0.04 J/image gross (different scopes; a measured; b "
                "measured)");
    nodes[1].scope = ENERGY_CPU;
    nodes[1].total.gap_s = 10.0;
    nodes[1].total.known_s = 82.0;
    assert_text(
        nodes, 2,
        "at least 400 J in 1:32, 0.04 J/image gross (cpu; a measured; b measured); readings "
        "are missing for 10 s");
}

static void test_specs_are_checked(void **state)
{
    (void)state;
    struct capture capture;
    static const char *const good[] = {"auto",  "none",  "model:newport",
                                       "csv:x", "cmd:y", "hwmon:z"};
    static const char *const bad[] = {"", "model", "model:", "csv", "auto:", "non"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(energy_spec_check(good[i]), STN_OK);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        capture_start(&capture);
        assert_int_equal(energy_spec_check(bad[i]), STN_ERR_INVALID);
        capture_stop();
        assert_int_equal(capture.lines, 1);
    }
    assert_string_equal(energy_spec_model("model:newport"), "newport");
    assert_null(energy_spec_model("auto"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_meter_a_machine),
        cmocka_unit_test(test_measured_with_a_model),
        cmocka_unit_test(test_models_of_one_machine_add_up),
        cmocka_unit_test(test_unknown_is_not_nothing),
        cmocka_unit_test(test_other_scopes_and_gaps_make_it_a_least),
        cmocka_unit_test(test_specs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
