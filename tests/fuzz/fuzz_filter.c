// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as the output of mpirun: what the filter passes on does not depend on the pieces
// in which the output comes, and no byte is passed that did not come.
#include <stdlib.h>
#include <string.h>

#include "launch/filter.h"
#include "target.h"

struct passed {
    struct launch_filter filter;
    char *data;
    size_t size, capacity;
};

static void collect(void *context, const char *data, size_t bytes)
{
    struct passed *passed = context;
    fuzz_check(passed->size + bytes <= passed->capacity);
    memcpy(passed->data + passed->size, data, bytes);
    passed->size += bytes;
}

// In pieces of so many bytes.
static void feed(struct passed *passed, const uint8_t *data, size_t size, size_t piece)
{
    *passed = (struct passed){.data = malloc(size + 1), .capacity = size};
    fuzz_check(passed->data != NULL);
    passed->filter.pass = collect;
    passed->filter.context = passed;
    for (size_t at = 0; at < size; at += piece) {
        size_t bytes = size - at < piece ? size - at : piece;
        launch_filter_feed(&passed->filter, (const char *)data + at, bytes);
    }
    launch_filter_settle(&passed->filter);
}

static void ask(const struct launch_filter *filter)
{
    char host[16], line[64];
    int rank, number;
    (void)launch_filter_death(filter, &rank, &number);
    (void)launch_filter_exit(filter, &rank);
    if (launch_filter_host(filter, host, sizeof(host))) {
        fuzz_check(*host && strlen(host) < sizeof(host));
    }
    if (launch_filter_reason(filter, line, sizeof(line))) {
        fuzz_check(*line && *line != ' ' && strlen(line) < sizeof(line));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct passed whole, single;
    feed(&whole, data, size, size + 1);
    feed(&single, data, size, 1);
    fuzz_check(whole.size == single.size && memcmp(whole.data, single.data, whole.size) == 0);
    fuzz_check(whole.filter.said_bytes == single.filter.said_bytes &&
               whole.filter.node_failed == single.filter.node_failed);
    fuzz_check(whole.filter.said_bytes < sizeof(whole.filter.said));
    ask(&whole.filter);
    free(single.data);
    free(whole.data);
    return 0;
}
