// SPDX-License-Identifier: Apache-2.0
#include "crew/feed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "plan/trade.h"

// Batches in flight besides the one each worker is filling: enough to bridge an optimizer step or a
// slow file.
enum { DEPTH_SPARE = 4 };

int64_t crew_feed_step_end(int64_t position, int batch, int64_t samples)
{
    int64_t end = (position / batch + 1) * batch;
    return end < samples ? end : samples;
}

// ---- opening -----------------------------------------------------------------------------------

static void settle_alone(struct crew_feed *feed, const struct data_loader_config *loader)
{
    for (int source = 0; source < DATA_SOURCES; source++) {
        feed->counts[source] = (int64_t)loader->sources[source].sampler.count;
    }
    feed->splits[0] = (feed->batch + feed->micro_batch - 1) / feed->micro_batch;
}

static void settle_cluster(struct crew_feed *feed, const struct crew_feed_config *config)
{
    memcpy(feed->counts, config->counts, (size_t)(1 + feed->nodes) * sizeof(*feed->counts));
    memcpy(feed->splits, config->split,
           (size_t)feed->split_count * (size_t)feed->nodes * sizeof(*feed->splits));
}

enum stn_status crew_feed_open(const struct crew_feed_config *config, struct crew_feed *out)
{
    struct data_loader_config loader = config->loader;
    loader.depth = DEPTH_SPARE + loader.threads + (config->held > 1 ? config->held - 1 : 0);
    bool alone = config->nodes == 0;
    *out = (struct crew_feed){.batch = config->batch,
                              .micro_batch = loader.micro_batch,
                              .depth = loader.depth,
                              .nodes = alone ? 1 : config->nodes,
                              .rank = alone ? 0 : config->rank,
                              .split_count =
                                  alone || config->split_count == 0 ? 1 : config->split_count};
    out->counts = calloc((size_t)out->nodes + 1, sizeof(*out->counts));
    out->splits = calloc((size_t)out->split_count * (size_t)out->nodes, sizeof(*out->splits));
    out->shares = calloc((size_t)out->nodes, sizeof(*out->shares));
    out->current = calloc((size_t)out->nodes, sizeof(*out->current));
    out->planned = calloc((size_t)out->nodes, sizeof(*out->planned));
    if (!out->counts || !out->splits || !out->shares || !out->current || !out->planned) {
        crew_feed_close(out);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the plan of %d nodes", config->nodes);
    }
    if (alone) {
        settle_alone(out, &loader);
    } else {
        settle_cluster(out, config);
    }
    for (int i = 0; i <= out->nodes; i++) {
        out->samples += out->counts[i];
    }
    enum stn_status status = data_loader_create(&loader, &out->loader);
    if (status) {
        crew_feed_close(out);
    }
    return status;
}

void crew_feed_close(struct crew_feed *feed)
{
    data_loader_destroy(feed->loader);
    free(feed->planned);
    free(feed->current);
    free(feed->shares);
    free(feed->splits);
    free(feed->counts);
    *feed = (struct crew_feed){0};
}

// ---- places ------------------------------------------------------------------------------------

const int *crew_feed_split_at(const struct crew_feed *feed, int64_t step)
{
    return feed->splits + (size_t)(step % feed->split_count) * (size_t)feed->nodes;
}

// The number of the step over all epochs. It follows from the position alone, so a resumed run goes
// on with the right one of several splits.
static int64_t step_number(const struct crew_feed *feed, const struct crew_feed_step *step)
{
    int64_t in_epoch = (feed->samples + feed->batch - 1) / feed->batch;
    return step->epoch * in_epoch + step->begin / feed->batch;
}

// Whether work is left at or after this place. The end of an epoch is the beginning of the next.
static bool has_next(const struct crew_feed *feed, const struct crew_feed_place *place)
{
    const struct crew_feed_step *step = &place->step;
    return (step->end < feed->samples ? step->epoch : step->epoch + 1) < feed->epochs;
}

static void move_on(struct crew_feed *feed, struct crew_feed_place *place)
{
    struct crew_feed_step *step = &place->step;
    bool wrap = step->end == feed->samples;
    step->epoch += wrap;
    step->begin = wrap ? 0 : step->end;
    step->end = crew_feed_step_end(step->begin, feed->batch, feed->samples);
    const struct plan_step plan = {
        .begin = step->begin,
        .end = step->end,
        .micro_batch = feed->micro_batch,
        .split = crew_feed_split_at(feed, step_number(feed, step)),
        .counts = feed->counts,
        .nodes = feed->nodes,
    };
    plan_share_step(&plan, feed->shares);
    step->share = feed->shares[feed->rank];
    place->number++;
    place->done = 0;
    place->count = step->share.micro_batches;
}

// ---- asking ahead ------------------------------------------------------------------------------

