// SPDX-License-Identifier: Apache-2.0
// The feeds of several nodes side by side: all samples once an epoch, whatever the splits do.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "crew/feed.h"

enum { NODES = 4, PUBLIC = 211, BATCH = 40, MICRO_BATCH = 5, EPOCHS = 3, SIZE = 8, SEED = 5 };

// What each node holds; the second is larger than any part of the split.
static const int private_counts[NODES] = {0, 97, 20, 3};

struct cluster {
    struct stn_dataset *open, *own[NODES]; // public and private
    struct crew_feed feeds[NODES];
    int64_t counts[1 + NODES];
    int repeat; // passes over private data in an epoch
    int split[2][NODES], split_count;
    struct {
        int open[PUBLIC], own[NODES][100];
    } seen; // in this epoch
};

static struct stn_dataset *dataset_open(int count, uint64_t seed)
{
    char spec[32];
    snprintf(spec, sizeof(spec), "synthetic:%d", count);
    const struct stn_dataset_options options = {.spec = spec, .image_size = SIZE, .seed = seed};
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    return dataset;
}

static void feed_open(struct cluster *c, int rank)
{
    int own = c->counts[1 + rank] > 0 ? private_counts[rank] : 0;
    const struct crew_feed_config config = {
        .loader = {.subset = STN_SUBSET_TRAIN,
                   .sources = {{c->open, {.seed = SEED, .count = PUBLIC, .shuffled = true}},
                               {own ? c->own[rank] : NULL,
                                {.seed = SEED + 1, .count = (uint64_t)own, .shuffled = true}}},
                   .augment = DATA_AUGMENT_FULL,
                   .micro_batch = MICRO_BATCH,
                   .threads = 1},
        .batch = BATCH,
        .nodes = NODES,
        .rank = rank,
        .counts = c->counts,
        .split = c->split[0],
        .split_count = c->split_count,
    };
    assert_int_equal(crew_feed_open(&config, &c->feeds[rank]), STN_OK);
}

// `repeat` 0: without private data.
static void cluster_open(struct cluster *c, int repeat, int split_count)
{
    *c = (struct cluster){.open = dataset_open(PUBLIC, 1),
                          .counts = {PUBLIC},
                          .repeat = repeat,
                          .split = {{5, 1, 2, 0}, {0, 4, 1, 3}},
                          .split_count = split_count};
    for (int i = 0; i < NODES; i++) {
        c->counts[1 + i] = repeat * private_counts[i];
        c->own[i] = private_counts[i] ? dataset_open(private_counts[i], 2) : NULL;
    }
    for (int i = 0; i < NODES; i++) {
        feed_open(c, i);
    }
}

static void cluster_close(struct cluster *c)
{
    for (int i = 0; i < NODES; i++) {
        crew_feed_close(&c->feeds[i]);
        stn_dataset_close(c->own[i]);
    }
    stn_dataset_close(c->open);
}

static void split_draw(struct base_random *random, int split[])
{
    memset(split, 0, NODES * sizeof(*split));
    for (int left = BATCH / MICRO_BATCH; left > 0; left--) {
        split[base_random_below(random, NODES)]++;
    }
}

// A batch's rows, its request and its labels say the same.
static void take(struct cluster *c, int rank)
{
    struct data_batch *batch;
    assert_int_equal(crew_feed_next(&c->feeds[rank], &batch), STN_OK);
    assert_int_equal(batch->count, data_request_count(&batch->request));
    for (int i = 0; i < batch->count; i++) {
        struct data_sample_id id = batch->samples[i];
        bool open = i < batch->request.part[DATA_PUBLIC].count;
        assert_int_equal(id.source, open ? DATA_PUBLIC : DATA_PRIVATE);
        assert_int_equal(batch->labels[i], id.sample % 10);
        if (open) {
            c->seen.open[id.sample]++;
        } else {
            c->seen.own[rank][id.sample]++;
        }
    }
    crew_feed_release(&c->feeds[rank], batch);
}

