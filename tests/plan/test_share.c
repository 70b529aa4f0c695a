// SPDX-License-Identifier: Apache-2.0
// Shares of a step: every sample of every source once an epoch, whatever the splits; who gets how
// much; and that without private data the split only says who computes which micro-batch.
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "plan/share.h"

enum { NODES_MAX = 6, CASES = 4000 };

struct cluster {
    int64_t counts[1 + NODES_MAX];
    int split[NODES_MAX];
    int nodes, micro_batch, batch;
    int64_t samples;
};

static void split_draw(struct base_random *random, struct cluster *c)
{
    memset(c->split, 0, sizeof(c->split));
    for (int left = (c->batch + c->micro_batch - 1) / c->micro_batch; left > 0; left--) {
        c->split[base_random_below(random, (uint64_t)c->nodes)]++;
    }
}

static struct cluster cluster_draw(struct base_random *random, bool with_private)
{
    struct cluster c = {
        .nodes = 1 + (int)base_random_below(random, NODES_MAX),
        .micro_batch = 1 + (int)base_random_below(random, 8),
        .batch = 1 + (int)base_random_below(random, 80),
    };
    c.counts[0] = (int64_t)base_random_below(random, 400) + !with_private;
    for (int i = 1; with_private && i <= c.nodes; i++) {
        uint64_t most = (uint64_t[]){0, 5, 60, 300}[base_random_below(random, 4)];
        c.counts[i] = (int64_t)base_random_below(random, most + 1);
    }
    for (int i = 0; i <= c.nodes; i++) {
        c.samples += c.counts[i];
    }
    split_draw(random, &c);
    return c;
}

static void share(const struct cluster *c, int64_t begin, struct plan_share shares[])
{
    int64_t end = begin + c->batch < c->samples ? begin + c->batch : c->samples;
    const struct plan_step step = {.begin = begin,
                                   .end = end,
                                   .micro_batch = c->micro_batch,
                                   .split = c->split,
                                   .counts = c->counts,
                                   .nodes = c->nodes};
    plan_share_step(&step, shares);
}

// Continues where the range before ended.
static void follow(struct plan_range range, int64_t *cursor)
{
    assert_true(range.begin == *cursor && range.end >= range.begin);
    *cursor = range.end;
}

static void check_micro_batches(const struct cluster *c, const struct plan_share *whole)
{
    int64_t next_public = whole->public_range.begin, next_private = whole->private_range.begin;
    int64_t smallest = c->micro_batch, largest = 0;
    bool mixed = whole->private_range.end > whole->private_range.begin;
    assert_int_equal(whole->micro_batches,
                     (plan_share_samples(whole) + c->micro_batch - 1) / c->micro_batch);
    for (int k = 0; k < whole->micro_batches; k++) {
        struct plan_share part = plan_share_micro_batch(whole, c->micro_batch, k);
        follow(part.public_range, &next_public);
        follow(part.private_range, &next_private);
        int64_t samples = plan_share_samples(&part);
        assert_in_range(samples, 1, c->micro_batch);
        smallest = samples < smallest ? samples : smallest;
        largest = samples > largest ? samples : largest;
        bool last = k == whole->micro_batches - 1;
        assert_true(last || mixed || samples == c->micro_batch);
    }
    assert_true(next_public == whole->public_range.end);
    assert_true(next_private == whole->private_range.end);
    assert_true(!mixed || largest - smallest <= 1);
}

static void check_load(const struct cluster *c, const struct plan_share shares[])
{
    int ragged = 0;
    for (int i = 0; i < c->nodes; i++) {
        int64_t own = shares[i].private_range.end - shares[i].private_range.begin;
        int64_t all = plan_share_samples(&shares[i]);
        int64_t planned = (int64_t)c->split[i] * c->micro_batch;
        assert_true(all <= (planned > own ? planned : own));
        assert_true(c->split[i] > 0 || all == own);
        ragged += all > own && all % c->micro_batch != 0;
    }
    assert_true(ragged <= 1); // public samples fill all micro-batches but one
}

static void test_every_sample_once_with_changing_splits(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        struct cluster c = cluster_draw(&random, n % 4 != 0);
        int64_t next_public = 0, next_private[NODES_MAX] = {0};
        struct plan_share shares[NODES_MAX];
        for (int64_t begin = 0; begin < c.samples; begin += c.batch) {
            split_draw(&random, &c);
            share(&c, begin, shares);
            int64_t samples = 0;
            for (int i = 0; i < c.nodes; i++) {
                follow(shares[i].public_range, &next_public);
                follow(shares[i].private_range, &next_private[i]);
                check_micro_batches(&c, &shares[i]);
                samples += plan_share_samples(&shares[i]);
            }
            assert_true(samples == c.batch || begin + samples == c.samples);
            check_load(&c, shares);
        }
        assert_true(next_public == c.counts[0]);
        for (int i = 0; i < c.nodes; i++) {
            assert_true(next_private[i] == c.counts[1 + i]);
        }
    }
}

