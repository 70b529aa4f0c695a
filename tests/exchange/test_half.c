// SPDX-License-Identifier: Apache-2.0
// Half precision: every half there is, rounding to nearest even, and the CPU's own instructions
// against plain arithmetic.
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "exchange/half.h"

// What the bits mean, from the definition.
static double meaning(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits, back;
        float plain, fast[8];
        uint16_t eight[8] = {half, half, half, half, half, half, half, half};
        exchange_half_decode_plain(&half, 1, 0, &plain);
        exchange_half_decode(eight, 8, 0, fast);
        if (isnan(meaning(half))) {
            assert_true(isnan(plain) && isnan(fast[3]));
            exchange_half_encode_plain(&plain, 1, 0, &back);
            assert_true(isnan(meaning(back)));
            continue;
        }
        assert_true((double)plain == meaning(half) && fast[3] == plain);
        exchange_half_encode_plain(&plain, 1, 0, &back);
        assert_int_equal(back, half);
    }
}

// Between two neighbouring halves the middle goes to the even one, and the rest to the nearer.
static void test_rounding(void **state)
{
    (void)state;
    for (uint16_t half = 0; half < 0x7bff; half++) {
        float low = (float)meaning(half), high = (float)meaning((uint16_t)(half + 1));
        float middle = (low + high) / 2;
        float x[3] = {nextafterf(middle, low), middle, nextafterf(middle, high)};
        uint16_t out[3];
        exchange_half_encode_plain(x, 3, 0, out);
        assert_int_equal(out[0], half);
        assert_int_equal(out[1], half & 1 ? half + 1 : half);
        assert_int_equal(out[2], half + 1);
    }
    float large[2] = {65519.99F, 65520.0F};
    uint16_t out[2];
    exchange_half_encode_plain(large, 2, 0, out);
    assert_int_equal(out[0], 0x7bff);
    assert_int_equal(out[1], 0x7c00);
}

// Floats of all magnitudes, at all lengths: the vector path and its remainder give the plain bits.
static void test_same_on_every_cpu(void **state)
{
    (void)state;
    enum { COUNT = 4099 };
    static float x[COUNT], sum[COUNT], wanted[COUNT];
    static uint16_t fast[COUNT], plain[COUNT];
    uint32_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1664525 + 1013904223;
        x[i] = ldexpf((float)(random >> 8) - 8388608.0F, (int)(random % 60) - 60);
        sum[i] = (float)i;
    }
    exchange_half_encode(x, COUNT, 3, fast);
    exchange_half_encode_plain(x, COUNT, 3, plain);
    assert_memory_equal(fast, plain, sizeof(fast));
    exchange_half_decode_plain(plain, COUNT, 3, wanted);
    exchange_half_add(fast, COUNT, 3, sum);
    for (int i = 0; i < COUNT; i++) {
        assert_true(sum[i] == (float)i + wanted[i]);
    }
}

static void test_exponent(void **state)
{
    (void)state;
    float values[3] = {0};
    assert_int_equal(exchange_half_exponent(values, 3), 0);
    values[1] = -1;
    assert_int_equal(exchange_half_exponent(values, 3), 14);
    values[2] = ldexpf(1.99F, 100);
    int exponent = exchange_half_exponent(values, 3);
    float scaled = ldexpf(values[2], exponent);
    assert_true(scaled >= 16384 && scaled < 32768);
    values[2] = 0;
    values[1] = ldexpf(1, -140);
    assert_true(exchange_half_exponent(values, 3) <= 127);
    values[0] = INFINITY;
    assert_int_equal(exchange_half_exponent(values, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_same_on_every_cpu),
        cmocka_unit_test(test_exponent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
