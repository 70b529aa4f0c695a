// SPDX-License-Identifier: Apache-2.0
#include "hypertune/report.h"

#include <math.h>

// Compute time and clock are read at slightly different moments; more than this is a jump.
static const double clock_slack = 1.1, clock_slack_s = 0.01;

static bool is_duration(double seconds)
{
    return isfinite(seconds) && seconds >= 0.0;
}

static bool are_durations(const struct hypertune_report *r)
{
    return is_duration(r->compute_s) && is_duration(r->wait_s) && is_duration(r->io_s) &&
           is_duration(r->cpu_s) && is_duration(r->queue_s) && is_duration(r->throttled_s) &&
           is_duration(r->share_cpu_s) && isfinite(r->clock_s);
}

static bool has_jumped(const struct hypertune_report *r, const struct hypertune_clock *clock)
{
    double passed = r->clock_s - clock->at_s;
    return passed < 0.0 ||
           (clock->step == r->step - 1 && r->compute_s > passed * clock_slack + clock_slack_s);
}

enum hypertune_report_state hypertune_report_check(const struct hypertune_report *report,
                                                   int64_t step, struct hypertune_clock *clock)
{
    if (report->step != step) {
        return HYPERTUNE_REPORT_MISSING;
    }
    if (!are_durations(report)) {
        return HYPERTUNE_REPORT_BROKEN;
    }
    bool jumped = clock->seen && has_jumped(report, clock);
    *clock = (struct hypertune_clock){.step = step, .at_s = report->clock_s, .seen = true};
    if (jumped) {
        return HYPERTUNE_REPORT_BROKEN;
    }
    if (report->micro_batches <= 0) {
        return HYPERTUNE_REPORT_IDLE;
    }
    return report->compute_s > 0.0 ? HYPERTUNE_REPORT_USABLE : HYPERTUNE_REPORT_BROKEN;
}
