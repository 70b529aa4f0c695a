// SPDX-License-Identifier: Apache-2.0
// Programs that print watts: lines as they come, programs that end and are started again, nonsense,
// failures. A named pipe says when a program is to go on, so that nothing waits by the clock.
#include <math.h>
#include <poll.h>
#include <signal.h>

#include "capture.h"
#include "cmocka_all.h"
#include "energy/meter.h"
#include "fixture.h"
#include "tree.h"

static struct energy_meter *open_script(struct tree *tree, const char *script)
{
    char path[128], spec[256];
    struct energy_meter *meter;
    tree_write(tree, "meter.sh", "%s", script);
    snprintf(path, sizeof(path), "%s/meter.sh", tree->root);
    snprintf(spec, sizeof(spec), "cmd:/bin/sh %s %s", path, tree->root);
    assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_OK);
    assert_int_equal(energy_meter_scope(meter), ENERGY_WALL);
    return meter;
}

// Until so many samples have come, or the meter has ended.
static bool read_until(struct energy_meter *meter, struct energy_account *account, int64_t samples)
{
    bool ok = true;
    for (int i = 0; i < 10000 && ok && account->total.samples < samples; i++) {
        ok = energy_meter_read(meter, account);
        poll(NULL, 0, 1);
    }
    return ok;
}

static void test_lines_as_they_come(void **state)
{
    struct tree *tree = *state;
    char fifo[PATH_MAX];
    snprintf(fifo, sizeof(fifo), "%s/go", tree->root);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int go = open(fifo, O_RDWR | O_CLOEXEC); // stays open: the program's reads wait for a line each
    assert_true(go >= 0);
    struct energy_meter *meter =
        open_script(tree, "echo 100; read x <$1/go; echo '140 W'; read x <$1/go; echo 0.2kW; exec "
                          "sleep 1000");
    struct energy_account account = energy_meter_begin(meter);
    assert_true(read_until(meter, &account, 1));
    for (int second = 1; second <= 2; second++) {
        tree->clock_s += 1.0;
        assert_true(write(go, "\n", 1) == 1);
        assert_true(read_until(meter, &account, 1 + second));
    }
    assert_int_equal(account.total.samples, 3);
    assert_true(fabs(account.total.joules - (120.0 + 170.0)) < 1e-9);
    energy_meter_close(meter); // ends the program too, although it sleeps
    close(go);
}

static void test_a_program_that_ends_is_started_again(void **state)
{
    struct tree *tree = *state;
    struct energy_meter *meter = open_script(tree, "echo 50");
    struct energy_account account = energy_meter_begin(meter);
    assert_true(read_until(meter, &account, 1));
    for (int i = 2; i <= 4; i++) {
        tree->clock_s += 6.0;
        assert_true(read_until(meter, &account, i));
    }
    assert_true(fabs(account.total.joules - 3 * 6 * 50.0) < 1e-9);
    assert_true(account.total.gap_s == 0.0);
    energy_meter_close(meter);
}

static void test_what_ends_the_meter(void **state)
{
    struct tree *tree = *state;
    static const struct {
        const char *script, *why;
    } bad[] = {
        {"echo 5 volts; exec sleep 1000", "printed '5 volts', which is no number of watts"},
        {"exit 3", "ended with code 3 and printed no watts"},
        {"true", "ended with code 0 and printed no watts"},
        {"echo 5; exit 1", "ended with code 1"},
        {"kill -9 $$", "was ended by signal 9"},
        {"exec head -c 100000 /dev/zero", "lines of more than 256 characters"},
        {"printf 5x", "printed '5x'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct energy_meter *meter = open_script(tree, bad[i].script);
        struct energy_account account = energy_meter_begin(meter);
        assert_false(read_until(meter, &account, 1000));
        if (!strstr(energy_meter_why(meter), bad[i].why)) {
            fail_msg("'%s' does not say '%s'", energy_meter_why(meter), bad[i].why);
        }
        energy_meter_close(meter);
    }
}

static void test_a_program_that_is_not_there(void **state)
{
    struct tree *tree = *state;
    struct energy_meter *meter;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(energy_meter_open("cmd:/nowhere/meter", &tree->world, &meter),
                     STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "/nowhere/meter: No such file"));
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_as_they_come),
        cmocka_unit_test(test_a_program_that_ends_is_started_again),
        cmocka_unit_test(test_what_ends_the_meter),
        cmocka_unit_test(test_a_program_that_is_not_there),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), tree_set_up, tree_tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
