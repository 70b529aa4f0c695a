// SPDX-License-Identifier: Apache-2.0
#include "profile_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- tables ------------------------------------------------------------------------------------

enum { KINDS_MAX = 64 };

// Layers of one kind of op, added up.
struct kind {
    const char *op;
    int layers;
    struct stn_profile_cost forward, backward;
};

static void cost_add(struct stn_profile_cost *sum, const struct stn_profile_cost *part)
{
    sum->seconds += part->seconds;
    sum->flops += part->flops;
    sum->bytes += part->bytes;
}

static double kind_seconds(const struct kind *k)
{
    return k->forward.seconds + k->backward.seconds;
}

static int slowest_first(const void *a, const void *b)
{
    double x = kind_seconds(a), y = kind_seconds(b);
    return (x < y) - (x > y);
}

static struct kind *kind_find(struct kind *kinds, int *count, const char *op)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp(kinds[i].op, op) == 0) {
            return &kinds[i];
        }
    }
    if (*count == KINDS_MAX) {
        return NULL;
    }
    kinds[*count].op = op;
    return &kinds[(*count)++];
}

static int kinds_of(const struct stn_profile *profile, struct kind *kinds)
{
    int count = 0;
    for (int i = 0; i < stn_profile_row_count(profile); i++) {
        const struct stn_profile_row *row = stn_profile_row(profile, i);
        struct kind *kind = kind_find(kinds, &count, row->op);
        if (kind) {
            kind->layers++;
            cost_add(&kind->forward, &row->forward);
            cost_add(&kind->backward, &row->backward);
        }
    }
    qsort(kinds, (size_t)count, sizeof(*kinds), slowest_first);
    return count;
}

// "12.34 ms  150 GFLOP/s  8.1 GB/s"; no arithmetic rate where there is none to speak of.
static void print_cost(const struct stn_profile_cost *c, FILE *out)
{
    double seconds = c->seconds > 0 ? c->seconds : 1e-12;
    fprintf(out, "  %8.2f", 1e3 * c->seconds);
    if (c->flops > 0) {
        fprintf(out, " %8.1f", 1e-9 * c->flops / seconds);
    } else {
        fprintf(out, " %8s", "");
    }
    fprintf(out, " %6.1f", 1e-9 * c->bytes / seconds);
}

static void print_heading(const char *first, FILE *out)
{
    fprintf(out, "\n%-58s %24s %24s\n", "", "forward", "backward");
    fprintf(out, "%-58s  %8s %8s %6s  %8s %8s %6s\n", first, "ms", "GFLOP/s", "GB/s", "ms",
            "GFLOP/s", "GB/s");
}

void profile_print(const struct stn_profile *profile, FILE *out)
{
    struct kind kinds[KINDS_MAX] = {0};
    int count = kinds_of(profile, kinds);
    double total = 0;
    for (int i = 0; i < count; i++) {
        total += kind_seconds(&kinds[i]);
    }
    print_heading("kind of op               layers   share", out);
    for (int i = 0; i < count; i++) {
        fprintf(out, "%-24s %6d  %5.1f %% %17s", kinds[i].op, kinds[i].layers,
                total > 0 ? 100 * kind_seconds(&kinds[i]) / total : 0, "");
        print_cost(&kinds[i].forward, out);
        print_cost(&kinds[i].backward, out);
        fputc('\n', out);
    }
    print_heading("layer                    op                  shape    strip", out);
    for (int i = 0; i < stn_profile_row_count(profile); i++) {
        const struct stn_profile_row *row = stn_profile_row(profile, i);
        fprintf(out, "%-24.24s %-16.16s %4d→%4d@%-3d %3d ", row->layer, row->op, row->in_channels,
                row->out_channels, row->out_size, row->strip);
        print_cost(&row->forward, out);
        print_cost(&row->backward, out);
        fputc('\n', out);
    }
    fprintf(out, "\nTimes are of one micro-batch. GB/s count what an op must read and write at\n"
                 "least, from wherever: above the memory's speed it came from the cache.\n");
}

// ---- timeline ----------------------------------------------------------------------------------

// Names are ours (layers, ops): nothing in them needs escaping.
static void write_events(const struct stn_profile *profile, FILE *out)
{
    fputs("{\"traceEvents\":[\n", out);
    for (int i = 0; i < stn_profile_event_count(profile); i++) {
        const struct stn_profile_event *e = stn_profile_event(profile, i);
        fprintf(out,
                "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,"
                "\"dur\":%.3f,\"args\":{\"op\":\"%s\",\"strip\":%d}}%s\n",
                e->layer, e->phase, e->lane + 1, e->begin_us, e->duration_us, e->op, e->strip,
                i + 1 < stn_profile_event_count(profile) ? "," : "");
    }
    fputs("],\"displayTimeUnit\":\"ms\"}\n", out);
}

enum stn_status profile_write_trace(const struct stn_profile *profile, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) {
        return stn_fail(STN_ERR_IO, "--trace %s: cannot write: %s", path, strerror(errno));
    }
    write_events(profile, out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        return stn_fail(STN_ERR_IO, "--trace %s: cannot write: %s", path, strerror(errno));
    }
    return STN_OK;
}
