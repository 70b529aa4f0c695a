// SPDX-License-Identifier: Apache-2.0
// What a person or a program sees of a simulated run: a moving line, a table, JSON, a plot.
#ifndef TOOLS_STANNIS_SIM_VIEW_H
#define TOOLS_STANNIS_SIM_VIEW_H

#include <jansson.h>

#include "report/progress.h"
#include "sim/history.h"
#include "sim/scene.h"

struct sim_view {
    const char *net;
    const struct sim_scene *scene;
    const struct sim_config *config;
    const struct sim_result *result;
    const struct sim_history *history;
    double cpu_s; // real, that the run took; 0: not to be told
};

// On stderr, once the run takes longer than a moment. Feed it with every step.
struct sim_view_progress {
    struct report_progress_options options;
    double begin_s, shown_s; // real time
    bool drawn;
};

struct sim_view_progress sim_view_progress_start(void);
void sim_view_progress_step(struct sim_view_progress *progress, const struct sim_config *config,
                            const struct sim_step *step);
void sim_view_progress_end(struct sim_view_progress *progress);

void sim_view_print(const struct sim_view *view); // to stdout
// NULL: no memory.
json_t *sim_view_json(const struct sim_view *view);
STN_MUST_CHECK enum stn_status sim_view_plot(const struct sim_view *view, const char *path);

#endif
