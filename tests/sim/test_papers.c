// SPDX-License-Identifier: Apache-2.0
// The papers' experiments on virtual nodes: each row is as near to what was reported as its bound
// says (paper_bounds.h); and nothing is made to match: whatever goes in moves what comes out.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "close.h"
#include "cmocka_all.h"
#include "paper_bounds.h"
#include "sim/paper.h"

static struct sim_devices devices;
static struct sim_paper_report stannis, hypertune;

static int set_up(void **state)
{
    (void)state;
    return sim_devices_add_builtin(&devices) != STN_OK ||
           sim_paper_stannis(&devices, &sim_paper_inputs, &stannis) != STN_OK ||
           sim_paper_hypertune(&devices, &sim_paper_inputs, &hypertune) != STN_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sim_devices_fini(&devices);
    return 0;
}

// The row of that kind with this in its description.
static const struct sim_paper_row *find(const struct sim_paper_report *report,
                                        enum sim_paper_row_kind kind, const char *unit,
                                        const char *what)
{
    for (int i = 0; i < report->row_count; i++) {
        const struct sim_paper_row *row = &report->rows[i];
        if (row->kind == kind && strcmp(row->unit, unit) == 0 && strstr(row->what, what)) {
            return row;
        }
    }
    fail_msg("no row about %s", what);
    return NULL;
}

static void assert_near(const struct sim_paper_row *row, double paper, double tolerance)
{
    assert_close(row->paper, paper, 1e-9);
    assert_true(fabs(sim_paper_error(row)) <= tolerance);
}

// ---- reproduces --------------------------------------------------------------------------------

// Every row has its bound, and every bound its row.
static void check_report(const struct sim_paper_report *report, const struct paper_bound bounds[],
                         int count)
{
    assert_int_equal(report->row_count, count);
    for (int i = 0; i < count; i++) {
        const struct sim_paper_row *row = &report->rows[i];
        const struct paper_bound *bound = &bounds[i];
        double error = sim_paper_error(row);
        assert_string_equal(row->what, bound->what);
        assert_string_equal(row->unit, bound->unit);
        assert_true(bound->reason && isfinite(row->simulated) && row->simulated > 0.0);
        assert_int_equal(isnan(row->paper), isnan(bound->most));
        if (!isnan(row->paper) && !(error >= bound->least && error <= bound->most)) {
            fail_msg("%s: %+.4f is not within %+.4f … %+.4f (%s)", row->what, error, bound->least,
                     bound->most, bound->reason);
        }
    }
}

static void every_row_is_within_its_bound(void **state)
{
    (void)state;
    check_report(&stannis, stannis_bounds, STANNIS_BOUNDS);
    check_report(&hypertune, hypertune_bounds, HYPERTUNE_BOUNDS);
}

// A row of the printed table that is more than 5 % off says why, to people who see the table.
static void rows_that_are_off_are_explained(void **state)
{
    (void)state;
    const struct sim_paper_report *reports[] = {&stannis, &hypertune};
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < reports[r]->row_count; i++) {
            const struct sim_paper_row *row = &reports[r]->rows[i];
            bool off = row->kind == SIM_PAPER_PREDICTED && fabs(sim_paper_error(row)) > 0.05;
            assert_true(!off || row->why);
        }
    }
}

static void three_servers_come_out_as_reported(void **state)
{
    (void)state;
    const enum sim_paper_row_kind predicted = SIM_PAPER_PREDICTED;
    assert_near(find(&hypertune, predicted, "img/s", "4 of 8 cores of one taken"), 75.6, 0.05);
    assert_near(find(&hypertune, predicted, "img/s", "4 of 8 cores of one taken, HyperTune"), 85.8,
                0.05);
    assert_near(find(&hypertune, predicted, "img/s", "6 of 8 cores of one taken"), 53.3, 0.05);
    assert_near(find(&hypertune, predicted, "img/s", "6 of 8 cores of one taken, HyperTune"), 83.7,
                0.05);
}

static void racks_come_out_as_reported(void **state)
{
    (void)state;
    const enum sim_paper_row_kind predicted = SIM_PAPER_PREDICTED;
    assert_near(find(&hypertune, predicted, "img/s", "6 of 8 cores taken, HyperTune"), 74.89, 0.05);
    assert_near(find(&hypertune, predicted, "img/s", "6 of 8 cores of the host taken"), 49.26,
                0.15);
    assert_near(find(&hypertune, predicted, "×", "ShuffleNet, 36 CSDs"), 2.82, 0.05);
    assert_near(find(&hypertune, predicted, "×", "ShuffleNet, loaded"), 1.45, 0.15);
    assert_near(find(&stannis, predicted, "×", "MobileNetV2, 24 CSDs"), 2.7, 0.05);
}

