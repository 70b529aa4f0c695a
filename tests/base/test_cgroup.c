// SPDX-License-Identifier: Apache-2.0
// Limits read from made-up trees: v1, v2, both at once, containers, ancestors that are tighter than
// we are.
#include "base/cgroup.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup_meter.h"
#include "base/cpu.h"
#include "cmocka_all.h"

static char root[] = "/tmp/stannis-cgroup-XXXXXX";

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static int make_tree(void **state)
{
    (void)state;
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_tree(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

// Writes root/path, making the folders on the way.
static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_limits(double quota, size_t memory)
{
    struct base_cgroup_limits limits = base_cgroup_limits(root);
    assert_true(fabs(limits.cpu_quota - quota) < 1e-9);
    assert_int_equal(limits.memory_bytes, memory);
}

#define V2_MOUNT                                                                                   \
    "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static void nothing_to_read_is_no_limit(void **state)
{
    (void)state;
    assert_limits(0, 0);
}

static void v2_max_is_no_limit(void **state)
{
    (void)state;
    put("proc/self/mountinfo", V2_MOUNT);
    put("proc/self/cgroup", "0::/user.slice\n");
    put("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/user.slice/memory.max", "max\n");
    assert_limits(0, 0);
}

static void v2_ancestors_count(void **state)
{
    (void)state;
    put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
    put("proc/self/cgroup", "0::/a/b/c\n");
    put("sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "50000 20000\n");
    put("sys/fs/cgroup/a/b/c/memory.max", "max\n");
    put("sys/fs/cgroup/a/memory.max", "1073741824\n");
    assert_limits(2.5, (size_t)1 << 30);
}

static void v1_reads_each_controller_in_its_tree(void **state)
{
    (void)state;
    put("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("proc/self/cgroup", "4:memory:/m\n3:cpuset:/\n2:cpu,cpuacct:/job/1\n0::/\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/1/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/1/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "25000\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "536870912\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_limits(0.25, (size_t)512 << 20);
}

// Without a cgroup name space a container sees the host's path, but only its own group is mounted.
static void a_container_sees_its_group_as_the_root(void **state)
{
    (void)state;
    put("proc/self/mountinfo",
        "32 31 0:29 /docker/abc /sys/fs/cgroup/my\\040cpu ro - cgroup cgroup rw,cpu\n");
    put("proc/self/cgroup", "2:cpu:/docker/abc\n");
    put("sys/fs/cgroup/my cpu/cpu.cfs_quota_us", "150000\n");
    put("sys/fs/cgroup/my cpu/cpu.cfs_period_us", "100000\n");
    assert_limits(1.5, 0);
    put("proc/self/cgroup", "2:cpu:/docker/abcdef/inner\n"); // a sibling: not below the mount
    assert_limits(1.5, 0);
    put("proc/self/cgroup", "2:cpu:/../../other\n");
    assert_limits(1.5, 0);
}

static void garbage_is_no_limit(void **state)
{
    (void)state;
    put("proc/self/mountinfo", "garbage\n - - -\n1 2 3 - cgroup2\n" V2_MOUNT);
    put("proc/self/cgroup", "nonsense\n0::/x\n");
    put("sys/fs/cgroup/x/cpu.max", "lots of it\n");
    put("sys/fs/cgroup/x/memory.max", "\n");
    assert_limits(0, 0);
    put("sys/fs/cgroup/x/cpu.max", "100000 0\n");
    assert_limits(0, 0);
}

static void threads_follow_affinity_and_quota(void **state)
{
    (void)state;
    assert_int_equal(base_cpu_threads(8, 0), 8);
    assert_int_equal(base_cpu_threads(8, 0.25), 1);
    assert_int_equal(base_cpu_threads(8, 1.5), 2);
    assert_int_equal(base_cpu_threads(8, 2.0), 2);
    assert_int_equal(base_cpu_threads(2, 16), 2);
    assert_int_equal(base_cpu_threads(0, 0), 1);
}

static void this_machine_has_a_cpu_and_memory(void **state)
{
    (void)state;
    struct base_cpu_share share = base_cpu_share();
    assert_true(share.affinity >= 1 && share.quota >= 0);
    assert_int_equal(share.threads, base_cpu_threads(share.affinity, share.quota));
    assert_true(base_memory_limit() > (size_t)1 << 20);
    assert_true(base_memory_peak() > (size_t)1 << 16);
}

static void assert_usage(const struct base_cgroup_meter *meter, double throttled_s, double cpu_s)
{
    struct base_cgroup_usage usage = base_cgroup_meter_read(meter);
    assert_true(fabs(usage.throttled_s - throttled_s) < 1e-9);
    assert_true(fabs(usage.cpu_s - cpu_s) < 1e-9);
}

static void a_v2_group_tells_its_usage(void **state)
{
    (void)state;
    struct base_cgroup_meter meter;
    put("proc/self/mountinfo", V2_MOUNT);
    put("proc/self/cgroup", "0::/a\n");
    put("sys/fs/cgroup/a/cpu.stat",
        "usage_usec 2500000\nuser_usec 1\nsystem_usec 2\nnr_periods 9\nnr_throttled 4\n"
        "throttled_usec 750000\n");
    base_cgroup_meter_open(root, &meter);
    assert_usage(&meter, 0.75, 2.5);
    put("sys/fs/cgroup/a/cpu.stat", "usage_usec 3000000\nthrottled_usec 800000\n");
    assert_usage(&meter, 0.8, 3.0); // the same file, read again
    base_cgroup_meter_close(&meter);
    assert_usage(&meter, 0, 0);
}

// Where nobody keeps account, each period that ended throttled has used its quota.
static void a_v1_group_tells_its_usage(void **state)
{
    (void)state;
    struct base_cgroup_meter meter;
    put("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    put("proc/self/cgroup", "2:cpu:/n\n");
    put("sys/fs/cgroup/cpu/n/cpu.cfs_quota_us", "5000\n");
    put("sys/fs/cgroup/cpu/n/cpu.stat",
        "nr_periods 100\nnr_throttled 40\nthrottled_time 1500000000\n");
    base_cgroup_meter_open(root, &meter);
    assert_usage(&meter, 1.5, 0.2);
    base_cgroup_meter_close(&meter);
    put("sys/fs/cgroup/cpu/n/cpuacct.usage", "700000000\n");
    base_cgroup_meter_open(root, &meter);
    assert_usage(&meter, 1.5, 0.7);
    base_cgroup_meter_close(&meter);
}

static void no_group_tells_nothing(void **state)
{
    (void)state;
    struct base_cgroup_meter meter;
    base_cgroup_meter_open(root, &meter);
    assert_usage(&meter, 0, 0);
    base_cgroup_meter_close(&meter);
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(nothing_to_read_is_no_limit),
        TREE_TEST(v2_max_is_no_limit),
        TREE_TEST(v2_ancestors_count),
        TREE_TEST(v1_reads_each_controller_in_its_tree),
        TREE_TEST(a_container_sees_its_group_as_the_root),
        TREE_TEST(garbage_is_no_limit),
        TREE_TEST(a_v2_group_tells_its_usage),
        TREE_TEST(a_v1_group_tells_its_usage),
        TREE_TEST(no_group_tells_nothing),
        cmocka_unit_test(threads_follow_affinity_and_quota),
        cmocka_unit_test(this_machine_has_a_cpu_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
