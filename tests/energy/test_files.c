// SPDX-License-Identifier: Apache-2.0
// powercap and hwmon on made-up machines. The layouts are those that the kernel makes:
// Documentation/power/powercap/powercap.rst (zones, their names, how they hold one another),
// drivers/powercap/intel_rapl_common.c (names; psys beside packages; AMD's zones),
// intel_rapl_tpmi.c and processor_thermal_rapl.c (the same zones by MMIO),
// Documentation/hwmon/{amd_energy,acpi_power_meter,ina2xx}.rst.
#include <math.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "energy/meter.h"
#include "fixture.h"
#include "tree.h"

#define RANGE 262143328850ull

static void assert_joules(double value, double expected)
{
    if (fabs(value - expected) > 1e-6) {
        fail_msg("%.9g J are not %.9g J", value, expected);
    }
}

static struct energy_meter *open_meter(struct tree *tree, const char *spec, const char *what,
                                       enum energy_scope scope)
{
    struct energy_meter *meter;
    assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_OK);
    assert_non_null(meter);
    assert_string_equal(energy_meter_what(meter), what);
    assert_int_equal(energy_meter_scope(meter), scope);
    return meter;
}

static void refuse(struct tree *tree, const char *spec, const char *expected)
{
    struct energy_meter *meter;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_ERR_INVALID);
    capture_stop();
    assert_null(meter);
    assert_int_equal(capture.lines, 1);
    if (!strstr(capture.last, expected)) {
        fail_msg("'%s' does not say '%s'", capture.last, expected);
    }
}

// A second in which zones rise as `rise` writes them.
static double joules_of(struct tree *tree, struct energy_meter *meter,
                        void (*rise)(const struct tree *tree))
{
    struct energy_account account = energy_meter_begin(meter);
    assert_true(energy_meter_read(meter, &account));
    tree->clock_s += 1.0;
    rise(tree);
    assert_true(energy_meter_read(meter, &account));
    energy_meter_close(meter);
    return account.total.known_s == 1.0 ? account.total.joules : NAN;
}

// ---- powercap ----------------------------------------------------------------------------------

// A laptop: psys has package-0, which has core and uncore; dram beside; MMIO shows the package
// again.
static void client(const struct tree *tree)
{
    unsigned long long t = tree->clock_s > 1000.0;
    tree_zone(tree, "intel-rapl:0", "package-0", 1000000 + t * 9610000, RANGE);
    tree_zone(tree, "intel-rapl:0:0", "core", 500000 + t * 4000000, RANGE);
    tree_zone(tree, "intel-rapl:0:1", "uncore", 100000 + t * 830000, RANGE);
    tree_zone(tree, "intel-rapl:0:2", "dram", 70000 + t * 1000000, RANGE);
    tree_zone(tree, "intel-rapl:1", "psys", 3000000 + t * 14440000, RANGE);
    tree_zone(tree, "intel-rapl-mmio:0", "package-0", 1000000 + t * 9610000, RANGE);
}

static void test_client_is_psys_alone(void **state)
{
    struct tree *tree = *state;
    client(tree);
    struct energy_meter *meter = open_meter(tree, "powercap", "psys", ENERGY_BOARD);
    assert_joules(joules_of(tree, meter, client), 14.44);
}

static void client_dead_psys(const struct tree *tree)
{
    client(tree);
    tree_zone(tree, "intel-rapl:1", "psys", 0, RANGE);
}

static void test_psys_that_stands_still_is_not_taken(void **state)
{
    struct tree *tree = *state;
    client_dead_psys(tree);
    struct energy_meter *meter =
        open_meter(tree, "auto", "package-0, dram of package-0", ENERGY_CPU);
    assert_joules(joules_of(tree, meter, client_dead_psys), 10.61);
}

// A server: two packages with memory each; the second wraps in this second.
static void server(const struct tree *tree)
{
    unsigned long long t = tree->clock_s > 1000.0;
    tree_zone(tree, "intel-rapl:0", "package-0", 1000000 + t * 85000000, RANGE);
    tree_zone(tree, "intel-rapl:0:0", "dram", 1000000 + t * 11000000, 65712999613ull);
    tree_zone(tree, "intel-rapl:1", "package-1", t ? 4999999 : RANGE - 60000000, RANGE);
    tree_zone(tree, "intel-rapl:1:0", "dram", 1000000 + t * 12000000, 65712999613ull);
    tree_zone(tree, "intel-rapl-mmio:0", "package-0", 1000000 + t * 85000000, RANGE);
    tree_write(tree, "sys/class/powercap/intel-rapl/enabled", "1\n");
}

static void test_server_is_both_sockets_and_their_memory(void **state)
{
    struct tree *tree = *state;
    server(tree);
    struct energy_meter *meter = open_meter(
        tree, "powercap", "package-0, dram of package-0, package-1, dram of package-1", ENERGY_CPU);
    assert_joules(joules_of(tree, meter, server), 85.0 + 11.0 + 65.0 + 12.0);
}

