// SPDX-License-Identifier: Apache-2.0
// The mixture against a plain merge of all places, and at sizes that no merge could check.
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "plan/mixture.h"

__extension__ typedef __int128 wide;

enum { SOURCES_MAX = 8, CASES = 5000 };

struct mixture {
    int64_t counts[SOURCES_MAX];
    int sources;
    int64_t total;
};

static struct mixture mixture_random(struct base_random *random, uint64_t count_max)
{
    struct mixture m = {.sources = 1 + (int)base_random_below(random, SOURCES_MAX)};
    for (int i = 0; i < m.sources; i++) {
        bool as_before = i > 0 && base_random_below(random, 4) == 0; // ties
        m.counts[i] =
            as_before ? m.counts[i - 1] : (int64_t)base_random_below(random, count_max + 1);
        m.total += m.counts[i];
    }
    return m;
}

// The source whose next place, (2k+1)/2c, comes first.
static int merge_next(const struct mixture *m, const int64_t taken[])
{
    int first = -1;
    for (int i = 0; i < m->sources; i++) {
        if (taken[i] == m->counts[i]) {
            continue;
        }
        if (first < 0 ||
            (2 * taken[i] + 1) * m->counts[first] < (2 * taken[first] + 1) * m->counts[i]) {
            first = i;
        }
    }
    return first;
}

static void test_equals_a_plain_merge(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        struct mixture m = mixture_random(&random, n % 2 ? 6 : 60);
        int64_t expected[SOURCES_MAX] = {0}, taken[SOURCES_MAX];
        for (int64_t position = 0;; position++) {
            plan_mixture_at(m.counts, m.sources, position, taken);
            assert_memory_equal(taken, expected, (size_t)m.sources * sizeof(*taken));
            if (position == m.total) {
                break;
            }
            expected[merge_next(&m, expected)]++;
        }
        assert_memory_equal(taken, m.counts, (size_t)m.sources * sizeof(*taken));
    }
}

// |taken − position·count/total| ≤ ½ + (S − 2)/2 · count/total, times 2·total.
static void check_bound(const struct mixture *m, int64_t position, const int64_t taken[])
{
    int sources = 0;
    int64_t sum = 0;
    for (int i = 0; i < m->sources; i++) {
        sources += m->counts[i] > 0;
        sum += taken[i];
    }
    assert_true(sum == position);
    for (int i = 0; i < m->sources; i++) {
        wide off = (wide)taken[i] * m->total - (wide)position * m->counts[i];
        wide bound = m->total + (wide)(sources - 2) * m->counts[i];
        assert_true(2 * off <= bound && -2 * off <= bound);
        assert_in_range(taken[i], 0, m->counts[i]);
    }
}

static void test_large_counts_stay_exact(void **state)
{
    (void)state;
    struct base_random random = base_random_from(2);
    for (int n = 0; n < CASES; n++) {
        struct mixture m = mixture_random(&random, UINT64_C(1) << (1 + n % 40));
        int64_t position = (int64_t)base_random_below(&random, (uint64_t)m.total + 1);
        int64_t taken[SOURCES_MAX], next[SOURCES_MAX];
        plan_mixture_at(m.counts, m.sources, position, taken);
        check_bound(&m, position, taken);
        if (position < m.total) {
            int risen = 0;
            plan_mixture_at(m.counts, m.sources, position + 1, next);
            for (int i = 0; i < m.sources; i++) {
                assert_true(next[i] == taken[i] || next[i] == taken[i] + 1);
                risen += next[i] > taken[i];
            }
            assert_int_equal(risen, 1);
        }
    }
}

static void test_ends(void **state)
{
    (void)state;
    const int64_t most = INT64_C(1) << 40;
    const int64_t one[1] = {most}, none[3] = {0, 0, 0}, some[3] = {0, most, 1};
    int64_t taken[3];
    for (int64_t position = 0; position <= most; position += most / 16) {
        plan_mixture_at(one, 1, position, taken);
        assert_true(taken[0] == position);
    }
    plan_mixture_at(none, 3, 0, taken);
    assert_memory_equal(taken, none, sizeof(none));
    plan_mixture_at(some, 3, most + 1, taken);
    assert_memory_equal(taken, some, sizeof(some));
    plan_mixture_at(some, 3, most / 2 + 1, taken); // the single one comes in the middle
    assert_int_equal(taken[2], 1);
    plan_mixture_at(some, 3, most / 2, taken);
    assert_int_equal(taken[2], 0);
}

static void test_ten_thousand_sources(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    static int64_t counts[MANY], taken[MANY];
    int64_t total = 0;
    for (int i = 0; i < MANY; i++) {
        counts[i] = (INT64_C(1) << 40) - i % 7;
        total += counts[i];
    }
    plan_mixture_at(counts, MANY, total / 3, taken);
    int64_t sum = 0;
    for (int i = 0; i < MANY; i++) {
        sum += taken[i];
    }
    assert_true(sum == total / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_a_plain_merge),
        cmocka_unit_test(test_large_counts_stay_exact),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_ten_thousand_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