// Moves micro-batches that nobody has taken yet, of nodes without private samples.
static void trade_draw(struct base_random *random, const struct crew_feed *feed, int after[])
{
    memcpy(after, feed->planned, NODES * sizeof(*after));
    for (int i = 0; i < NODES; i++) {
        bool gives = crew_feed_may_give(feed, i) && base_random_below(random, 2) == 0;
        for (int left = gives ? feed->planned[i] / 2 : 0; left > 0; left--) {
            after[i]--;
            after[base_random_below(random, NODES)]++;
        }
    }
}

// A step with a trade in its middle.
static struct crew_feed_step step_traded(struct cluster *c, struct base_random *random)
{
    struct crew_feed_step first = {0};
    int after[NODES];
    for (int rank = 0; rank < NODES; rank++) {
        struct crew_feed *feed = &c->feeds[rank];
        first = crew_feed_begin_step(feed);
        for (int k = 0; k < (feed->planned[rank] + 1) / 2; k++) {
            take(c, rank);
        }
    }
    trade_draw(random, &c->feeds[0], after);
    for (int rank = 0; rank < NODES; rank++) {
        crew_feed_trade(&c->feeds[rank], after);
        while (c->feeds[rank].taken.done < after[rank]) {
            take(c, rank);
        }
    }
    return first;
}

// Takes what every node has in a step; the nodes' feeds agree where it is.
static struct crew_feed_step step(struct cluster *c, const int next_split[])
{
    struct crew_feed_step first = {0};
    for (int rank = 0; rank < NODES; rank++) {
        struct crew_feed *feed = &c->feeds[rank];
        struct crew_feed_step own = crew_feed_begin_step(feed);
        first = rank == 0 ? own : first;
        assert_true(own.epoch == first.epoch && own.begin == first.begin && own.end == first.end);
        for (int k = 0; k < own.share.micro_batches; k++) {
            if (next_split && k == own.share.micro_batches / 2) {
                crew_feed_set_split(feed, next_split); // in the middle: this step stays as it is
            }
            take(c, rank);
        }
        if (next_split) {
            crew_feed_set_split(feed, next_split);
        }
    }
    return first;
}

static void check_epoch(struct cluster *c)
{
    for (int i = 0; i < PUBLIC; i++) {
        assert_int_equal(c->seen.open[i], 1);
    }
    for (int rank = 0; rank < NODES; rank++) {
        for (int i = 0; i < private_counts[rank]; i++) {
            assert_int_equal(c->seen.own[rank][i], c->repeat);
        }
    }
    memset(&c->seen, 0, sizeof(c->seen));
}

static void run_epochs(struct cluster *c, bool change_splits)
{
    struct base_random random = base_random_from(3);
    for (int rank = 0; rank < NODES; rank++) {
        crew_feed_seek(&c->feeds[rank], 0, 0, EPOCHS);
    }
    int epochs = 0;
    while (!crew_feed_is_over(&c->feeds[0])) {
        int split[NODES];
        split_draw(&random, split);
        struct crew_feed_step done = step(c, change_splits ? split : NULL);
        if (done.end == c->feeds[0].samples) {
            check_epoch(c);
            epochs++;
        }
    }
    assert_int_equal(epochs, EPOCHS);
    for (int rank = 0; rank < NODES; rank++) {
        assert_true(crew_feed_is_over(&c->feeds[rank]));
    }
}

static void test_every_sample_once(void **state)
{
    (void)state;
    for (int repeat = 0; repeat <= 2; repeat++) {
        static struct cluster c;
        cluster_open(&c, repeat, 0);
        run_epochs(&c, true);
        cluster_close(&c);
    }
}

static void test_every_sample_once_with_trades(void **state)
{
    (void)state;
    struct base_random random = base_random_from(4);
    for (int repeat = 0; repeat <= 2; repeat++) {
        static struct cluster c;
        cluster_open(&c, repeat, 0);
        for (int rank = 0; rank < NODES; rank++) {
            crew_feed_seek(&c.feeds[rank], 0, 0, EPOCHS);
        }
        while (!crew_feed_is_over(&c.feeds[0])) {
            if (step_traded(&c, &random).end == c.feeds[0].samples) {
                check_epoch(&c);
            }
        }
        cluster_close(&c);
    }
}

static void test_a_node_without_work_keeps_pace(void **state)
{
    (void)state;
    static struct cluster c;
    cluster_open(&c, 0, 1); // the split gives the last node nothing
    run_epochs(&c, false);
    cluster_close(&c);
}

