// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <stdio.h>
#include <unistd.h>

#include "stannis/log.h"

// Messages go above the moving line.
static void sink(void *context, enum stn_log_level level, const char *line)
{
    static const char *const prefixes[] = {"stannis: error: ", "stannis: warning: ", "",
                                           "stannis: debug: "};
    report_progress_clear(context);
    fprintf(stderr, "%s%s\n", prefixes[level], line);
}

static enum stn_status start_progress(struct watch *w, enum watch_mode mode)
{
    if (mode == WATCH_NONE) {
        return STN_OK;
    }
    if (mode == WATCH_JSON) {
        enum stn_status status = report_events_attach(&w->json, STDOUT_FILENO, "standard output");
        report_fanout_add(&w->fanout, report_events_observer(&w->json));
        return status;
    }
    struct report_progress_options look = report_progress_detect(stderr);
    if (mode == WATCH_PLAIN) {
        look.style = REPORT_PLAIN;
        look.colour = false;
    }
    w->progress = report_progress_create(&look);
    if (!w->progress) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the progress display");
    }
    report_fanout_add(&w->fanout, report_progress_observer(w->progress));
    stn_log_set_sink(sink, w->progress);
    return STN_OK;
}

enum stn_status watch_start(struct watch *w, enum watch_mode mode, const char *events, bool append)
{
    enum stn_status status = report_create(&w->report);
    if (status != STN_OK) {
        return status;
    }
    report_fanout_add(&w->fanout, report_observer(w->report));
    if (events) {
        status = report_events_open(&w->events, events, append);
        if (status != STN_OK) {
            return status;
        }
        report_fanout_add(&w->fanout, report_events_observer(&w->events));
    }
    return start_progress(w, mode);
}

void watch_stop(struct watch *w)
{
    stn_log_set_sink(NULL, NULL);
    report_progress_destroy(w->progress);
    report_events_close(&w->json);
    report_events_close(&w->events);
    report_destroy(w->report);
}
