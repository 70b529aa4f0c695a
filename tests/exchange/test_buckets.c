// SPDX-License-Identifier: Apache-2.0
// Buckets get smaller towards the end; owners follow weights to within one bucket, and neighbours
// differ where they can.
#include <math.h>

#include "cmocka_all.h"
#include "exchange/buckets.h"

enum { NODES = 4, BUCKETS = 14 };

static void count_owned(const double *weights, int *owners, int owned[NODES])
{
    double scratch[NODES];
    size_t sizes[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
        sizes[i] = 100;
    }
    exchange_owners(BUCKETS, sizes, weights, NODES, scratch, owners);
    for (int i = 0; i < NODES; i++) {
        owned[i] = 0;
    }
    for (int i = 0; i < BUCKETS; i++) {
        assert_in_range(owners[i], 0, NODES - 1);
        owned[owners[i]]++;
    }
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(exchange_buckets(0, 10), 0);
    assert_int_equal(exchange_buckets(1, 10), 1);
    assert_int_equal(exchange_buckets(2, 1), 2);
    assert_int_equal(exchange_buckets(64, 32), 6); // 32, 16, 8, 4, 2, 2
}

// None larger than asked for, never growing, and the last one small.
static void test_sizes_fall(void **state)
{
    (void)state;
    static const size_t largest[] = {1, 2, 15, 16, 250, 1000};
    for (size_t k = 0; k < sizeof(largest) / sizeof(largest[0]); k++) {
        for (size_t count = 1; count < 4000; count += 37) {
            size_t left = count, size = largest[k];
            while (left > 0) {
                size_t next = exchange_bucket_next(left, largest[k]);
                assert_in_range(next, 1, size);
                size = next;
                left -= next;
            }
            assert_true(size <= (largest[k] + 15) / 16);
        }
    }
}

static void test_owners_follow_weights(void **state)
{
    (void)state;
    static const double weights[][NODES] = {
        {1.0, 0.25, 0.25, 0.25}, {0, 3, 0, 1}, {5, 2, 1, 0}, {1, 1, 1, 1}, {0, 0, 0, 0.1}};
    for (size_t k = 0; k < sizeof(weights) / sizeof(weights[0]); k++) {
        int owners[BUCKETS], owned[NODES];
        double total = 0;
        for (int i = 0; i < NODES; i++) {
            total += weights[k][i];
        }
        count_owned(weights[k], owners, owned);
        for (int i = 0; i < NODES; i++) {
            double claim = BUCKETS * weights[k][i] / total;
            assert_true(fabs(owned[i] - claim) < 1.0 + 1e-9);
            assert_true(weights[k][i] > 0 || owned[i] == 0);
        }
    }
}

// One large bucket weighs as much as many small ones.
static void test_owners_follow_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {80, 10, 10, 10, 10, 10, 10, 10, 10};
    int owners[9];
    double scratch[2];
    exchange_owners(9, sizes, NULL, 2, scratch, owners);
    for (int i = 1; i < 9; i++) {
        assert_int_not_equal(owners[i], owners[0]);
    }
}

static void test_neighbours_differ(void **state)
{
    (void)state;
    static const double half[NODES] = {3, 1, 1, 1};
    int owners[BUCKETS], owned[NODES];
    count_owned(half, owners, owned);
    for (int i = 1; i < BUCKETS; i++) {
        assert_int_not_equal(owners[i], owners[i - 1]);
    }
}

static void test_without_weights(void **state)
{
    (void)state;
    static const double none[NODES] = {0, -1, 0, 0};
    int owners[BUCKETS], owned[NODES];
    count_owned(NULL, owners, owned);
    assert_true(owned[0] >= 3 && owned[3] >= 3);
    count_owned(none, owners, owned);
    assert_true(owned[0] >= 3 && owned[3] >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_sizes_fall),
        cmocka_unit_test(test_owners_follow_sizes),
        cmocka_unit_test(test_owners_follow_weights),
        cmocka_unit_test(test_neighbours_differ),
        cmocka_unit_test(test_without_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
