// SPDX-License-Identifier: Apache-2.0
// One set-up and one tear-down for every test of a group.
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "cmocka_all.h"

static inline void fixture_for_each(struct CMUnitTest tests[], size_t count,
                                    CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = set_up;
        tests[i].teardown_func = tear_down;
    }
}

#endif