static void test_splits_take_turns(void **state)
{
    (void)state;
    static struct cluster c;
    cluster_open(&c, 1, 2);
    run_epochs(&c, false);
    cluster_close(&c);

    // Each node computes the same after a resumption: 6 steps an epoch, so epoch 1 begins with
    // the first split again, and its third step has it too.
    cluster_open(&c, 0, 2);
    for (int first = 0; first < 2; first++) {
        crew_feed_seek(&c.feeds[0], 1, first * BATCH, 2);
        for (int s = first; s < 5; s++) { // the sixth is short
            struct crew_feed_step own = crew_feed_begin_step(&c.feeds[0]);
            assert_int_equal(own.share.micro_batches, c.split[s % 2][0]);
            for (int k = 0; k < own.share.micro_batches; k++) {
                take(&c, 0);
            }
        }
    }
    cluster_close(&c);
}

// A resumed run has the same steps as one that was never interrupted, and other splits change who
// has a sample, not when it comes.
static void test_seek_continues(void **state)
{
    (void)state;
    static struct cluster c, d;
    cluster_open(&c, 1, 1);
    cluster_open(&d, 1, 1);
    for (int rank = 0; rank < NODES; rank++) {
        crew_feed_seek(&c.feeds[rank], 0, 0, 2);
    }
    step(&c, NULL);
    step(&c, NULL);
    for (int rank = 0; rank < NODES; rank++) {
        crew_feed_seek(&d.feeds[rank], 0, 2 * BATCH, 2);
        crew_feed_set_split(&d.feeds[rank], (const int[]){1, 1, 1, 5});
    }
    memset(&c.seen, 0, sizeof(c.seen));
    while (!crew_feed_is_over(&c.feeds[0])) {
        struct crew_feed_step one = step(&c, NULL), two = step(&d, NULL);
        assert_true(one.epoch == two.epoch && one.begin == two.begin && one.end == two.end);
        assert_memory_equal(&c.seen, &d.seen, sizeof(c.seen));
    }
    assert_true(crew_feed_is_over(&d.feeds[0]));
    cluster_close(&c);
    cluster_close(&d);
}

// Alone: positions in order, cut at steps and micro-batches; the last of each may be short.
static void test_one_node_reads_straight_through(void **state)
{
    (void)state;
    enum { COUNT = 103, STEP = 32, G = 12 };
    struct stn_dataset *dataset = dataset_open(COUNT, 1);
    const struct crew_feed_config config = {
        .loader = {.subset = STN_SUBSET_TRAIN,
                   .sources = {{dataset, {.seed = SEED, .count = COUNT, .shuffled = true}}},
                   .micro_batch = G,
                   .threads = 2},
        .batch = STEP,
    };
    struct crew_feed feed;
    assert_int_equal(crew_feed_open(&config, &feed), STN_OK);
    assert_int_equal(feed.samples, COUNT);
    crew_feed_seek(&feed, 1, COUNT, 3); // an epoch's end is the next one's beginning
    for (int64_t position = 0; position < COUNT;) {
        struct crew_feed_step now = crew_feed_begin_step(&feed);
        assert_int_equal(now.epoch, 2);
        assert_int_equal(now.begin, position);
        assert_int_equal(now.end, crew_feed_step_end(position, STEP, COUNT));
        for (int k = 0; k < now.share.micro_batches; k++) {
            struct data_batch *batch;
            assert_int_equal(crew_feed_next(&feed, &batch), STN_OK);
            assert_int_equal(batch->request.epoch, 2);
            assert_int_equal(batch->request.part[DATA_PUBLIC].position, position);
            assert_int_equal(batch->count, now.end - position < G ? now.end - position : G);
            position += batch->count;
            crew_feed_release(&feed, batch);
        }
        assert_int_equal(position, now.end);
    }
    assert_true(crew_feed_is_over(&feed));
    crew_feed_close(&feed);
    stn_dataset_close(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sample_once),
        cmocka_unit_test(test_every_sample_once_with_trades),
        cmocka_unit_test(test_a_node_without_work_keeps_pace),
        cmocka_unit_test(test_splits_take_turns),
        cmocka_unit_test(test_seek_continues),
        cmocka_unit_test(test_one_node_reads_straight_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
