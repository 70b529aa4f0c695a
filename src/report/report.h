// SPDX-License-Identifier: Apache-2.0
// The JSON object that remains of a run: what was trained, how, on what, how fast and how well.
// Call order: create, observe the run, write (once for each file), destroy. One thread.
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "stannis/status.h"
#include "stannis/train.h"

struct report;

STN_MUST_CHECK enum stn_status report_create(struct report **out);
void report_destroy(struct report *report);
struct stn_train_observer report_observer(struct report *report);
// Reports now, instead of after hours of training, that `path` cannot be written.
STN_MUST_CHECK enum stn_status report_check_path(const char *path);
// `ended` is how the run ended. Regular files are replaced as a whole; pipes and devices are
// written to.
STN_MUST_CHECK enum stn_status report_write(const struct report *report, const char *path,
                                            enum stn_status ended,
                                            const struct stn_train_result *result);

#endif
