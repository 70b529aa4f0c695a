// SPDX-License-Identifier: Apache-2.0
// What watches a training: the display or JSON on stdout, the events file, the report. One thread.
#ifndef TOOLS_STANNIS_WATCH_H
#define TOOLS_STANNIS_WATCH_H

#include <stdbool.h>

#include "report/events.h"
#include "report/fanout.h"
#include "report/progress.h"
#include "report/report.h"

enum watch_mode { WATCH_AUTO, WATCH_PLAIN, WATCH_JSON, WATCH_NONE }; // as settings_progress_names

// Zero-initialise.
struct watch {
    struct report_fanout fanout;      // makes one observer of all
    struct report_progress *progress; // NULL: nothing is displayed
    struct report_events json, events;
    struct report *report;
};

// `events` is a file, appended to when a run is resumed; or NULL. To be stopped whatever happens.
STN_MUST_CHECK enum stn_status watch_start(struct watch *w, enum watch_mode mode,
                                           const char *events, bool append);
void watch_stop(struct watch *w);

#endif
