// SPDX-License-Identifier: Apache-2.0
// Where groups are made and what is written into them, in made-up trees; and the arithmetic of
// shares.
#include "emulate/group.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "emulate/membership.h"
#include "emulate/quota.h"

static char root[] = "/tmp/stannis-emulate-XXXXXX";
static const double cpus[] = {1.5, 0.25, 0.01};
static const struct emulate_shares shares = {cpus, 3, .fit = true};

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

// root/path, with the folders on the way made.
static const char *at(const char *path)
{
    static char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    return full;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(at(path), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_file(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX + 64], got[128] = "";
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fgets(got, sizeof(got), f) != NULL);
    fclose(f);
    assert_string_equal(got, text);
}

// PARENT/stannis.PID.START, ours.
static void assert_dir(const struct emulate_group *group, const char *parent)
{
    char expected[PATH_MAX];
    snprintf(expected, sizeof(expected), "%s/%s/stannis.%d.%" PRIu64, root, parent, getpid(),
             emulate_start_time(getpid()));
    assert_string_equal(group->dir, expected);
}

#define V1_MOUNT "30 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
#define V2_MOUNT "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"

static void v1_groups_are_below_our_own(void **state)
{
    (void)state;
    struct emulate_group group;
    put("proc/self/mountinfo", V1_MOUNT);
    put("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/\n");
    put("sys/fs/cgroup/cpu/job/cgroup.procs", "");
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_CGROUP_V1);
    assert_dir(&group, "sys/fs/cgroup/cpu/job");
    assert_file(group.dir, "0/cpu.cfs_quota_us", "30000");
    assert_file(group.dir, "0/cpu.cfs_period_us", "20000");
    assert_file(group.dir, "1/cpu.cfs_quota_us", "5000");
    assert_file(group.dir, "2/cpu.cfs_quota_us", "1000");
    assert_file(group.dir, "2/cpu.cfs_period_us", "100000");
    assert_file(group.dir, "0/cpu.cfs_burst_us", "0");
    assert_file(group.dir, "cpu.shares", "54498"); // 53.2 processes
    assert_file(group.dir, "1/cpu.shares", "3200");
    assert_true(emulate_group_enter(group.dir, 1, 4711));
    assert_file(group.dir, "1/cgroup.procs", "4711");
    assert_false(emulate_group_enter(group.dir, 3, 4711));
}

static void shares_that_do_not_fit_the_cores_get_longer_periods(void **state)
{
    (void)state;
    static const double thirds[] = {0.6, 0.6, 0.6};
    const struct emulate_shares tight = {thirds, 3, emulate_shares_fit(thirds, 3, 2)};
    struct emulate_group group;
    put("proc/self/mountinfo", V1_MOUNT V2_MOUNT);
    put("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/\n");
    put("sys/fs/cgroup/cpu/job/cgroup.procs", "");
    emulate_group_make(root, &tight, &group);
    assert_file(group.dir, "2/cpu.cfs_quota_us", "24000");
    assert_file(group.dir, "2/cpu.cfs_period_us", "40000");
    assert_file(group.dir, "2/cpu.cfs_burst_us", "2400");
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cgroup.procs", "");
    emulate_group_make(root, &tight, &group);
    assert_file(group.dir, "2/cpu.max", "24000 40000");
    assert_file(group.dir, "2/cpu.max.burst", "2400");
}

static void programs_that_interfere_have_their_part(void **state)
{
    (void)state;
    struct emulate_group group;
    char other[PATH_MAX + 8];
    put("proc/self/mountinfo", V1_MOUNT);
    put("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/\n");
    put("sys/fs/cgroup/cpu/job/cgroup.procs", "");
    emulate_group_make(root, &shares, &group);
    assert_false(emulate_group_enter_load(group.dir, 1, 4711)); // not made yet
    assert_true(emulate_group_set_load(group.dir, 1, 0.75));
    assert_file(group.dir, "1/load/cpu.cfs_quota_us", "3750"); // of 5000
    assert_file(group.dir, "1/load/cpu.cfs_period_us", "20000");
    assert_true(emulate_group_set_load(group.dir, 1, 0.5)); // one of them has ended
    assert_file(group.dir, "1/load/cpu.cfs_quota_us", "2500");
    assert_true(emulate_group_enter_load(group.dir, 1, 4711));
    assert_file(group.dir, "1/load/cgroup.procs", "4711");
    assert_false(emulate_group_set_load(group.dir, 7, 0.5)); // there is no such node
    snprintf(other, sizeof(other), "%s/7", group.dir);
    assert_int_equal(access(other, F_OK), -1);
}

