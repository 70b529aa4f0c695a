// SPDX-License-Identifier: Apache-2.0
#include "train/feed.h"

#include <stddef.h>

// Batches in flight besides the one each worker is filling: enough to bridge an optimizer step or a
// slow file.
enum { DEPTH_SPARE = 4 };

int64_t train_step_end(int64_t position, int batch, int64_t samples)
{
    int64_t end = (position / batch + 1) * batch;
    return end < samples ? end : samples;
}

enum stn_status train_feed_open(struct stn_dataset *dataset,
                                const struct data_loader_config *config, int batch,
                                struct train_feed *out)
{
    struct data_loader_config loader = *config;
    loader.depth = DEPTH_SPARE + loader.threads;
    *out = (struct train_feed){.samples = (int64_t)loader.sampler.count,
                               .batch = batch,
                               .micro_batch = loader.micro_batch};
    return data_loader_create(dataset, &loader, &out->loader);
}

void train_feed_close(struct train_feed *feed)
{
    data_loader_destroy(feed->loader);
    feed->loader = NULL;
}

static struct data_request request_ahead(const struct train_feed *feed)
{
    int64_t position = feed->ahead.position;
    int64_t left = train_step_end(position, feed->batch, feed->samples) - position;
    return (struct data_request){
        .epoch = (uint64_t)feed->ahead.epoch,
        .position = (uint64_t)position,
        .count = left < feed->micro_batch ? (int)left : feed->micro_batch,
    };
}

static void top_up(struct train_feed *feed)
{
    while (feed->ahead.epoch < feed->ahead.epochs) {
        struct data_request request = request_ahead(feed);
        if (!data_loader_request(feed->loader, request)) {
            return;
        }
        feed->ahead.position += request.count;
        if (feed->ahead.position == feed->samples) {
            feed->ahead.position = 0;
            feed->ahead.epoch++;
        }
    }
}

void train_feed_seek(struct train_feed *feed, int epoch, int64_t position, int epochs)
{
    data_loader_cancel(feed->loader);
    bool at_end = position == feed->samples;
    feed->ahead.epoch = at_end ? epoch + 1 : epoch;
    feed->ahead.position = at_end ? 0 : position;
    feed->ahead.epochs = epochs;
    top_up(feed);
}

enum stn_status train_feed_next(struct train_feed *feed, struct data_batch **out)
{
    return data_loader_next(feed->loader, out);
}

void train_feed_release(struct train_feed *feed, struct data_batch *batch)
{
    data_loader_release(feed->loader, batch);
    top_up(feed);
}