// Several dies a socket, as on Cascade Lake AP: each is a package of its own.
static void dies(const struct tree *tree)
{
    unsigned long long t = tree->clock_s > 1000.0;
    tree_zone(tree, "intel-rapl:0", "package-0-die-0", t * 50000000, RANGE);
    tree_zone(tree, "intel-rapl:1", "package-0-die-1", t * 51000000, RANGE);
}

static void test_dies_add_up(void **state)
{
    struct tree *tree = *state;
    dies(tree);
    struct energy_meter *meter =
        open_meter(tree, "powercap", "package-0-die-0, package-0-die-1", ENERGY_CPU);
    assert_joules(joules_of(tree, meter, dies), 101.0);
}

// AMD: the driver is the same, a package has its cores.
static void amd(const struct tree *tree)
{
    unsigned long long t = tree->clock_s > 1000.0;
    tree_zone(tree, "intel-rapl:0", "package-0", t * 120000000, 65532610987ull);
    tree_zone(tree, "intel-rapl:0:0", "core", t * 70000000, 65532610987ull);
}

static void test_amd_is_the_package(void **state)
{
    struct tree *tree = *state;
    amd(tree);
    struct energy_meter *meter = open_meter(tree, "powercap", "package-0", ENERGY_CPU);
    assert_joules(joules_of(tree, meter, amd), 120.0);
}

// Twins alone are read: a machine that has its zones by MMIO only.
static void test_twins_alone_are_read(void **state)
{
    struct tree *tree = *state;
    tree_zone(tree, "intel-rapl-mmio:0", "package-0", 5, RANGE);
    energy_meter_close(open_meter(tree, "powercap", "package-0", ENERGY_CPU));
}

static void test_what_root_alone_may_read_is_said(void **state)
{
    struct tree *tree = *state;
    char path[PATH_MAX];
    server(tree);
    snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:1/energy_uj", tree->root);
    chmod(path, 0);
    bool is_root = geteuid() == 0;
    chmod(tree->root, 0755);
    assert_true(!is_root || seteuid(65534) == 0);
    // One socket of two is no measurement.
    refuse(tree, "powercap", "may be read by root alone; permit it with: sudo chmod a+r");
    struct energy_meter *meter;
    assert_int_equal(energy_meter_open("auto", &tree->world, &meter), STN_OK);
    assert_null(meter);
    assert_true(!is_root || seteuid(0) == 0);
}

static void test_powercap_that_is_not_there_or_garbage(void **state)
{
    struct tree *tree = *state;
    refuse(tree, "powercap", "is not there");
    tree_write(tree, "sys/class/powercap/dtpm/name", "dtpm\n");
    refuse(tree, "powercap", "has no zone of a processor");
    tree_zone(tree, "intel-rapl:0", "package-0", 5, RANGE);
    tree_write(tree, "sys/class/powercap/intel-rapl:0/energy_uj", "many\n");
    refuse(tree, "powercap", "energy_uj: no number of microjoules");
    tree_write(tree, "sys/class/powercap/intel-rapl:0/energy_uj", "%s", "");
    refuse(tree, "powercap", "energy_uj: no number of microjoules");
    tree_write(tree, "sys/class/powercap/intel-rapl:0/energy_uj", "-5\n");
    refuse(tree, "powercap", "energy_uj: no number of microjoules");
    tree_zone(tree, "intel-rapl:0", "package-0", 5, 0);
    refuse(tree, "powercap", "does not say where the counter begins anew");
}

static void test_a_counter_that_goes_away_ends_the_meter(void **state)
{
    struct tree *tree = *state;
    amd(tree);
    struct energy_meter *meter = open_meter(tree, "powercap", "package-0", ENERGY_CPU);
    struct energy_account account = energy_meter_begin(meter);
    assert_true(energy_meter_read(meter, &account));
    tree_write(tree, "sys/class/powercap/intel-rapl:0/energy_uj", "gone\n");
    assert_false(energy_meter_read(meter, &account));
    assert_non_null(strstr(energy_meter_why(meter), "no number of microjoules"));
    energy_meter_close(meter);
}

// ---- hwmon -------------------------------------------------------------------------------------

static void epyc(const struct tree *tree)
{
    unsigned long long t = tree->clock_s > 1000.0;
    tree_write(tree, "sys/class/hwmon/hwmon0/name", "nvme\n");
    tree_write(tree, "sys/class/hwmon/hwmon1/name", "amd_energy\n");
    tree_write(tree, "sys/class/hwmon/hwmon1/energy1_label", "Ecore000\n");
    tree_write(tree, "sys/class/hwmon/hwmon1/energy1_input", "%llu\n", 100 + t * 3000000);
    tree_write(tree, "sys/class/hwmon/hwmon1/energy2_label", "Esocket0\n");
    tree_write(tree, "sys/class/hwmon/hwmon1/energy2_input", "%llu\n", 100 + t * 90000000);
    tree_write(tree, "sys/class/hwmon/hwmon1/energy3_label", "Esocket1\n");
    tree_write(tree, "sys/class/hwmon/hwmon1/energy3_input", "%llu\n", 100 + t * 95000000);
}

