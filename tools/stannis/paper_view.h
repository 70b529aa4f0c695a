// SPDX-License-Identifier: Apache-2.0
// stannis sim --paper: a paper's experiments simulated, beside what it reports.
#ifndef TOOLS_STANNIS_PAPER_VIEW_H
#define TOOLS_STANNIS_PAPER_VIEW_H

#include <stdbool.h>

#include "stannis/status.h"

struct paper_options {
    const char *paper;  // "stannis" or "hypertune"
    const char *report; // file for JSON; NULL: none
    const char *plot;   // file for the main figure; NULL: none
    bool json;          // on stdout, instead of the table
};

STN_MUST_CHECK enum stn_status paper_run(const struct paper_options *options);

#endif
