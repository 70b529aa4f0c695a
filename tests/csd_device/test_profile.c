// SPDX-License-Identifier: Apache-2.0
// Device profiles: those built in can be built, and mistakes in files are refused with their line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "csd/device/profile.h"

static const char good[] =
    "name: mine\ntitle: my own\n"
    "geometry: {channels: 2, dies: 1, planes: 1, pages: 32, page: 8K, "
    "stripe: 2, source: mine}\n"
    "spare: {over_provisioning: 0.1, source: mine}\n"
    "wear: {endurance: 10, error_rate: 0, error_rate_worn: 0, source: mine}\n"
    "ecc: {kind: crc, source: mine}\n"
    "timing: {read_us: 1, program_us: 2, erase_us: 3, "
    "channel_bytes_per_s: 1e6, buffer_pages: 4, source: mine}\n";

static void test_built_in(void **state)
{
    (void)state;
    const char *names[CSD_PROFILES_MAX + 1];
    int count = 0;
    csd_profile_names(names);
    for (; names[count]; count++) {
        struct csd_profile profile;
        assert_int_equal(csd_profile_find(names[count], &profile), STN_OK);
        assert_string_equal(profile.name, names[count]);
        assert_int_equal(flash_profile_fit(&profile.flash, UINT64_C(4) << 30, profile.name),
                         STN_OK);
        assert_true(flash_profile_units(&profile.flash, 0) >=
                    (UINT64_C(4) << 30) / FLASH_UNIT_BYTES);
    }
    assert_int_equal(count, 3);
}

// The file with one text replaced by another.
static enum stn_status read_with(const char *from, const char *to, struct csd_profile *out)
{
    char path[] = "/tmp/stannis-profile-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    const char *at = strstr(good, from);
    assert_non_null(at);
    dprintf(fd, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    close(fd);
    enum stn_status status = csd_profile_find(path, out);
    unlink(path);
    return status;
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"page: 8K", "page: 5000", "multiple of 4K"},
        {"kind: crc", "kind: ldpc", "bch or crc"},
        {"channels: 2", "channels: 0", ":3: "},
        {"over_provisioning: 0.1", "over_provisioning: 9", ":4: "},
        {", source: mine}\nwear", "}\nwear", "does not name its source"},
        {"name: mine\n", "", "a name and a title"},
        {"stripe: 2", "strip: 2", "strip"},
        {"ecc: {kind: crc, source: mine}\n", "", "\"ecc\" is missing"},
    };
    struct csd_profile profile;
    struct capture capture;
    assert_int_equal(read_with("my own", "my own", &profile), STN_OK);
    assert_int_equal(profile.flash.units, 2);
    assert_int_equal(profile.flash.ecc, FLASH_ECC_CRC);
    assert_int_equal(profile.flash.timing.erase_ns, 3000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        capture_start(&capture);
        assert_int_equal(read_with(cases[i].from, cases[i].to, &profile), STN_ERR_INVALID);
        capture_stop();
        assert_int_equal(capture.lines, 1);
        assert_non_null(strstr(capture.last, cases[i].says));
    }
    capture_start(&capture);
    assert_int_equal(csd_profile_find("newprot", &profile), STN_ERR_NOT_FOUND);
    capture_stop();
    assert_non_null(strstr(capture.last, "did you mean newport?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_built_in),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