static void test_sockets_without_their_cores(void **state)
{
    struct tree *tree = *state;
    epyc(tree);
    struct energy_meter *meter = open_meter(tree, "hwmon", "amd_energy (hwmon1)", ENERGY_CPU);
    assert_joules(joules_of(tree, meter, epyc), 185.0);
}

static void board(const struct tree *tree)
{
    bool late = tree->clock_s > 1000.0;
    tree_write(tree, "sys/class/hwmon/hwmon0/name", "cpu_thermal\n");
    tree_write(tree, "sys/class/hwmon/hwmon2/name", "ina226\n");
    tree_write(tree, "sys/class/hwmon/hwmon2/power1_input", "%d\n", late ? 5000000 : 4000000);
}

static void test_a_sensor_of_the_board(void **state)
{
    struct tree *tree = *state;
    board(tree);
    struct energy_meter *meter = open_meter(tree, "auto", "ina226 (hwmon2)", ENERGY_BOARD);
    assert_joules(joules_of(tree, meter, board), 4.5);
}

static void test_rails_that_may_hold_one_another_are_not_added_up(void **state)
{
    struct tree *tree = *state;
    board(tree);
    tree_write(tree, "sys/class/hwmon/hwmon3/name", "ina226\n");
    tree_write(tree, "sys/class/hwmon/hwmon3/power1_input", "900000\n");
    refuse(tree, "hwmon", "2 chips measure power (ina226 in hwmon2, ina226 in hwmon3");
    refuse(tree, "hwmon:ina226", "name one with hwmon:hwmon2");
    energy_meter_close(open_meter(tree, "hwmon:hwmon3", "ina226 (hwmon3)", ENERGY_BOARD));
    tree_write(tree, "sys/class/hwmon/hwmon3/power2_input", "800000\n");
    refuse(tree, "hwmon:hwmon3", "has 2 inputs");
    tree_write(tree, "sys/class/hwmon/hwmon4/name", "odd\n");
    refuse(tree, "hwmon:odd", "has no power input");
    tree_write(tree, "sys/class/hwmon/hwmon4/power1_input", "x\n");
    refuse(tree, "hwmon:odd", "no number");
    refuse(tree, "hwmon:even", "no chip even");
}

// ---- specs, and what there is ------------------------------------------------------------------

static void test_specs(void **state)
{
    struct tree *tree = *state;
    refuse(tree, "powercpa", "unknown meter; did you mean powercap?");
    refuse(tree, "sunlight", "there are auto, powercap, hwmon");
    refuse(tree, "csv", "something is missing behind it");
    refuse(tree, "cmd:", "something is missing behind it");
    refuse(tree, "hwmon", "no chip in /sys/class/hwmon is known");
    refuse(tree, "ipmi", "ipmi");
    struct energy_meter *meter;
    assert_int_equal(energy_meter_open("auto", &tree->world, &meter), STN_OK);
    assert_null(meter);
}

static void test_findings(void **state)
{
    struct tree *tree = *state;
    struct energy_finding findings[ENERGY_FINDINGS_MAX];
    amd(tree);
    int count = energy_meter_find(&tree->world, findings, ENERGY_FINDINGS_MAX);
    assert_int_equal(count, 3); // those that need no argument
    assert_string_equal(findings[0].kind, "powercap");
    assert_true(findings[0].usable && findings[0].meter);
    assert_string_equal(findings[0].text, "package-0");
    assert_true(!findings[1].usable && !findings[1].meter && findings[1].text[0]);
    assert_true(!findings[2].usable);
    energy_meter_close(findings[0].meter);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_is_psys_alone),
        cmocka_unit_test(test_psys_that_stands_still_is_not_taken),
        cmocka_unit_test(test_server_is_both_sockets_and_their_memory),
        cmocka_unit_test(test_dies_add_up),
        cmocka_unit_test(test_amd_is_the_package),
        cmocka_unit_test(test_twins_alone_are_read),
        cmocka_unit_test(test_what_root_alone_may_read_is_said),
        cmocka_unit_test(test_powercap_that_is_not_there_or_garbage),
        cmocka_unit_test(test_a_counter_that_goes_away_ends_the_meter),
        cmocka_unit_test(test_sockets_without_their_cores),
        cmocka_unit_test(test_a_sensor_of_the_board),
        cmocka_unit_test(test_rails_that_may_hold_one_another_are_not_added_up),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_findings),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), tree_set_up, tree_tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
