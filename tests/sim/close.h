// SPDX-License-Identifier: Apache-2.0
// cmocka compares floats; the simulator's numbers are doubles.
#ifndef TESTS_SIM_CLOSE_H
#define TESTS_SIM_CLOSE_H

#include <math.h>

#include "cmocka_all.h"

#define assert_close(value, expected, tolerance)                                                   \
    assert_true(fabs((value) - (expected)) <= (tolerance))

#endif
