// SPDX-License-Identifier: Apache-2.0
#include "csd/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "csd/load/histogram.h"

enum { SLACK_BYTES = 1 << 18 };

const double load_percentiles[LOAD_PERCENTILES] = {50, 99, 99.9, 99.99};

struct slot {
    uint8_t *data;
    int64_t begun_ns;
};

struct load {
    const struct load_config *config;
    struct csd_client *client;
    struct csd_queue *queue;
    struct slot *slots;
    struct csd_outcome *outcomes;
    struct base_random random;
    uint64_t next; // sequential: the next access
    struct histogram histogram;
};

static enum stn_status prepare(struct load *l)
{
    const struct load_config *c = l->config;
    size_t depth = (size_t)c->depth;
    uint64_t bytes = depth * (c->block_bytes + 3 * (uint64_t)NVME_PAGE_BYTES) + SLACK_BYTES;
    l->slots = calloc(depth, sizeof(*l->slots));
    l->outcomes = calloc(depth, sizeof(*l->outcomes));
    if (!l->slots || !l->outcomes) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to measure a device with");
    }
    enum stn_status status = c->folder ? csd_client_connect(c->folder, bytes, &l->client)
                                       : csd_client_adopt(c->socket, "device", bytes, &l->client);
    if (status == STN_OK) {
        status = csd_queue_create(l->client, c->depth, &l->queue);
    }
    for (size_t i = 0; i < depth && status == STN_OK; i++) {
        l->slots[i].data = csd_client_allocate(l->client, c->block_bytes);
        if (!l->slots[i].data) {
            return stn_fail(STN_ERR_NO_MEMORY, "no shared memory to measure a device with");
        }
        // Not zeros, and not alike: what a device must really store.
        for (uint32_t at = 0; at < c->block_bytes; at += sizeof(uint64_t)) {
            uint64_t word = base_random_u64(&l->random);
            memcpy(l->slots[i].data + at, &word, sizeof(word));
        }
    }
    return status;
}

static void begin(struct load *l, struct slot *slot)
{
    const struct load_config *c = l->config;
    uint32_t blocks = c->block_bytes / NVME_BLOCK_BYTES;
    uint64_t places = c->blocks / blocks;
    uint64_t place = c->random ? base_random_below(&l->random, places) : l->next++ % places;
    struct nvme_sqe command =
        csd_command(c->writes ? NVME_IO_WRITE : NVME_IO_READ, c->nsid, place * blocks, blocks);
    slot->begun_ns = base_clock_ns();
    csd_queue_submit(l->queue, &command, slot->data, c->block_bytes, slot);
}

static enum stn_status reap(struct load *l, bool again)
{
    int count;
    enum stn_status status = csd_queue_reap(l->queue, true, l->config->depth, l->outcomes, &count);
    int64_t now = base_clock_ns();
    for (int i = 0; i < count && status == STN_OK; i++) {
        struct slot *slot = l->outcomes[i].user;
        if (l->outcomes[i].status != NVME_SUCCESS) {
            return csd_client_refused(l->client, l->config->writes ? "write" : "read",
                                      l->outcomes[i].status);
        }
        histogram_add(&l->histogram, (uint64_t)(now - slot->begun_ns));
        if (again) {
            begin(l, slot);
        }
    }
    if (again && count > 0) {
        csd_queue_ring(l->queue);
    }
    return status;
}

static enum stn_status keep_busy(struct load *l, struct load_result *out)
{
    int64_t from = base_clock_ns(), until = from + (int64_t)(l->config->seconds * 1e9), now = from;
    enum stn_status status = STN_OK;
    for (int i = 0; i < l->config->depth; i++) {
        begin(l, &l->slots[i]);
    }
    csd_queue_ring(l->queue);
    while (csd_queue_in_flight(l->queue) > 0 && status == STN_OK) {
        status = reap(l, now < until);
        now = base_clock_ns();
    }
    out->seconds = (double)(now - from) / 1e9;
    out->accesses = l->histogram.total;
    out->bytes = out->accesses * l->config->block_bytes;
    for (int i = 0; i < LOAD_PERCENTILES; i++) {
        out->latency_us[i] = (double)histogram_percentile(&l->histogram, load_percentiles[i]) / 1e3;
    }
    out->latency_max_us = (double)l->histogram.max_ns / 1e3;
    return status;
}

enum stn_status load_run(const struct load_config *config, struct load_result *out)
{
    struct load *l = calloc(1, sizeof(*l));
    if (!l) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to measure a device with");
    }
    l->config = config;
    l->random = base_random_from(config->seed);
    enum stn_status status = prepare(l);
    if (status == STN_OK) {
        status = keep_busy(l, out);
    }
    csd_client_close(l->client);
    free(l->outcomes);
    free(l->slots);
    free(l);
    return status;
}
