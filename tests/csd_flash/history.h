// SPDX-License-Identifier: Apache-2.0
// A history: random operations on a small device of faulty memory, drawn from a seed, with power
// cut at every change of the medium. What each cut leaves is recovered on a copy, with more cuts
// within, and held against the oracle; the history itself goes on.
#ifndef TESTS_CSD_FLASH_HISTORY_H
#define TESTS_CSD_FLASH_HISTORY_H

#include "csd/flash/flash.h"

struct history_options {
    uint64_t seed;
    int quiet; // operations before the first cut, to have garbage from the beginning
    int operations;
    int units;     // the device offers about that many
    int cuts_each; // at every change of the medium
    int depth;     // cuts within what follows a cut
    enum flash_ecc ecc;
    double error_rate;
    int stripe;
};

struct history_result {
    uint64_t cuts, changes;
    char failure[300]; // "" : none
};

// The device that histories run on: of `stripe`, small enough that garbage is collected all the
// time.
struct flash_profile history_profile(const struct history_options *options);
// Stops at the first failure.
void history_run(const struct history_options *options, struct history_result *out);

#endif
