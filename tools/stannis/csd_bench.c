// SPDX-License-Identifier: Apache-2.0
// stannis csd bench: what a device does a second, by size and depth of the accesses.
#include <stdio.h>
#include <unistd.h>

#include "csd.h"
#include "csd/load/load.h"

static const struct command command = {
    .verb = STN_VERB_CSD_BENCH,
    .summary = "Measures a device: accesses, GB/s, latency, write amplification.",
    .operands = "DEVICE",
    .about = "Makes a namespace in what is free, writes it full once, measures, and deletes\n"
             "it: nobody's data is touched, but the flash wears.",
    .examples = "  stannis csd bench rack/csd.0\n"
                "  stannis csd bench rack/csd.0 --seconds 10 --size 2G --json",
};

static const struct kind {
    bool writes, random;
    uint32_t block_bytes;
    int depth;
} kinds[] = {
    {true, false, 128 << 10, 8}, {false, false, 128 << 10, 8}, {false, true, 4 << 10, 1},
    {false, true, 4 << 10, 8},   {false, true, 4 << 10, 32},   {false, true, 16 << 10, 8},
    {true, true, 4 << 10, 1},    {true, true, 4 << 10, 8},     {true, true, 4 << 10, 32},
    {true, true, 16 << 10, 8},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static json_t *describe(const struct kind *k, const struct load_result *r)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "access",
                     k->writes ? "write" : "read", "order", k->random ? "random" : "sequential",
                     "block_bytes", (int)k->block_bytes, "depth", k->depth, "iops",
                     (double)r->accesses / r->seconds, "bytes_per_s", (double)r->bytes / r->seconds,
                     "p50_us", r->latency_us[0], "p99_us", r->latency_us[1], "p999_us",
                     r->latency_us[2], "p9999_us", r->latency_us[3], "max_us", r->latency_max_us);
}

static void print_head(void)
{
    printf("access             block  depth       IOPS     GB/s    p50 µs    p99 µs  p99.9 µs"
           "    max µs\n");
    fflush(stdout);
}

static void print_row(const struct kind *k, const struct load_result *r)
{
    printf("%-5s %-10s %4u KiB  %5d  %9.0f  %7.3f  %8.1f  %8.1f  %8.1f  %8.1f\n",
           k->writes ? "write" : "read", k->random ? "random" : "sequential", k->block_bytes >> 10,
           k->depth, (double)r->accesses / r->seconds, (double)r->bytes / r->seconds / 1e9,
           r->latency_us[0], r->latency_us[1], r->latency_us[2], r->latency_max_us);
    fflush(stdout);
}

// Everything once, so that reads find data and writes have something to replace.
static enum stn_status fill(struct csd_client *client, uint32_t nsid, uint64_t blocks)
{
    enum { CHUNK_BLOCKS = 64 };
    struct csd_queue *queue;
    uint64_t shown = 0;
    enum stn_status status = csd_queue_create(client, 1, &queue);
    uint8_t *data =
        status == STN_OK ? csd_client_allocate(client, CHUNK_BLOCKS * NVME_BLOCK_BYTES) : NULL;
    if (!data) {
        return status == STN_OK ? stn_fail(STN_ERR_NO_MEMORY, "no shared memory") : status;
    }
    for (uint64_t at = 0; at < blocks && status == STN_OK; at += CHUNK_BLOCKS) {
        uint32_t here = (uint32_t)(blocks - at < CHUNK_BLOCKS ? blocks - at : CHUNK_BLOCKS);
        struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, at, here);
        struct csd_outcome outcome;
        data[0]++;
        status = csd_queue_call(queue, &write, data, here * NVME_BLOCK_BYTES, &outcome);
        if (status == STN_OK && outcome.status != NVME_SUCCESS) {
            status = csd_client_refused(client, "write", outcome.status);
        }
        if (isatty(STDERR_FILENO) && at * 100 / blocks != shown) {
            shown = at * 100 / blocks;
            fprintf(stderr, "\rwriting it full, %d %%\033[K", (int)shown);
        }
    }
    csd_end_progress();
    return status;
}

