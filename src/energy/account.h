// SPDX-License-Identifier: Apache-2.0
// Joules from readings: counters that wrap and are reset, or watts now and then. What was not seen
// is not guessed: an interval that no readings cover is a gap, and its joules are not counted.
// Pure; one thread at a time.
#ifndef ENERGY_ACCOUNT_H
#define ENERGY_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { ENERGY_CHANNELS_MAX = 64 };

// Since the beginning.
struct energy_total {
    double joules;  // of known_s
    double known_s; // that readings cover
    double gap_s;   // that they do not; the time before the first and after the last included
    int gaps;
    int64_t samples;
    double until_s; // when this was
};

struct energy_account {
    struct energy_total total;
    double gap_most_s; // readings of watts that are further apart do not tell what was in between
    double begin_s;
    double last_s; // the latest reading; before there is one: begin_s
    bool any;      // there was one
    bool in_gap;
    double watts; // latest
    uint64_t counters_uj[ENERGY_CHANNELS_MAX];
};

// A counter of a machine does not rise faster than so many watts: more is a reset, not a wrap.
#define ENERGY_COUNTER_WATTS_MOST 5000.0

struct energy_account energy_account_begin(double at_s, double gap_most_s);

// Microjoules that `count` counters have at the same moment, each of which goes back to 0 above its
// range. Adds what all of them rose; an interval in which one of them was reset, or may have
// wrapped more than once, is a gap.
void energy_account_counters(struct energy_account *account, double at_s, const uint64_t now_uj[],
                             const uint64_t range_uj[], int count);

// Watts at a moment, straight between two. Readings before the beginning tell where it began; such
// as are not later than the last one are not looked at.
void energy_account_watts(struct energy_account *account, double at_s, double watts);

// The total until now: the last watts hold for as long as a gap may be.
struct energy_total energy_account_until(const struct energy_account *account, double at_s,
                                         bool is_watts);

// What was between two totals of one account.
struct energy_total energy_total_between(const struct energy_total *from,
                                         const struct energy_total *to);
// NAN: nothing is known.
double energy_total_watts(const struct energy_total *total);

#endif
