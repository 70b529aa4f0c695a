// SPDX-License-Identifier: Apache-2.0
#include "crew/split.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "hypertune/policy.h"

enum { MICRO_BATCHES_MAX = 1000000 };

static enum stn_status splits_alloc(int count, int nodes, struct crew_splits *out)
{
    *out = (struct crew_splits){
        .values = calloc((size_t)count * (size_t)nodes, sizeof(*out->values)),
        .count = count,
        .nodes = nodes,
    };
    return out->values ? STN_OK
                       : stn_fail(STN_ERR_NO_MEMORY, "no memory for a split over %d nodes", nodes);
}

static int sum_of(const int *split, int nodes)
{
    int sum = 0;
    for (int i = 0; i < nodes; i++) {
        sum += split[i];
    }
    return sum;
}

// Reads one split from the beginning of `text`; *rest is what follows. False: there is none.
static bool parse_one(const char *text, int nodes, int *split, const char **rest)
{
    for (int i = 0; i < nodes; i++) {
        char *end;
        if (*text < '0' || *text > '9') {
            return false;
        }
        long value = strtol(text, &end, 10);
        if (value > MICRO_BATCHES_MAX) {
            return false;
        }
        split[i] = (int)value;
        bool last = i == nodes - 1;
        bool ends = *end == '\0' || *end == ';';
        if (last ? !ends : *end != ',' && *end != ':') {
            return false;
        }
        text = last ? end : end + 1;
    }
    *rest = text;
    return true;
}

static enum stn_status check_sum(const char *text, const struct crew_splits *splits, int number,
                                 int micro_batches)
{
    int sum = sum_of(splits->values + (size_t)number * (size_t)splits->nodes, splits->nodes);
    if (sum == 0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "split %s: somebody must compute something",
                        text);
    }
    if (micro_batches > 0 && sum != micro_batches) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "split %s: %d micro-batches, but a step has %d (" BASE_SETTING
                                     "batch over " BASE_SETTING "micro-batch); leave " BASE_SETTING
                                     "batch out to let the split say it",
                        text, sum, micro_batches);
    }
    int first = sum_of(splits->values, splits->nodes);
    if (sum != first) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "split %s: splits that take turns must have the same sum (%d and %d)",
                        text, first, sum);
    }
    return STN_OK;
}

enum stn_status crew_splits_parse(const char *text, int nodes, int micro_batches,
                                  struct crew_splits *out)
{
    int count = 1;
    for (const char *c = text; *c; c++) {
        count += *c == ';';
    }
    enum stn_status status = splits_alloc(count, nodes, out);
    const char *rest = text;
    for (int s = 0; s < count && !status; s++) {
        if (!parse_one(rest, nodes, out->values + (size_t)s * (size_t)nodes, &rest)) {
            status = stn_fail(STN_ERR_INVALID,
                              BASE_SETTING
                              "split %s: expected %d number%s of micro-batches, as in 12,4,4,4",
                              text, nodes, nodes == 1 ? "" : "s");
        } else {
            status = check_sum(text, out, s, micro_batches);
        }
        rest += *rest == ';';
    }
    if (status) {
        crew_splits_fini(out);
    }
    return status;
}

enum stn_status crew_splits_plan(const struct plan_request *request, enum stn_policy policy,
                                 struct crew_splits *out)
{
    size_t nodes = (size_t)request->cluster.count;
    const struct plan_scratch scratch = {.nodes = calloc(nodes, sizeof(*scratch.nodes)),
                                         .offers = calloc(nodes, sizeof(*scratch.offers))};
    enum stn_status status = splits_alloc(1, request->cluster.count, out);
    if (!status && (!scratch.nodes || !scratch.offers)) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory for a plan for %zu nodes", nodes);
    }
    if (!status) {
        status = hypertune_policies[policy].does->split(request, &scratch, out->values);
    }
    free(scratch.offers);
    free(scratch.nodes);
    if (status) {
        crew_splits_fini(out);
    }
    return status;
}

enum stn_status crew_splits_copy(const int split[], int nodes, struct crew_splits *out)
{
    enum stn_status status = splits_alloc(1, nodes, out);
    if (!status) {
        memcpy(out->values, split, (size_t)nodes * sizeof(*split));
    }
    return status;
}

enum stn_status crew_splits_spread(struct crew *nodes, struct crew_splits *splits, int *batch)
{
    size_t bytes = WIRE_BATCH_BYTES + (size_t)splits->nodes * WIRE_INT_BYTES;
    uint8_t *message = calloc(1, bytes);
    const struct wire_batch own = {.batch = *batch};
    struct wire_batch heard;
    enum stn_status status =
        message ? STN_OK
                : stn_fail(STN_ERR_NO_MEMORY, "no memory for a split over %d nodes", splits->nodes);
    status = crew_agree(nodes, status);
    if (!status) {
        assert(message); // all nodes have agreed that they have theirs
        wire_encode(WIRE_BATCH, &own, message);
        wire_put_ints(splits->values, splits->nodes, message + WIRE_BATCH_BYTES);
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, message, bytes);
    }
    if (!status && !wire_decode(WIRE_BATCH, message, &heard)) {
        status = comm_fail_message(nodes->comm, 0, WIRE_BATCH);
    }
    if (!status) {
        *batch = heard.batch;
        wire_get_ints(message + WIRE_BATCH_BYTES, splits->nodes, splits->values);
    }
    free(message);
    return status;
}

int crew_splits_over_cap(const struct crew_splits *splits, const struct plan_cluster *cluster)
{
    for (int i = 0; i < splits->count * splits->nodes; i++) {
        int node = i % splits->nodes;
        if (splits->values[i] > cluster->nodes[node].cap) {
            return node;
        }
    }
    return -1;
}

void crew_splits_fini(struct crew_splits *splits)
{
    free(splits->values);
    *splits = (struct crew_splits){0};
}

const int *crew_splits_at(const struct crew_splits *splits, int64_t step)
{
    return splits->values + (size_t)(step % splits->count) * (size_t)splits->nodes;
}

int crew_splits_sum(const struct crew_splits *splits)
{
    return sum_of(splits->values, splits->nodes);
}
