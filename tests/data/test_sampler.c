// SPDX-License-Identifier: Apache-2.0
// The order of an epoch: every sample once, epochs and seeds differ.
#include <stdlib.h>
#include <string.h>

#include "data/sampler.h"
#include "support.h"

static uint64_t sample_at(const struct data_sampler *sampler, uint64_t epoch, uint64_t position)
{
    return data_sampler_at(sampler, epoch, position).sample;
}

// Of the sample's place in a pass.
static uint64_t key_of(const struct data_sampler *sampler, uint64_t epoch, uint64_t pass,
                       uint64_t sample)
{
    uint64_t position = pass * sampler->count;
    while (sample_at(sampler, epoch, position) != sample) {
        position++;
    }
    return data_sampler_at(sampler, epoch, position).key;
}

static void test_every_sample_once(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 100, 1000, 4097, 60000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct data_sampler sampler = {.seed = 42 + i, .count = counts[i], .shuffled = true};
        uint8_t *seen = calloc(counts[i], 1);
        assert_non_null(seen);
        for (uint64_t epoch = 0; epoch < 5; epoch++) {
            for (uint64_t position = 0; position < counts[i]; position++) {
                uint64_t sample = sample_at(&sampler, epoch, position);
                assert_true(sample < counts[i]);
                assert_int_equal(seen[sample], epoch); // once in each epoch before
                seen[sample]++;
            }
        }
        free(seen);
    }
}

static void test_orders_differ(void **state)
{
    (void)state;
    struct data_sampler a = {.seed = 1, .count = 1000, .shuffled = true}, b = a;
    b.seed = 2;
    int same_epoch = 0, same_seed = 0, in_place = 0;
    for (uint64_t position = 0; position < 1000; position++) {
        uint64_t sample = sample_at(&a, 0, position);
        assert_int_equal(sample, sample_at(&a, 0, position));
        same_epoch += sample == sample_at(&a, 1, position);
        same_seed += sample == sample_at(&b, 0, position);
        in_place += sample == position;
    }
    // Chance gives one of a thousand on average.
    assert_in_range(same_epoch, 0, 10);
    assert_in_range(same_seed, 0, 10);
    assert_in_range(in_place, 0, 10);
}

static void test_unshuffled_is_identity(void **state)
{
    (void)state;
    struct data_sampler sampler = {.seed = 1, .count = 10, .shuffled = false};
    for (uint64_t position = 0; position < 10; position++) {
        assert_int_equal(sample_at(&sampler, 3, position), position);
    }
}

static void test_keys_differ_by_epoch_sample_and_seed(void **state)
{
    (void)state;
    struct data_sampler a = {.seed = 1, .count = 10, .shuffled = true}, b = a;
    b.seed = 2;
    uint64_t key = key_of(&a, 0, 0, 5);
    assert_true(key == key_of(&a, 0, 0, 5));
    assert_true(key != key_of(&a, 1, 0, 5));
    assert_true(key != key_of(&a, 0, 1, 5));
    assert_true(key != key_of(&a, 0, 0, 6));
    assert_true(key != key_of(&b, 0, 0, 5));
    a.shuffled = false; // a sample's randomness does not depend on when it comes
    assert_true(key == key_of(&a, 0, 0, 5));
}

static void test_further_passes_have_their_own_order(void **state)
{
    (void)state;
    struct data_sampler sampler = {.seed = 3, .count = 1000, .shuffled = true};
    int as_before = 0, as_next_epoch = 0;
    for (uint64_t pass = 0; pass < 4; pass++) {
        uint8_t seen[1000] = {0};
        for (uint64_t position = 0; position < 1000; position++) {
            uint64_t sample = sample_at(&sampler, 7, pass * 1000 + position);
            assert_int_equal(seen[sample]++, 0);
            as_before += pass > 0 && sample == sample_at(&sampler, 7, (pass - 1) * 1000 + position);
            as_next_epoch += pass > 0 && sample == sample_at(&sampler, 7 + pass, position);
        }
    }
    assert_in_range(as_before, 0, 20);
    assert_in_range(as_next_epoch, 0, 20);
    sampler.shuffled = false;
    assert_int_equal(sample_at(&sampler, 7, 2004), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sample_once),
        cmocka_unit_test(test_orders_differ),
        cmocka_unit_test(test_unshuffled_is_identity),
        cmocka_unit_test(test_keys_differ_by_epoch_sample_and_seed),
        cmocka_unit_test(test_further_passes_have_their_own_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
