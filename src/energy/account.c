// SPDX-License-Identifier: Apache-2.0
#include "energy/account.h"

#include <math.h>
#include <string.h>

struct energy_account energy_account_begin(double at_s, double gap_most_s)
{
    return (struct energy_account){
        .total.until_s = at_s, .gap_most_s = gap_most_s, .begin_s = at_s, .last_s = at_s};
}

static void add_gap(struct energy_account *account, double seconds)
{
    account->total.gap_s += seconds;
    account->total.gaps += seconds > 0.0 && !account->in_gap;
    account->in_gap = seconds > 0.0 || account->in_gap;
}

static void add_known(struct energy_account *account, double seconds, double joules)
{
    account->total.known_s += seconds;
    account->total.joules += joules;
    account->in_gap = false;
}

// ---- counters ----------------------------------------------------------------------------------

// False: it cannot have risen like that.
static bool rise_of(uint64_t before_uj, uint64_t now_uj, uint64_t range_uj, double seconds,
                    double *joules)
{
    if (range_uj == 0 || before_uj > range_uj || now_uj > range_uj) {
        return false;
    }
    uint64_t rise_uj = now_uj >= before_uj ? now_uj - before_uj : range_uj - before_uj + now_uj + 1;
    *joules = 1e-6 * (double)rise_uj;
    return rise_uj <= range_uj / 2 && *joules <= ENERGY_COUNTER_WATTS_MOST * seconds;
}

void energy_account_counters(struct energy_account *account, double at_s, const uint64_t now_uj[],
                             const uint64_t range_uj[], int count)
{
    double seconds = at_s - account->last_s, joules = 0.0;
    bool known = account->any;
    if (account->any && seconds <= 0.0) {
        return; // a counter is read again in the same moment
    }
    for (int i = 0; i < count; i++) {
        double rise_j = 0.0;
        known = known && rise_of(account->counters_uj[i], now_uj[i], range_uj[i], seconds, &rise_j);
        joules += rise_j;
        account->counters_uj[i] = now_uj[i];
    }
    if (known) {
        add_known(account, seconds, joules);
    } else {
        add_gap(account, seconds);
    }
    account->any = true;
    account->last_s = at_s;
    account->total.until_s = at_s;
    account->total.samples++;
}

// ---- watts -------------------------------------------------------------------------------------

static void first_watts(struct energy_account *account, double at_s)
{
    if (at_s > account->begin_s) {
        add_gap(account, at_s - account->begin_s);
    }
}

static void next_watts(struct energy_account *account, double at_s, double watts)
{
    double seconds = at_s - account->last_s;
    double from_s = fmax(account->last_s, account->begin_s);
    if (at_s <= account->begin_s) {
        return;
    }
    if (seconds > account->gap_most_s) {
        add_gap(account, at_s - from_s);
        return;
    }
    double slope = (watts - account->watts) / seconds;
    double from_w = account->watts + slope * (from_s - account->last_s);
    add_known(account, at_s - from_s, 0.5 * (from_w + watts) * (at_s - from_s));
}

void energy_account_watts(struct energy_account *account, double at_s, double watts)
{
    if (account->any && at_s <= account->last_s) {
        return;
    }
    if (account->any) {
        next_watts(account, at_s, watts);
    } else {
        first_watts(account, at_s);
    }
    account->any = true;
    account->last_s = at_s;
    account->watts = watts;
    account->total.samples += at_s >= account->begin_s;
    account->total.until_s = fmax(at_s, account->begin_s);
}

// ---- totals ------------------------------------------------------------------------------------

struct energy_total energy_account_until(const struct energy_account *account, double at_s,
                                         bool is_watts)
{
    struct energy_account copy = *account;
    double from_s = fmax(account->any ? account->last_s : account->begin_s, account->begin_s);
    double seconds = at_s - from_s;
    if (seconds > 0.0) {
        bool holds = is_watts && account->any && at_s - account->last_s <= account->gap_most_s;
        if (holds) {
            add_known(&copy, seconds, account->watts * seconds);
        } else {
            add_gap(&copy, seconds);
        }
        copy.total.until_s = at_s;
    }
    return copy.total;
}

struct energy_total energy_total_between(const struct energy_total *from,
                                         const struct energy_total *to)
{
    return (struct energy_total){
        .joules = to->joules - from->joules,
        .known_s = to->known_s - from->known_s,
        .gap_s = to->gap_s - from->gap_s,
        .gaps = to->gaps - from->gaps,
        .samples = to->samples - from->samples,
        .until_s = to->until_s,
    };
}

double energy_total_watts(const struct energy_total *total)
{
    return total->known_s > 0.0 ? total->joules / total->known_s : NAN;
}
