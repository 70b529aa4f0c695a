// SPDX-License-Identifier: Apache-2.0
// Doubles that should be equal up to rounding, or up to a part of what is expected.
#ifndef TESTS_PLAN_NEAR_H
#define TESTS_PLAN_NEAR_H

#include <math.h>

#include "cmocka_all.h"

static inline void assert_within(double value, double expected, double part)
{
    if (!(fabs(value - expected) <= part * fabs(expected))) {
        fail_msg("%.9g is not within %g of %.9g", value, part, expected);
    }
}

static inline void assert_near(double value, double expected)
{
    assert_within(value, expected, 1e-9);
}

#endif
