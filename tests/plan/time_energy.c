// SPDX-License-Identifier: Apache-2.0
// For bench/energy: the time of a plan for energy against that of a plan for time, on NODES nodes
// drawn at random. Prints the medians of some rounds, in turns, in seconds of CPU time.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "plan/energy.h"
#include "plan/split.h"

enum { ROUNDS = 15, NODES_MAX = 1000000 };

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(*values), by_size);
    return values[ROUNDS / 2];
}

static void draw(struct plan_node nodes[], struct plan_power powers[], int count)
{
    struct base_random random = base_random_from(1);
    for (int i = 0; i < count; i++) {
        nodes[i] = (struct plan_node){
            .curve.line = {0.01 * base_random_unit(&random), 0.1 + base_random_unit(&random)},
            .cap = i % 5 == 0 ? 20 : INT_MAX};
        powers[i] = (struct plan_power){1.0, 2.0 + 100.0 * base_random_unit(&random), false};
    }
}

static int measure(int count)
{
    struct plan_node *nodes = calloc((size_t)count, sizeof(*nodes));
    struct plan_node *scratch = calloc((size_t)count, sizeof(*scratch));
    struct plan_power *powers = calloc((size_t)count, sizeof(*powers));
    struct plan_offer *heap = calloc((size_t)count, sizeof(*heap));
    int *split = calloc((size_t)count, sizeof(*split)), failed = 1;
    double time_s[ROUNDS], energy_s[ROUNDS];
    if (!nodes || !scratch || !powers || !heap || !split) {
        goto out_free;
    }
    draw(nodes, powers, count);
    struct plan_objective objective = {.eta = 1.0, .base_w = count, .powers = powers};
    struct plan_cluster cluster = {
        .nodes = nodes, .count = count, .micro_batch = 1, .objective = &objective};
    failed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begin_s = cpu_s();
        failed |= plan_split(&cluster, 16 * count, heap, split) != STN_OK;
        double middle_s = cpu_s();
        memcpy(scratch, nodes, (size_t)count * sizeof(*nodes));
        failed |= plan_energy_split(&cluster, 16 * count, scratch, heap, split) != STN_OK;
        time_s[round] = middle_s - begin_s;
        energy_s[round] = cpu_s() - middle_s;
    }
    printf("{\"nodes\": %d, \"split_s\": %.9f, \"energy_s\": %.9f}\n", count, median(time_s),
           median(energy_s));
out_free:
    free(split);
    free(heap);
    free(powers);
    free(scratch);
    free(nodes);
    return failed;
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 0;
    if (count < 1 || count > NODES_MAX) {
        fprintf(stderr, "usage: plan_energy_time NODES, up to %d\n", NODES_MAX);
        return 2;
    }
    return measure(count);
}
