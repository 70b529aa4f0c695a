// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"
#include "exchange/recent.h"

static void test_nothing_yet(void **state)
{
    (void)state;
    const struct exchange_recent none = {0};
    assert_true(exchange_recent_quantile(&none, 0.5) == 0);
}

static void test_quantiles(void **state)
{
    (void)state;
    struct exchange_recent recent = {0};
    for (int i = 1; i <= 10; i++) {
        exchange_recent_add(&recent, i * 7 % 11); // 1 … 10 in another order
    }
    assert_true(exchange_recent_quantile(&recent, 0) == 1);
    assert_true(exchange_recent_quantile(&recent, 0.5) == 5);
    assert_true(exchange_recent_quantile(&recent, 0.9) == 9);
    assert_true(exchange_recent_quantile(&recent, 1) == 10);
}

static void test_forgets(void **state)
{
    (void)state;
    struct exchange_recent recent = {0};
    exchange_recent_add(&recent, 1000);
    for (int i = 0; i < EXCHANGE_RECENT_MAX; i++) {
        exchange_recent_add(&recent, 2);
    }
    assert_true(exchange_recent_quantile(&recent, 1) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_yet),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