static void shares_fit_when_cores_can_be_dealt_out(void **state)
{
    (void)state;
    assert_true(emulate_shares_fit((const double[]){1.0, 0.25, 0.25, 0.25}, 4, 2));
    assert_true(emulate_shares_fit((const double[]){0.2, 0.5, 0.9}, 3, 2));
    assert_true(emulate_shares_fit((const double[]){0.1, 0.2, 0.3, 0.4, 0.5, 0.5}, 6, 2));
    assert_true(emulate_shares_fit((const double[]){2.0, 1.5, 0.5}, 3, 4));
    assert_true(emulate_shares_fit((const double[]){0.0, 0.0}, 2, 1)); // nobody is confined
    assert_true(emulate_shares_fit(NULL, 0, 1));
    assert_false(emulate_shares_fit((const double[]){0.6, 0.6, 0.6}, 3, 2));
    assert_false(emulate_shares_fit((const double[]){2.6, 1.6, 1.6}, 3, 5));
    assert_false(emulate_shares_fit((const double[]){3.0}, 1, 2));
}

// A node that cannot make up for a wait goes first.
static void whole_cores_weigh_most(void **state)
{
    (void)state;
    assert_true(fabs(emulate_weight_of(1.0) - 200) < 1e-6);
    assert_true(fabs(emulate_weight_of(2.0) - 400) < 1e-6);
    assert_true(fabs(emulate_weight_of(0.25) - 3.125) < 1e-9);
    for (int percent = 1; percent < 100; percent++) {
        assert_true(emulate_weight_of(percent * 0.01) < emulate_weight_of((percent + 1) * 0.01));
    }
}

static void v2_groups_are_below_our_own_where_it_may_share_out(void **state)
{
    (void)state;
    struct emulate_group group;
    put("proc/self/mountinfo", V2_MOUNT);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cgroup.procs", "");
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_CGROUP_V2);
    assert_dir(&group, "sys/fs/cgroup");
    assert_file(root, "sys/fs/cgroup/cgroup.subtree_control", "+cpu");
    assert_file(group.dir, "cgroup.subtree_control", "+cpu");
    assert_file(group.dir, "1/cpu.max", "5000 20000");
    assert_file(group.dir, "2/cpu.max", "1000 100000");
    assert_file(group.dir, "cpu.weight", "5322");
    assert_file(group.dir, "1/cpu.weight", "313");
}

static void v2_groups_are_beside_our_own_where_it_may_not(void **state)
{
    (void)state;
    struct emulate_group group;
    put("proc/self/mountinfo", V2_MOUNT);
    put("proc/self/cgroup", "0::/user/shell.scope\n");
    put("sys/fs/cgroup/user/cgroup.procs", "");
    put("sys/fs/cgroup/user/shell.scope/cgroup.procs", "");
    // A folder of that name cannot be written to: what the kernel says of a group that has
    // processes.
    at("sys/fs/cgroup/user/shell.scope/cgroup.subtree_control/x");
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_CGROUP_V2);
    assert_dir(&group, "sys/fs/cgroup/user");
}

static void without_a_place_there_is_pacing(void **state)
{
    (void)state;
    struct emulate_group group;
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_PACING);
    // Ours, but nobody may be moved.
    put("proc/self/mountinfo", V1_MOUNT V2_MOUNT);
    put("proc/self/cgroup", "3:cpu:/\n0::/\n");
    at("sys/fs/cgroup/cpu/x");
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_PACING);
    assert_string_equal(group.dir, "");
}

static bool exists(const char *path)
{
    return access(at(path), F_OK) == 0;
}

