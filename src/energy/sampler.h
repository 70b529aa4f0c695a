// SPDX-License-Identifier: Apache-2.0
// Reads a meter from time to time, in a thread of its own, so that counters do not wrap unseen and
// watts are not missed. A meter that stops answering or fails is dropped with one line, once; what
// it told until then stays, the rest is a gap, and whoever computes goes on.
//
// Lifetime: start → now × n → stop, all by one thread.
#ifndef ENERGY_SAMPLER_H
#define ENERGY_SAMPLER_H

#include "energy/meter.h"

struct energy_sampler;

// The meter is the sampler's from now on, also if this fails. `hang_s`: without an answer for so
// long a meter is dropped; 0: 2 s.
STN_MUST_CHECK enum stn_status energy_sampler_start(struct energy_meter *meter, double hang_s,
                                                    struct energy_sampler **out);
// Reads the meter once more and returns the total until now. Waits for a meter that does not answer
// once for hang_s, then never again.
struct energy_total energy_sampler_now(struct energy_sampler *sampler);
bool energy_sampler_is_dropped(struct energy_sampler *sampler);
// Processor seconds that reading has taken so far.
double energy_sampler_cpu_s(struct energy_sampler *sampler);
// NULL is fine. A thread that hangs in its meter is left behind, and frees what is its own when it
// comes back.
void energy_sampler_stop(struct energy_sampler *sampler);

#endif
