// SPDX-License-Identifier: Apache-2.0
// What the control group of this process has used and been denied so far: read between steps, so
// files stay open and a reading is two system calls. What the kernel does not tell stays 0. One
// thread.
#ifndef BASE_CGROUP_METER_H
#define BASE_CGROUP_METER_H

struct base_cgroup_meter {
    int stat;       // cpu.stat of the group; −1: there is none
    int usage;      // v1: cpuacct.usage, where that is in the same tree; else −1
    double quota_s; // v1: of a period; 0: none
};

struct base_cgroup_usage {
    double throttled_s; // stood still because the quota was used up; CPUs add up
    // Processor time of all its processes. Where v1 keeps no account: what they used at least, a
    // quota for each period in which they were throttled.
    double cpu_s;
};

// `root` as in base/cgroup.h.
void base_cgroup_meter_open(const char *root, struct base_cgroup_meter *out);
void base_cgroup_meter_close(struct base_cgroup_meter *meter);
struct base_cgroup_usage base_cgroup_meter_read(const struct base_cgroup_meter *meter);

#endif
