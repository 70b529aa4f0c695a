// SPDX-License-Identifier: Apache-2.0
// A device in a file: it comes back, one process has it at a time, and what is no medium is refused
// with one line.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csd/media/file.h"
#include "rig.h"

static void make_file(char *path, struct flash_profile *profile, struct media **out)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    *profile = tiny(FLASH_ECC_CRC);
    assert_int_equal(media_file_create(path, &profile->geometry, out), STN_OK);
}

static void test_file_medium(void **state)
{
    (void)state;
    char path[] = "/tmp/stannis-medium-XXXXXX";
    struct rig r = {0};
    make_file(path, &r.profile, &r.medium);
    assert_int_equal(flash_keys_open(NULL, true, &r.keys), STN_OK);
    assert_int_equal(flash_format(r.medium, &r.profile), STN_OK);
    rig_on(&r);
    struct flash_namespace ns = {.units = flash_units_total(r.flash)};
    assert_int_equal(flash_namespace_create(r.flash, &ns), STN_OK);
    r.id = ns.id;
    r.units = ns.units;
    for (uint32_t version = 1; version < 5; version++) {
        fill(&r, version);
    }
    flash_drop(r.flash);
    media_close(r.medium);
    assert_int_equal(media_file_open(path, &r.medium), STN_OK);
    rig_on(&r);
    expect_all(&r, 4);
    assert_int_equal(flash_trim(r.flash, r.id, 0, r.units), FLASH_OK);
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    expect_all(&r, 0);
    rig_end(&r);
    unlink(path);
}

static void test_file_is_used_once(void **state)
{
    (void)state;
    char path[] = "/tmp/stannis-medium-XXXXXX";
    struct flash_profile profile;
    struct media *medium, *second;
    make_file(path, &profile, &medium);
    pid_t child = fork();
    if (child == 0) {
        _exit(media_file_open(path, &second) == STN_OK ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    capture_begin();
    assert_int_equal(media_file_open(path, &second), STN_ERR_IO);
    assert_non_null(strstr(capture_end(), "another process has this device open"));
    media_close(medium);
    unlink(path);
}

static void expect_refused(const char *path, enum stn_status status, const char *words)
{
    struct media *medium;
    capture_begin();
    assert_int_equal(media_file_open(path, &medium), status);
    const char *line = capture_end();
    assert_non_null(strstr(line, path));
    assert_non_null(strstr(line, words));
}

static void test_foreign_and_damaged_files(void **state)
{
    (void)state;
    char path[] = "/tmp/stannis-medium-XXXXXX";
    struct flash_profile profile;
    struct media *medium;
    struct flash_profile found;
    make_file(path, &profile, &medium);
    capture_begin();
    assert_int_equal(flash_probe(medium, &found), STN_ERR_CORRUPT);
    assert_non_null(strstr(capture_end(), "not a formatted device"));
    media_close(medium);
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(truncate(path, stat_of.st_size - 4096), 0);
    expect_refused(path, STN_ERR_CORRUPT, "truncated");
    assert_int_equal(truncate(path, 100), 0);
    expect_refused(path, STN_ERR_CORRUPT, "no flash medium");
    assert_int_equal(truncate(path, stat_of.st_size), 0);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 20), 1);
    close(fd);
    expect_refused(path, STN_ERR_CORRUPT, "damaged");
    assert_int_equal(pwrite(open(path, O_WRONLY), "x", 1, 0), 1);
    expect_refused(path, STN_ERR_CORRUPT, "no flash medium");
    unlink(path);
    expect_refused(path, STN_ERR_NOT_FOUND, "No such file");
}

// A real disk that is full: a tmpfs of 512 KiB under a device that wants more, enlarged after a
// while.
static void test_full_disk(void **state)
{
    (void)state;
    char folder[] = "/tmp/stannis-disk-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", folder, "tmpfs", 0, "size=512k")) {
        rmdir(folder);
        skip(); // only root may mount
    }
    snprintf(path, sizeof(path), "%s/medium", folder);
    struct rig r = {.profile = tiny(FLASH_ECC_CRC)};
    assert_int_equal(media_file_create(path, &r.profile.geometry, &r.medium), STN_OK);
    assert_int_equal(flash_keys_open(NULL, true, &r.keys), STN_OK);
    assert_int_equal(flash_format(r.medium, &r.profile), STN_OK);
    rig_on(&r);
    struct flash_namespace ns = {.units = flash_units_total(r.flash)};
    assert_int_equal(flash_namespace_create(r.flash, &ns), STN_OK);
    r.id = ns.id;
    uint32_t done = 0, got = 0;
    enum flash_result result = FLASH_OK;
    while (!result) {
        assert_true(done < ns.units);
        result = put(&r, done, 1);
        done += !result;
    }
    assert_int_equal(result, FLASH_NO_SPACE);
    assert_true(done > 10);
    assert_int_equal(flash_flush(r.flash), FLASH_NO_SPACE);
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=16m"), 0);
    assert_int_equal(flash_flush(r.flash), FLASH_OK);
    flash_drop(r.flash);
    rig_on(&r);
    for (uint32_t lpn = 0; lpn < done; lpn++) {
        assert_int_equal(get(&r, lpn, &got), FLASH_OK);
        assert_int_equal(got, 1);
    }
    rig_end(&r);
    assert_int_equal(umount(folder), 0);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_medium),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_file_is_used_once),
        cmocka_unit_test(test_foreign_and_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
