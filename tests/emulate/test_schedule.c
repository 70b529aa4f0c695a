// SPDX-License-Identifier: Apache-2.0
// --interfere as people write it, and as they should not.
#include "emulate/schedule.h"

#include <string.h>

#include "capture.h"
#include "cmocka_all.h"

static void loads_are_read(void **state)
{
    (void)state;
    struct emulate_schedule s;
    assert_int_equal(emulate_schedule_parse("csd.0@20-40:busy*1,host@1-1:gzip*6", &s), STN_OK);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.loads[0].node, "csd.0");
    assert_int_equal(s.loads[0].from, 20);
    assert_int_equal(s.loads[0].to, 40);
    assert_int_equal(s.loads[0].kind, EMULATE_LOAD_BUSY);
    assert_true(s.loads[0].processes == 1);
    assert_string_equal(s.loads[1].node, "host");
    assert_int_equal(s.loads[1].from, 1);
    assert_int_equal(s.loads[1].to, 1);
    assert_int_equal(s.loads[1].kind, EMULATE_LOAD_GZIP);
    assert_true(s.loads[1].processes == 6);
    emulate_schedule_fini(&s);
}

static void names_may_have_dashes(void **state)
{
    (void)state;
    struct emulate_schedule s;
    assert_int_equal(emulate_schedule_parse("csd-a.1@5-6:busy*0.25", &s), STN_OK);
    assert_string_equal(s.loads[0].node, "csd-a.1");
    assert_true(s.loads[0].processes == 0.25);
    emulate_schedule_fini(&s);
}

static void assert_refused(const char *text, const char *word)
{
    struct emulate_schedule s;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(emulate_schedule_parse(text, &s), STN_ERR_INVALID);
    capture_stop();
    assert_non_null(strstr(capture.last, word));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    const char *const shapeless[] = {
        "",
        "csd",
        "csd@1-2",
        "csd:busy*1",
        "@1-2:busy*1",
        "csd@1:busy*1",
        "csd@1-2:busy",
        "csd@1-2*1",
        "csd@1-2:busy*1,",
        ",",
        "csd@*1:busy-2",
    };
    for (size_t i = 0; i < sizeof(shapeless) / sizeof(shapeless[0]); i++) {
        assert_refused(shapeless[i], "expected NODE@FROM-TO:LOAD");
    }
    const char *const steps[] = {
        "csd@0-2:busy*1",   "csd@3-2:busy*1",  "csd@a-2:busy*1",
        "csd@1-2-3:busy*1", "csd@-1-2:busy*1", "csd@1-9223372036854775807:busy*1",
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_refused(steps[i], "are no steps");
    }
    const char *const loads[] = {
        "csd@1-2:bzip*1",   "csd@1-2:busy*0",  "csd@1-2:busy*65",  "csd@1-2:busy*x",
        "csd@1-2:gzip*1.5", "csd@1-2:busy*-1", "csd@1-2:busy*nan", "csd@1-2:*1",
    };
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        assert_refused(loads[i], "a load is gzip*K or busy*K");
    }
}

static void the_message_shows_the_item(void **state)
{
    (void)state;
    assert_refused("csd@1-2:busy*1,host@1-2:tar*1,csd@7-8:busy*1", "'host@1-2:tar*1'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_are_read),
        cmocka_unit_test(names_may_have_dashes),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(the_message_shows_the_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