static void groups_of_the_dead_are_swept(void **state)
{
    (void)state;
    struct emulate_group group;
    char living[128], reused[128];
    put("proc/self/mountinfo", V1_MOUNT);
    put("proc/self/cgroup", "3:cpu:/\n");
    put("sys/fs/cgroup/cpu/cgroup.procs", "");
    // The start time tells a launcher from a later process of the same number.
    uint64_t start = emulate_start_time(getppid());
    snprintf(living, sizeof(living), "sys/fs/cgroup/cpu/stannis.%d.%" PRIu64, getppid(), start);
    snprintf(reused, sizeof(reused), "sys/fs/cgroup/cpu/stannis.%d.%" PRIu64, getppid(), start + 1);
    assert_int_equal(mkdir(at(living), 0755), 0);
    assert_int_equal(mkdir(at(reused), 0755), 0);
    assert_int_equal(mkdir(at("sys/fs/cgroup/cpu/stannis.999999999.7"), 0755), 0);
    assert_int_equal(mkdir(at("sys/fs/cgroup/cpu/stannis.999999999.7/0"), 0755), 0);
    assert_int_equal(mkdir(at("sys/fs/cgroup/cpu/stannis.x"), 0755), 0);
    emulate_group_make(root, &shares, &group);
    assert_int_equal(group.method, EMULATE_CGROUP_V1);
    assert_true(exists(living));
    assert_false(exists(reused));
    assert_false(exists("sys/fs/cgroup/cpu/stannis.999999999.7"));
    assert_true(exists("sys/fs/cgroup/cpu/stannis.x"));
}

static void start_times_are_those_of_proc(void **state)
{
    (void)state;
    assert_true(emulate_start_time(getpid()) >= emulate_start_time(getppid()));
    assert_true(emulate_start_time(getpid()) > 0);
    assert_true(emulate_start_time(999999999) == 0);
}

static void a_child_reads_its_place(void **state)
{
    (void)state;
    struct emulate_membership m;
    const char *text = "v1:0=1,12=0.25:/sys/fs/a:b";
    assert_true(emulate_membership_parse(text, 12, &m));
    assert_int_equal(m.method, EMULATE_CGROUP_V1);
    assert_true(m.cpus == 0.25);
    assert_string_equal(m.dir, "/sys/fs/a:b");
    assert_true(emulate_membership_parse(text, 1, &m)); // not confined
    assert_true(m.cpus == 0);
    assert_true(emulate_membership_parse("pacing:3=0.5:", 3, &m));
    assert_int_equal(m.method, EMULATE_PACING);
    assert_true(m.cpus == 0.5);
    static const char *const wrong[] = {"", "v3:0=1:/x", "v1", "v1:0=1", "v1:0=-1:/x", "v1:a:/x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(emulate_membership_parse(wrong[i], 0, &m));
    }
}

static void pauses_follow_from_the_share(void **state)
{
    (void)state;
    assert_int_equal(emulate_pause_ns(1000, 1000, 0.25), 3000);
    assert_int_equal(emulate_pause_ns(1000, 5000, 0.25), 0);
    assert_int_equal(emulate_pause_ns(2000, 1000, 1), 1000); // two threads on one CPU's worth
    assert_int_equal(emulate_pause_ns(2000, 1000, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(v1_groups_are_below_our_own, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(shares_that_do_not_fit_the_cores_get_longer_periods,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(programs_that_interfere_have_their_part, make_tree,
                                        remove_tree),
        cmocka_unit_test(whole_cores_weigh_most),
        cmocka_unit_test(shares_fit_when_cores_can_be_dealt_out),
        cmocka_unit_test_setup_teardown(v2_groups_are_below_our_own_where_it_may_share_out,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(v2_groups_are_beside_our_own_where_it_may_not, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(without_a_place_there_is_pacing, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(groups_of_the_dead_are_swept, make_tree, remove_tree),
        cmocka_unit_test(start_times_are_those_of_proc),
        cmocka_unit_test(a_child_reads_its_place),
        cmocka_unit_test(pauses_follow_from_the_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