static void smaller_networks_gain_more(void **state)
{
    (void)state;
    const char *const order[] = {"MobileNetV2, 24", "SqueezeNet, 24", "NASNet, 24",
                                 "InceptionV3, 24"};
    for (int i = 1; i < 4; i++) {
        assert_true(find(&stannis, SIM_PAPER_PREDICTED, "×", order[i])->simulated <
                    find(&stannis, SIM_PAPER_PREDICTED, "×", order[i - 1])->simulated);
    }
}

static void energy_falls_with_the_number_of_csds(void **state)
{
    (void)state;
    const char *const csds[] = {"4 CSDs", "8 CSDs", "16 CSDs", "24 CSDs"};
    const double joules[] = {8.30, 6.84, 5.05, 4.02}, mflops[] = {7.05, 8.18, 10.37, 12.26};
    double before = 13.10;
    for (int i = 0; i < 4; i++) {
        const struct sim_paper_row *row = find(&stannis, SIM_PAPER_PREDICTED, "J/img", csds[i]);
        assert_near(row, joules[i], 0.13);
        assert_true(row->simulated < before);
        before = row->simulated;
        assert_near(find(&stannis, SIM_PAPER_PREDICTED, "MFLOPS/W", csds[i]), mflops[i], 0.05);
    }
}

static void figures_start_with_the_host_alone(void **state)
{
    (void)state;
    assert_int_equal(sim_paper_stannis_figure(&devices, &sim_paper_inputs, &stannis), STN_OK);
    assert_int_equal(sim_paper_hypertune_figure(&devices, &sim_paper_inputs, &hypertune), STN_OK);
    assert_int_equal(stannis.curve_count, SIM_PAPER_NETS);
    for (int i = 0; i < SIM_PAPER_NETS; i++) {
        const struct sim_paper_curve *curve = &stannis.curves[i];
        assert_int_equal(curve->count, 25);
        assert_close(curve->y[0], 1.0, 1e-9);
        for (int k = 1; k < curve->count; k++) {
            assert_true(curve->y[k] > curve->y[k - 1]);
        }
    }
    assert_int_equal(hypertune.curve_count, 5);
    for (int i = 0; i < 5; i++) {
        assert_close(hypertune.curves[i].x[18], 36.0, 0.0);
        assert_true(hypertune.curves[i].y[18] > hypertune.curves[i].y[0]);
    }
}

// ---- ours against theirs -----------------------------------------------------------------------

static void ours_is_ahead(void **state)
{
    (void)state;
    const enum sim_paper_row_kind ours = SIM_PAPER_OURS;
    double largest = 0.0, loaded = 0.0;
    for (int i = 0; i < hypertune.row_count; i++) {
        const struct sim_paper_row *row = &hypertune.rows[i];
        if (row->kind == ours && strstr(row->what, "36 CSDs, balanced")) {
            assert_true(row->simulated >= row->paper);
            largest = fmax(largest, row->simulated);
        }
        if (row->kind == ours && strstr(row->what, "with them, 6 of 8 cores taken")) {
            assert_true(row->simulated >= row->paper);
            loaded = fmax(loaded, row->simulated);
        }
        if (row->kind == ours && strcmp(row->unit, "steps") == 0) {
            assert_true(row->simulated >= 1.0 && row->simulated <= 2.0);
        }
    }
    assert_true(largest >= 3.8);
    assert_true(loaded >= 88.0);
}

// ---- nothing is made to match ------------------------------------------------------------------

// How many predictions are another than as printed, by more than a hundredth.
static int moved(const struct sim_paper_inputs *inputs)
{
    static struct sim_paper_report now[2];
    const struct sim_paper_report *before[] = {&stannis, &hypertune};
    int count = 0;
    assert_int_equal(sim_paper_stannis(&devices, inputs, &now[0]), STN_OK);
    assert_int_equal(sim_paper_hypertune(&devices, inputs, &now[1]), STN_OK);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(now[r].row_count, before[r]->row_count);
        for (int i = 0; i < now[r].row_count; i++) {
            const struct sim_paper_row *a = &before[r]->rows[i], *b = &now[r].rows[i];
            count += a->kind == SIM_PAPER_PREDICTED &&
                     fabs(b->simulated - a->simulated) > 0.01 * fabs(a->simulated);
        }
    }
    return count;
}