// Micro-batch k is positions [begin + k·g, …), and nodes get what the split says.
static void test_public_micro_batches_do_not_depend_on_the_split(void **state)
{
    (void)state;
    struct base_random random = base_random_from(2);
    for (int n = 0; n < CASES; n++) {
        struct cluster c = cluster_draw(&random, false);
        struct plan_share shares[NODES_MAX];
        for (int64_t begin = 0; begin < c.samples; begin += c.batch) {
            split_draw(&random, &c);
            share(&c, begin, shares);
            int64_t position = begin;
            for (int i = 0; i < c.nodes; i++) {
                bool full = c.samples - begin >= c.batch;
                assert_true(!full || shares[i].micro_batches == c.split[i]);
                for (int k = 0; k < shares[i].micro_batches; k++) {
                    struct plan_share part = plan_share_micro_batch(&shares[i], c.micro_batch, k);
                    assert_int_equal((position - begin) % c.micro_batch, 0);
                    follow(part.public_range, &position);
                }
            }
        }
    }
}

static void check(const struct cluster *c, int64_t begin, const int64_t expected_public[],
                  const int64_t expected_private[])
{
    struct plan_share shares[NODES_MAX] = {0};
    share(c, begin, shares);
    for (int i = 0; i < c->nodes; i++) {
        assert_int_equal(shares[i].public_range.end - shares[i].public_range.begin,
                         expected_public[i]);
        assert_int_equal(shares[i].private_range.end - shares[i].private_range.begin,
                         expected_private[i]);
    }
}

static void test_examples(void **state)
{
    (void)state;
    const int64_t none[NODES_MAX] = {0};
    struct cluster c = {.counts = {130},
                        .split = {5, 2, 1, 0},
                        .nodes = 4,
                        .micro_batch = 8,
                        .batch = 64,
                        .samples = 130};
    check(&c, 0, (const int64_t[NODES_MAX]){40, 16, 8, 0}, none);
    check(&c, 128, (const int64_t[NODES_MAX]){2, 0, 0, 0}, none);
    c.counts[0] = c.samples =
        64 + 30; // four micro-batches by 5:2:1 are 2½, 1, ½: the tie goes to node 0
    check(&c, 64, (const int64_t[NODES_MAX]){24, 6, 0, 0}, none);

    // Four micro-batches for three equal nodes: of three ties one is rounded up.
    c = (struct cluster){.counts = {64 + 32},
                         .split = {1, 1, 1},
                         .nodes = 3,
                         .micro_batch = 8,
                         .batch = 64,
                         .samples = 64 + 32};
    check(&c, 64, (const int64_t[NODES_MAX]){16, 8, 8}, none);

    // Half of the data is private to node 2: more than its eighth. The others share the rest 5:2.
    c = (struct cluster){.counts = {64, 0, 0, 64, 0},
                         .split = {5, 2, 1, 0},
                         .nodes = 4,
                         .micro_batch = 8,
                         .batch = 64,
                         .samples = 128};
    check(&c, 0, (const int64_t[NODES_MAX]){24, 8, 0, 0}, (const int64_t[NODES_MAX]){0, 0, 32, 0});
    // A little on every node, the one without a part in the split too.
    c = (struct cluster){.counts = {112, 8, 4, 2, 2},
                         .split = {5, 2, 1, 0},
                         .nodes = 4,
                         .micro_batch = 8,
                         .batch = 64,
                         .samples = 128};
    check(&c, 0, (const int64_t[NODES_MAX]){36, 14, 6, 0}, (const int64_t[NODES_MAX]){4, 2, 1, 1});
}

static void test_private_samples_are_spread_over_micro_batches(void **state)
{
    (void)state;
    const struct plan_share share = {
        .public_range = {100, 142}, .private_range = {10, 16}, .micro_batches = 3};
    for (int k = 0; k < 3; k++) {
        struct plan_share part = plan_share_micro_batch(&share, 16, k);
        assert_int_equal(part.private_range.end - part.private_range.begin, 2);
        assert_int_equal(part.public_range.begin, 100 + 14 * k);
    }
    const struct plan_share own = {.private_range = {0, 17}, .micro_batches = 2};
    struct plan_share part = plan_share_micro_batch(&own, 16, 0);
    assert_int_equal(part.private_range.end, 8); // not 16 and a lonely one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sample_once_with_changing_splits),
        cmocka_unit_test(test_public_micro_batches_do_not_depend_on_the_split),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_private_samples_are_spread_over_micro_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
