// SPDX-License-Identifier: Apache-2.0
// How much of this machine is ours.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stddef.h>

struct base_cpu_share {
    int affinity; // CPUs we may run on
    double quota; // CPUs' worth of time the cgroup (v1 or v2) grants; 0: no limit
    int threads;  // what follows: at least 1
};

struct base_cpu_share base_cpu_share(void);
// As many threads as CPUs, but no more than the quota (0: none) can keep busy: a quota of 0.25
// gives 1, 1.5 gives 2.
int base_cpu_threads(int affinity, double quota);
// The smallest of the cgroup's memory limit and physical memory, in bytes; 0 if neither can be
// read.
size_t base_memory_limit(void);
// High-water mark of resident memory, in bytes.
size_t base_memory_peak(void);

#endif
