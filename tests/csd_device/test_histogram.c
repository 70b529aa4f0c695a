// SPDX-License-Identifier: Apache-2.0
// Percentiles of the load generator against sorting.
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "csd/load/histogram.h"

enum { COUNT = 10000 };

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_percentiles(void **state)
{
    (void)state;
    static struct histogram histogram;
    static uint64_t times[COUNT];
    struct base_random random = base_random_from(3);
    static const double percents[] = {0.01, 50, 90, 99, 99.9, 100};
    for (int i = 0; i < COUNT; i++) {
        times[i] = base_random_u64(&random) >> base_random_below(&random, 60);
        histogram_add(&histogram, times[i]);
    }
    qsort(times, COUNT, sizeof(times[0]), by_size);
    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        uint64_t exact = times[(size_t)(COUNT * percents[i] / 100 + 0.9999) - 1];
        uint64_t got = histogram_percentile(&histogram, percents[i]);
        assert_true(got >= exact);
        assert_true(got - exact <= exact / 32);
    }
    assert_int_equal(histogram.max_ns, times[COUNT - 1]);
    memset(&histogram, 0, sizeof(histogram));
    assert_int_equal(histogram_percentile(&histogram, 50), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_percentiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
