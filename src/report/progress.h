// SPDX-License-Identifier: Apache-2.0
// What a person sees of a training: a block that says what runs and on what, a line that moves, a
// row for every epoch; with several nodes a row for each under the moving line, a line whenever
// work moves or a node slows down, and in the end what happened.
//
// On a terminal line and rows are redrawn in place, at most ten times a second, as wide as the
// window. Elsewhere (PLAIN) a line appears every ten seconds or tenth of an epoch, without control
// characters. Time is taken from the events themselves. Nothing is allocated after the start.
// Threads: the observer belongs to the trainer's thread; report_progress_clear may be called from
// any.
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "stannis/train.h"

enum report_progress_style { REPORT_PLAIN, REPORT_TERMINAL };

struct report_progress_options {
    FILE *stream;
    enum report_progress_style style;
    bool colour;        // escape sequences for colours (TERMINAL only)
    bool utf8;          // a smooth bar and a star
    int columns, lines; // of the terminal; 0: ask it at every redraw
};

// What suits this stream and environment: TERMINAL on a terminal that is not dumb (our own, or the
// launcher's, as STANNIS_TERMINAL tells), colour unless NO_COLOR is set.
struct report_progress_options report_progress_detect(FILE *stream);

struct report_progress;

// NULL when memory is out.
struct report_progress *report_progress_create(const struct report_progress_options *options);
void report_progress_destroy(struct report_progress *progress);
struct stn_train_observer report_progress_observer(struct report_progress *progress);
// Takes line and rows off the screen, so that a message can be printed; the next step brings it
// back.
void report_progress_clear(struct report_progress *progress);

#endif
