// SPDX-License-Identifier: Apache-2.0
// What the cores could do at best: fused multiply-adds on registers, nothing else.
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

// Single-precision GFLOP/s of `threads` threads together, the best of a few short tries.
double bench_peak_gflops(int threads);

#endif
