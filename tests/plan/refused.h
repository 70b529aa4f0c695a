// SPDX-License-Identifier: Apache-2.0
// What the tests of plan/ share.
#ifndef TESTS_PLAN_REFUSED_H
#define TESTS_PLAN_REFUSED_H

#include <string.h>

#include "capture.h"
#include "cmocka_all.h"

// Ends the catching: one line was said, and it has this in it.
static inline void assert_said(const struct capture *capture, const char *expected)
{
    capture_stop();
    assert_int_equal(capture->lines, 1);
    if (!strstr(capture->last, expected)) {
        fail_msg("'%s' does not say '%s'", capture->last, expected);
    }
}

#endif