// The part of the place's micro-batch. Beyond the node's own number they are other nodes', which a
// trade has given to it.
static struct plan_share part_at(const struct crew_feed *feed, const struct crew_feed_place *place)
{
    const struct plan_share *share = &place->step.share;
    if (place->done < share->micro_batches) {
        return plan_share_micro_batch(share, feed->micro_batch, place->done);
    }
    struct plan_trade_gift gift = plan_trade_find(feed->planned, feed->after, feed->nodes,
                                                  feed->rank, place->done - share->micro_batches);
    return plan_share_micro_batch(&feed->current[gift.giver], feed->micro_batch, gift.index);
}

static struct data_request request_for(const struct crew_feed *feed,
                                       const struct crew_feed_place *place)
{
    struct plan_share part = part_at(feed, place);
    const struct plan_range *ranges[DATA_SOURCES] = {&part.public_range, &part.private_range};
    struct data_request request = {.epoch = (uint64_t)place->step.epoch};
    for (int source = 0; source < DATA_SOURCES; source++) {
        request.part[source].position = (uint64_t)ranges[source]->begin;
        request.part[source].count = (int)(ranges[source]->end - ranges[source]->begin);
    }
    return request;
}

// Asks the loader for micro-batches ahead. It looks `depth` steps ahead and no further: a node
// without work would otherwise look through all epochs to come.
static void top_up(struct crew_feed *feed)
{
    struct crew_feed_place *asked = &feed->asked;
    for (;;) {
        if (asked->done < asked->count) {
            if (!data_loader_request(feed->loader, request_for(feed, asked))) {
                return;
            }
            asked->done++;
        } else if (has_next(feed, asked) && asked->number <= feed->taken.number + feed->depth) {
            move_on(feed, asked);
        } else {
            return;
        }
    }
}

void crew_feed_seek(struct crew_feed *feed, int epoch, int64_t position, int epochs)
{
    data_loader_cancel(feed->loader);
    feed->epochs = epochs;
    feed->taken = (struct crew_feed_place){.step = {.epoch = epoch, .end = position}};
    feed->asked = feed->taken;
    top_up(feed);
}

void crew_feed_set_split(struct crew_feed *feed, const int split[])
{
    size_t bytes = (size_t)feed->nodes * sizeof(*split);
    if (feed->split_count == 1 && memcmp(feed->splits, split, bytes) == 0) {
        return;
    }
    memcpy(feed->splits, split, bytes);
    feed->split_count = 1;
    data_loader_cancel(feed->loader);
    feed->asked = feed->taken; // what is left of a step that has begun stays this node's
    top_up(feed);
}

void crew_feed_rebatch(struct crew_feed *feed, const int split[], int batch, int epoch)
{
    memcpy(feed->splits, split, (size_t)feed->nodes * sizeof(*split));
    feed->split_count = 1;
    feed->batch = batch;
    crew_feed_seek(feed, epoch, 0, feed->epochs);
}

// ---- taking ------------------------------------------------------------------------------------

bool crew_feed_is_over(const struct crew_feed *feed)
{
    return !has_next(feed, &feed->taken);
}

struct crew_feed_step crew_feed_begin_step(struct crew_feed *feed)
{
    assert(!crew_feed_is_over(feed) && feed->taken.done == feed->taken.count);
    move_on(feed, &feed->taken);
    for (int i = 0; i < feed->nodes; i++) {
        feed->current[i] = feed->shares[i];
        feed->planned[i] = feed->shares[i].micro_batches;
    }
    feed->after = NULL;
    memset(feed->taken_counts, 0, sizeof(feed->taken_counts));
    top_up(feed);
    return feed->taken.step;
}

enum stn_status crew_feed_next(struct crew_feed *feed, struct data_batch **out)
{
    assert(feed->taken.done < feed->taken.count);
    feed->taken.done++;
    enum stn_status status = data_loader_next(feed->loader, out);
    for (int source = 0; source < DATA_SOURCES && !status; source++) {
        feed->taken_counts[source] += (*out)->request.part[source].count;
    }
    return status;
}

void crew_feed_release(struct crew_feed *feed, struct data_batch *batch)
{
    data_loader_release(feed->loader, batch);
    top_up(feed);
}

// ---- trading -----------------------------------------------------------------------------------

bool crew_feed_may_give(const struct crew_feed *feed, int node)
{
    const struct plan_range *own = &feed->current[node].private_range;
    return own->begin == own->end;
}

void crew_feed_trade(struct crew_feed *feed, const int after[])
{
    struct crew_feed_place *taken = &feed->taken;
    assert(!feed->after && after[feed->rank] >= taken->done);
    feed->after = after;
    if (after[feed->rank] == taken->count) {
        return;
    }
    taken->count = after[feed->rank];
    data_loader_cancel(feed->loader);
    feed->asked = *taken;
    top_up(feed);
}
