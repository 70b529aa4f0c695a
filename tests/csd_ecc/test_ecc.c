// SPDX-License-Identifier: Apache-2.0
// The code corrects every pattern of up to 40 wrong bits and never claims to have corrected more;
// the sliced encoder equals division bit by bit; the CRC is the published one.
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "csd/ecc/bch.h"
#include "csd/ecc/crc32c.h"

enum { WORD_BYTES = BCH_DATA_BYTES + BCH_META_BYTES + BCH_PARITY_BYTES };

struct word {
    uint8_t data[BCH_DATA_BYTES], meta[BCH_META_BYTES], parity[BCH_PARITY_BYTES];
};

_Static_assert(sizeof(struct word) == WORD_BYTES, "a word without holes");

static void make_word(struct base_random *random, struct word *out)
{
    for (int i = 0; i < BCH_DATA_BYTES; i++) {
        out->data[i] = (uint8_t)base_random_u64(random);
    }
    for (int i = 0; i < BCH_META_BYTES; i++) {
        out->meta[i] = (uint8_t)base_random_u64(random);
    }
    ecc_bch_encode(out->data, out->meta, out->parity);
}

// Flips `count` different bits.
static void damage(struct base_random *random, struct word *word, int count)
{
    uint64_t key = base_random_u64(random);
    for (int i = 0; i < count; i++) {
        uint64_t bit = base_permute(key, 8 * WORD_BYTES, (uint64_t)i);
        ((uint8_t *)word)[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}

static int decode(struct word *word)
{
    return ecc_bch_decode(word->data, word->meta, word->parity);
}

static void test_corrects_up_to_forty(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int count = 0; count <= BCH_BITS; count++) {
        for (int round = 0; round < 6; round++) {
            struct word right, word;
            make_word(&random, &right);
            word = right;
            damage(&random, &word, count);
            assert_int_equal(decode(&word), count);
            assert_memory_equal(&word, &right, sizeof(word));
        }
    }
}

// Bursts: 40 bits in a row, at both ends and across the seams of the parts.
static void test_corrects_bursts(void **state)
{
    (void)state;
    static const int seams[] = {0, 8 * BCH_DATA_BYTES - 20,
                                8 * (BCH_DATA_BYTES + BCH_META_BYTES) - 20, 8 * WORD_BYTES - 40};
    struct base_random random = base_random_from(2);
    for (size_t s = 0; s < sizeof(seams) / sizeof(*seams); s++) {
        struct word right, word;
        make_word(&random, &right);
        word = right;
        for (int bit = seams[s]; bit < seams[s] + BCH_BITS; bit++) {
            ((uint8_t *)&word)[bit / 8] ^= (uint8_t)(128 >> (bit % 8));
        }
        assert_int_equal(decode(&word), BCH_BITS);
        assert_memory_equal(&word, &right, sizeof(word));
    }
}

static void test_refuses_more(void **state)
{
    (void)state;
    struct base_random random = base_random_from(3);
    for (int count = BCH_BITS + 1; count < 200; count++) {
        struct word word, before;
        make_word(&random, &word);
        damage(&random, &word, count);
        before = word;
        assert_int_equal(decode(&word), -1);
        assert_memory_equal(&word, &before, sizeof(word));
    }
}

// A code word of a linear code is zero at all roots of the generator; so is the sum of two.
static void test_is_linear(void **state)
{
    (void)state;
    struct base_random random = base_random_from(4);
    struct word a, b;
    make_word(&random, &a);
    make_word(&random, &b);
    for (int i = 0; i < WORD_BYTES; i++) {
        ((uint8_t *)&a)[i] ^= ((uint8_t *)&b)[i];
    }
    assert_int_equal(decode(&a), 0);
}

// α^i by doubling: another way than the tables.
static unsigned power_of_alpha(unsigned exponent)
{
    unsigned value = 1;
    for (unsigned i = 0; i < exponent; i++) {
        value = (value << 1) ^ (value >> 13 ? 0x4443u : 0u);
    }
    return value;
}

static unsigned product(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (; b; b >>= 1, a = (a << 1) ^ (a >> 13 ? 0x4443u : 0u)) {
        sum ^= b & 1 ? a : 0;
    }
    return sum;
}

// Horner's rule over all bits of an encoded word, at α^1 … α^80: the definition of the code.
static void test_word_is_zero_at_the_roots(void **state)
{
    (void)state;
    struct base_random random = base_random_from(5);
    struct word word;
    make_word(&random, &word);
    for (unsigned root = 1; root <= 2 * BCH_BITS; root++) {
        unsigned x = power_of_alpha(root), sum = 0;
        for (int bit = 0; bit < 8 * WORD_BYTES; bit++) {
            unsigned byte = ((const uint8_t *)&word)[bit / 8];
            sum = product(sum, x) ^ ((byte >> (7 - bit % 8)) & 1u);
        }
        assert_int_equal(sum, 0);
    }
}

static void test_crc32c(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0};
    assert_int_equal(ecc_crc32c(0, "123456789", 9), 0xe3069283u); // RFC 3720, B.4 and common use
    assert_int_equal(ecc_crc32c(0, zeros, 32), 0x8a9136aau);
    assert_int_equal(ecc_crc32c(ecc_crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corrects_up_to_forty),
        cmocka_unit_test(test_corrects_bursts),
        cmocka_unit_test(test_refuses_more),
        cmocka_unit_test(test_is_linear),
        cmocka_unit_test(test_word_is_zero_at_the_roots),
        cmocka_unit_test(test_crc32c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
