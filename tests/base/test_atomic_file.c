// SPDX-License-Identifier: Apache-2.0
// Replacing a file: complete or not at all, also when the disk is full.
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "cmocka_all.h"
#include "train/support.h"

enum { TOO_MUCH = 1024 * 1024, ENOUGH = 64 * 1024 };

static enum stn_status replace(const char *path, const void *bytes, size_t size)
{
    struct atomic_file file;
    enum stn_status status = atomic_file_open(path, &file);
    if (status) {
        return status;
    }
    status = atomic_file_write(&file, bytes, size);
    if (status) {
        atomic_file_abort(&file);
        return status;
    }
    return atomic_file_commit(&file);
}

static void assert_holds(const char *path, const char *text)
{
    struct bytes b = file_load(path);
    assert_int_equal(b.size, strlen(text));
    assert_memory_equal(b.data, text, b.size);
    free(b.data);
}

static void replaces(void **state)
{
    (void)state;
    const char *path = in(scratch, "a");
    assert_int_equal(replace(path, "old", 3), STN_OK);
    assert_int_equal(replace(path, "newer", 5), STN_OK);
    assert_holds(path, "newer");
    assert_int_equal(directory_entries(scratch), 1);
}

static void abort_leaves_the_old(void **state)
{
    (void)state;
    const char *path = in(scratch, "a");
    assert_int_equal(replace(path, "old", 3), STN_OK);
    struct atomic_file file;
    assert_int_equal(atomic_file_open(path, &file), STN_OK);
    assert_int_equal(atomic_file_write(&file, "new", 3), STN_OK);
    assert_int_equal(directory_entries(scratch), 2);
    atomic_file_abort(&file);
    assert_holds(path, "old");
    assert_int_equal(directory_entries(scratch), 1);
}

static void works_in_the_current_directory(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(scratch), 0);
    assert_int_equal(replace("a", "here", 4), STN_OK);
    assert_holds("a", "here");
    assert_int_equal(chdir(before), 0);
    free(before);
}

// Writes "old" into `directory`, then more than fits; the old file and nothing else must be left.
static void overflow(const char *directory)
{
    static const char zeros[TOO_MUCH];
    const char *path = in(directory, "last");
    errors_reset();
    assert_int_equal(replace(path, "old", 3), STN_OK);
    assert_int_equal(replace(path, zeros, TOO_MUCH), STN_ERR_NO_SPACE);
    assert_int_equal(errors_count(), 1);
    assert_non_null(strstr(errors_last(), "no space left"));
    assert_non_null(strstr(errors_last(), directory));
    assert_non_null(strstr(errors_last(), "the previous file is intact"));
    assert_holds(path, "old");
    assert_int_equal(directory_entries(directory), 1);
    assert_int_equal(replace(path, zeros, ENOUGH / 2), STN_OK);
}

static void a_size_limit_leaves_the_old(void **state)
{
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = ENOUGH;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    overflow(scratch);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
}

// A file system of 128 KiB, in a mount namespace of our own that goes away with the process.
static void a_full_disk_leaves_the_old(void **state)
{
    (void)state;
    const char *mount_point = in(scratch, "disk");
    assert_int_equal(mkdir(mount_point, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", mount_point, "tmpfs", 0, "size=128k") != 0) {
        rmdir(mount_point);
        skip();
    }
    overflow(mount_point);
    assert_int_equal(umount(mount_point), 0);
    assert_int_equal(rmdir(mount_point), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(replaces),
        WITH_SCRATCH(abort_leaves_the_old),
        WITH_SCRATCH(works_in_the_current_directory),
        WITH_SCRATCH(a_size_limit_leaves_the_old),
        WITH_SCRATCH(a_full_disk_leaves_the_old),
    };
    return cmocka_run_group_tests_name("atomic_file", tests, NULL, NULL);
}