static enum stn_status measure(const char *device, uint32_t nsid, uint64_t blocks,
                               const struct settings *s, json_t *results)
{
    enum stn_status status = STN_OK;
    for (size_t i = 0; i < KINDS && status == STN_OK; i++) {
        struct load_result result;
        const struct load_config config = {.folder = device,
                                           .nsid = nsid,
                                           .blocks = blocks,
                                           .writes = kinds[i].writes,
                                           .random = kinds[i].random,
                                           .block_bytes = kinds[i].block_bytes,
                                           .depth = kinds[i].depth,
                                           .seconds = s->seconds,
                                           .seed = s->seed + i};
        status = load_run(&config, &result);
        if (status == STN_OK && results) {
            json_array_append_new(results, describe(&kinds[i], &result));
        } else if (status == STN_OK) {
            print_row(&kinds[i], &result);
        }
    }
    return status;
}

// What was programmed between two looks, by what was written.
static double amplification(const struct nvme_health *from, const struct nvme_health *to)
{
    uint64_t written = to->units_written - from->units_written;
    uint64_t moved = (to->gc_units - from->gc_units) + (to->level_units - from->level_units) +
                     (to->scrub_units - from->scrub_units) + (to->log_units - from->log_units) +
                     (to->padding_units - from->padding_units);
    return written ? (double)(written + moved) / (double)written : 0;
}

static enum stn_status bench_namespace(struct csd_client *client, const char *device, uint32_t nsid,
                                       uint64_t bytes, const struct settings *s)
{
    struct nvme_health before, after;
    json_t *results = s->json ? json_array() : NULL;
    enum stn_status status = csd_health(client, &before);
    if (status == STN_OK) {
        status = fill(client, nsid, bytes / NVME_BLOCK_BYTES);
    }
    if (status == STN_OK) {
        if (!s->json) {
            print_head();
        }
        status = measure(device, nsid, bytes / NVME_BLOCK_BYTES, s, results);
    }
    if (status == STN_OK) {
        status = csd_health(client, &after);
    }
    if (status == STN_OK && s->json) {
        return verb_print_json(json_pack("{s:s, s:s, s:I, s:f, s:o}", "device", device, "profile",
                                         after.profile, "size", (json_int_t)bytes,
                                         "write_amplification", amplification(&before, &after),
                                         "rows", results));
    }
    json_decref(results);
    if (status == STN_OK) {
        printf("write amplification %.2f\n", amplification(&before, &after));
    }
    return status;
}

static enum stn_status choose_size(struct csd_client *client, const struct settings *s,
                                   uint64_t *bytes)
{
    enum { LEAST = 1 << 20 };
    struct csd_capacity capacity;
    enum stn_status status = csd_capacity(client, &capacity);
    if (status != STN_OK) {
        return status;
    }
    uint64_t usual = UINT64_C(1) << 30;
    *bytes = s->device_size ? s->device_size : capacity.free < usual ? capacity.free : usual;
    if (*bytes < LEAST) {
        return stn_fail(STN_ERR_NO_SPACE, "%s: csd bench needs 1 MiB that no namespace has",
                        csd_client_name(client));
    }
    return STN_OK;
}

static enum stn_status run(const struct verb_call *call)
{
    struct csd_client *client;
    const char *device = NULL;
    char name[CSD_NAME_LENGTH_MAX + 1];
    uint64_t bytes;
    uint32_t nsid;
    enum stn_status status = csd_connect_operand(&command, &call->line, &device, &client);
    if (status != STN_OK) {
        return status;
    }
    snprintf(name, sizeof(name), "bench.%d", (int)getpid());
    status = choose_size(client, &call->settings.values, &bytes);
    if (status == STN_OK) {
        status = csd_namespace_create(client, name, bytes, true, &nsid);
    }
    if (status == STN_OK) {
        status = bench_namespace(client, device, nsid, bytes, &call->settings.values);
        enum stn_status deleted = csd_namespace_delete(client, name);
        status = status == STN_OK ? deleted : status;
    }
    csd_client_close(client);
    return status;
}

const struct csd_subcommand csd_bench = {&command, run, false};
