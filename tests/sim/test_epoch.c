// SPDX-License-Identifier: Apache-2.0
// No sample is lost: whatever the split does, and whichever nodes go, every sample of an epoch is
// computed exactly once, by a node that may read it.
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "sim/epoch.h"

enum { NODES_MAX = 9, SAMPLES_MAX = 400, SEEDS = 3000 };

struct book {
    // [source] of the mixture: which samples were computed how often. Kept ones are those up to the
    // last checkpoint, which a lost node does not undo.
    unsigned char seen[1 + NODES_MAX][SAMPLES_MAX], kept[1 + NODES_MAX][SAMPLES_MAX];
    // Where the mixture in force begins in each source.
    int64_t from[1 + NODES_MAX];
};

static void mark(struct book *book, int source, struct plan_range range)
{
    for (int64_t k = range.begin; k < range.end; k++) {
        book->seen[source][book->from[source] + k]++;
    }
}

static void split_at_random(struct base_random *random, const bool alive[], int nodes, int split[])
{
    int sum = 0;
    assert_true(nodes > 0);
    for (int i = 0; i < nodes; i++) {
        split[i] = alive[i] ? (int)base_random_below(random, 4) : 0;
        sum += split[i];
    }
    for (int i = 0; i < nodes && sum == 0; i++) {
        split[i] = alive[i];
        sum += split[i];
    }
}

static void step(struct sim_epoch *epoch, struct book *book, struct base_random *random,
                 const bool alive[], int g)
{
    int split[NODES_MAX], sum = 0;
    struct plan_share shares[NODES_MAX];
    split_at_random(random, alive, epoch->nodes, split);
    for (int i = 0; i < epoch->nodes; i++) {
        sum += split[i];
    }
    struct plan_step work = sim_epoch_step(epoch, (int64_t)sum * g, g, split);
    plan_share_step(&work, shares);
    for (int i = 0; i < epoch->nodes; i++) {
        assert_true(alive[i] || plan_share_samples(&shares[i]) == 0);
        mark(book, 0, shares[i].public_range);
        mark(book, 1 + i, shares[i].private_range);
    }
    sim_epoch_advance(epoch, &work);
    if (base_random_below(random, 3) == 0) {
        epoch->saved = epoch->position;
        memcpy(book->kept, book->seen, sizeof(book->kept));
    }
}

// Everything since the checkpoint is undone; the mixture starts anew behind it.
static void lose(struct sim_epoch *epoch, struct book *book, int node, int64_t *lost)
{
    sim_epoch_rewind(epoch);
    for (int s = 0; s <= epoch->nodes; s++) {
        book->from[s] += epoch->taken[s];
    }
    memcpy(book->seen, book->kept, sizeof(book->seen));
    sim_epoch_lose(epoch, node, lost);
}

static void every_sample_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct base_random random = base_random_from(seed);
        struct sim_node nodes[NODES_MAX] = {0};
        struct book book = {0};
        bool alive[NODES_MAX] = {false};
        int count = 2 + (int)base_random_below(&random, NODES_MAX - 1);
        for (int i = 0; i < count; i++) {
            bool has = base_random_below(&random, 2);
            nodes[i].private_samples = has ? (int64_t)base_random_below(&random, 100) : 0;
            alive[i] = true;
        }
        const struct sim_cluster cluster = {.nodes = nodes, .count = count};
        struct base_arena arena = {0};
        struct sim_epoch epoch;
        int64_t lost = 0, public_samples = 1 + (int64_t)base_random_below(&random, SAMPLES_MAX);
        assert_int_equal(sim_epoch_init(&epoch, &arena, &cluster, public_samples), STN_OK);
        sim_epoch_begin(&epoch);
        int g = 1 + (int)base_random_below(&random, 8), alive_count = count;
        while (sim_epoch_left(&epoch) > 0) {
            int victim = (int)base_random_below(&random, (uint64_t)count * 20);
            if (victim < count && alive[victim] && alive_count > 1) {
                alive[victim] = false;
                alive_count--;
                lose(&epoch, &book, victim, &lost);
            } else {
                step(&epoch, &book, &random, alive, g);
            }
        }
        int64_t missing = 0;
        for (int s = 0; s <= count; s++) {
            int64_t samples = s == 0 ? public_samples : nodes[s - 1].private_samples;
            for (int64_t k = 0; k < samples; k++) {
                assert_true(book.seen[s][k] <= 1);
                missing += book.seen[s][k] == 0;
                assert_true(book.seen[s][k] == 1 || (s > 0 && !alive[s - 1]));
            }
        }
        assert_int_equal(missing, lost);
        base_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_sample_once)};
    return cmocka_run_group_tests_name("sim_epoch", tests, NULL, NULL);
}