static void every_total_moves_predictions(void **state)
{
    (void)state;
    const size_t reals[] = {
        offsetof(struct sim_paper_inputs, macs),
        offsetof(struct sim_paper_inputs, flops_per_watt),
        offsetof(struct sim_paper_inputs, joules_ssd),
        offsetof(struct sim_paper_inputs, three_nodes),
        offsetof(struct sim_paper_inputs, rack),
        offsetof(struct sim_paper_inputs, joules_host),
        offsetof(struct sim_paper_inputs, joules_rack),
        offsetof(struct sim_paper_inputs, joules_scale),
        offsetof(struct sim_paper_inputs, parameters),
        offsetof(struct sim_paper_inputs, shuffle_parameters),
        offsetof(struct sim_paper_inputs, nets[0].parameters),
    };
    assert_int_equal(moved(&sim_paper_inputs), 0);
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
        struct sim_paper_inputs inputs = sim_paper_inputs;
        *(double *)((char *)&inputs + reals[i]) *= 0.8;
        assert_true(moved(&inputs) > 0);
    }
}

static void every_batch_moves_predictions(void **state)
{
    (void)state;
    const size_t wholes[] = {
        offsetof(struct sim_paper_inputs, batch_csd),
        offsetof(struct sim_paper_inputs, batch_half),
        offsetof(struct sim_paper_inputs, batch_most),
        offsetof(struct sim_paper_inputs, shuffle_batch_host),
        offsetof(struct sim_paper_inputs, hypertune_csds),
    };
    for (size_t i = 0; i < sizeof(wholes) / sizeof(*wholes); i++) {
        struct sim_paper_inputs inputs = sim_paper_inputs;
        int *whole = (int *)((char *)&inputs + wholes[i]);
        *whole = *whole * 9 / 10;
        assert_true(moved(&inputs) > 0);
    }
}

static void every_speed_of_a_device_moves_predictions(void **state)
{
    (void)state;
    for (int i = 0; i < devices.count; i++) {
        const struct sim_device *device = &devices.devices[i];
        bool of_papers =
            strcmp(device->name, "xeon-4108") == 0 || strcmp(device->name, "newport") == 0;
        for (int k = 0; of_papers && k < device->net_count; k++) {
            for (int s = 0; s < device->nets[k].speed_count; s++) {
                double *speed = &device->nets[k].speeds[s].images_per_s, before = *speed;
                *speed = 0.97 * before;
                assert_true(moved(&sim_paper_inputs) > 0);
                *speed = before;
            }
        }
    }
}

static void profiles_say_what_calibration_finds(void **state)
{
    (void)state;
    struct sim_paper_calibration is;
    assert_int_equal(sim_paper_calibrate(&devices, &sim_paper_inputs, &is), STN_OK);
    const struct sim_device *host = sim_devices_find(&devices, "xeon-4108");
    assert_close(host->link.bytes_per_s / is.network_bytes_per_s, 1.0, 0.01);
    assert_close((host->power.base_w + host->power.busy_w) / is.server_w, 1.0, 0.01);
    const char *const csds[] = {"newport", "laguna"};
    for (int i = 0; i < 2; i++) {
        const struct sim_device *csd = sim_devices_find(&devices, csds[i]);
        assert_close(csd->link.bytes_per_s / is.tunnel_bytes_per_s, 1.0, 0.01);
        assert_close(csd->power.busy_w / is.csd_w, 1.0, 0.02);
    }
}

static void impossible_totals_are_refused(void **state)
{
    (void)state;
    struct sim_paper_inputs inputs = sim_paper_inputs;
    struct sim_paper_calibration is;
    struct capture capture;
    inputs.rack = 200.0; // more than all nodes together
    capture_start(&capture);
    assert_int_equal(sim_paper_calibrate(&devices, &inputs, &is), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "rack 200 img/s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_within_its_bound),
        cmocka_unit_test(rows_that_are_off_are_explained),
        cmocka_unit_test(three_servers_come_out_as_reported),
        cmocka_unit_test(racks_come_out_as_reported),
        cmocka_unit_test(smaller_networks_gain_more),
        cmocka_unit_test(energy_falls_with_the_number_of_csds),
        cmocka_unit_test(figures_start_with_the_host_alone),
        cmocka_unit_test(ours_is_ahead),
        cmocka_unit_test(every_total_moves_predictions),
        cmocka_unit_test(every_batch_moves_predictions),
        cmocka_unit_test(every_speed_of_a_device_moves_predictions),
        cmocka_unit_test(profiles_say_what_calibration_finds),
        cmocka_unit_test(impossible_totals_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
