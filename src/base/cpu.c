// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

static const size_t cpus_max = 1 << 16;

static int affinity_count(void)
{
    // The kernel refuses a set smaller than its own number of CPUs.
    for (size_t cpus = 1024; cpus <= cpus_max; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) {
            break;
        }
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int error = sched_getaffinity(0, bytes, set) == 0 ? 0 : errno;
        int count = error ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (error != EINVAL) {
            return count > 0 ? count : 1;
        }
    }
    return 1;
}

int base_cpu_threads(int affinity, double quota)
{
    int threads = affinity;
    if (quota > 0 && ceil(quota) < threads) {
        threads = (int)ceil(quota);
    }
    return threads > 1 ? threads : 1;
}

struct base_cpu_share base_cpu_share(void)
{
    struct base_cpu_share share = {.affinity = affinity_count(),
                                   .quota = base_cgroup_limits("").cpu_quota};
    share.threads = base_cpu_threads(share.affinity, share.quota);
    return share;
}

size_t base_memory_limit(void)
{
    size_t limit = base_cgroup_limits("").memory_bytes;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0) {
        size_t physical = (size_t)pages * (size_t)page_bytes;
        if (limit == 0 || physical < limit) {
            limit = physical;
        }
    }
    return limit;
}

size_t base_memory_peak(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    if (!f) {
        return 0;
    }
    char line[256];
    size_t kib = 0;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "VmHWM: %zu kB", &kib) == 1) {
            break;
        }
    }
    fclose(f);
    return kib * 1024;
}
