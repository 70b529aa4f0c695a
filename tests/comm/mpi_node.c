// SPDX-License-Identifier: Apache-2.0
// One node under mpirun, driven by test_mpi.py.
//
//     mpi_node check              collectives and an exchange, compared with what they should give
//     mpi_node wait SECONDS       all but node 1 wait for it that long; CPU used meanwhile, on
//     stdout mpi_node lose HOW RANK      in step 12 that node is killed, stops or returns early
//     mpi_node bench COUNT STEPS  milliseconds a step and CPU for exchanging COUNT floats, on
//     stdout
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "exchange/exchange.h"

enum { LOST_IN_STEP = 12, STEPS = 1000, CHECK_COUNT = 1200007 };

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static float value_of(int rank, size_t i)
{
    return (float)((i * 7919 + (size_t)rank * 104729) % 1000003) * ldexpf(1, (int)(i % 9) - 30);
}

static enum stn_status open_exchange(struct comm *comm, float *gradients, size_t count,
                                     struct exchange **out)
{
    struct exchange_config config = {.comm = comm, .gradients = gradients, .gradient_count = count};
    return exchange_create(&config, out);
}

// ---- check -------------------------------------------------------------------------------------

static bool sums_are_right(const float *sums, int nodes)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        float sum = value_of(0, i);
        for (int rank = 1; rank < nodes; rank++) {
            sum += value_of(rank, i);
        }
        if (sum != sums[i]) {
            return false;
        }
    }
    return true;
}

static enum stn_status check_collectives(struct comm *comm)
{
    int rank = comm_rank(comm), word = rank * 3, all[64];
    enum stn_status status = comm_all_gather(comm, COMM_CONTROL, &word, sizeof(word), all);
    if (status == STN_OK) {
        status = comm_broadcast(comm, COMM_CONTROL, comm_size(comm) - 1, &word, sizeof(word));
    }
    bool right = word == 3 * (comm_size(comm) - 1);
    for (int i = 0; i < comm_size(comm); i++) {
        right = right && all[i] == 3 * i;
    }
    return status != STN_OK || right ? status : stn_fail(STN_ERR_INTERNAL, "wrong collectives");
}

static enum stn_status check(struct comm *comm)
{
    enum stn_status status = check_collectives(comm);
    if (status != STN_OK) {
        return status;
    }
    float *sums = malloc(CHECK_COUNT * sizeof(*sums));
    struct exchange *exchange = NULL;
    status = open_exchange(comm, sums, CHECK_COUNT, &exchange);
    for (int round = 0; round < 3 && status == STN_OK; round++) {
        exchange_begin(exchange);
        for (size_t i = CHECK_COUNT; i-- > 0;) {
            sums[i] = value_of(comm_rank(comm), i);
            if (i % 100000 == 0) {
                exchange_ready(exchange, i);
            }
        }
        status = exchange_finish(exchange);
        if (status == STN_OK && !sums_are_right(sums, comm_size(comm))) {
            status = stn_fail(STN_ERR_INTERNAL, "wrong sums");
        }
    }
    exchange_destroy(exchange);
    free(sums);
    return status;
}

// ---- wait --------------------------------------------------------------------------------------

static enum stn_status wait_for_one(struct comm *comm, double seconds)
{
    int word = 0, all[64];
    enum stn_status status = comm_all_gather(comm, COMM_CONTROL, &word, sizeof(word), all);
    if (status != STN_OK) {
        return status;
    }
    double begin = processor_seconds(), begin_wall = base_clock_seconds();
    if (comm_rank(comm) == 1) {
        struct timespec pause = {.tv_sec = (time_t)seconds};
        nanosleep(&pause, NULL);
    }
    status = comm_all_gather(comm, COMM_CONTROL, &word, sizeof(word), all);
    printf("%.6f\n", (processor_seconds() - begin) / (base_clock_seconds() - begin_wall));
    return status;
}

// ---- lose --------------------------------------------------------------------------------------

static void fall(const char *how)
{
    if (strcmp(how, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(how, "stop") == 0) {
        kill(getpid(), SIGSTOP);
    }
}

static enum stn_status lose(struct comm *comm, const char *how, int victim)
{
    enum { COUNT = 700000 };
    float *sums = calloc(COUNT, sizeof(*sums));
    struct exchange *exchange = NULL;
    enum stn_status status = open_exchange(comm, sums, COUNT, &exchange);
    for (int64_t step = 1; step <= STEPS && status == STN_OK; step++) {
        comm_set_phase(comm, step, "exchanging gradients");
        if (step == LOST_IN_STEP && comm_rank(comm) == victim) {
            struct timespec pause = {.tv_nsec = 300000000}; // the news of step 12 gets out
            nanosleep(&pause, NULL);
            fall(how);
            if (strcmp(how, "return") == 0) {
                status = stn_fail(STN_ERR_IO, "disk full");
                break;
            }
        }
        exchange_begin(exchange);
        status = exchange_finish(exchange);
    }
    exchange_destroy(exchange);
    free(sums);
    return status;
}

// ---- bench -------------------------------------------------------------------------------------

static enum stn_status bench(struct comm *comm, size_t count, int steps, const double *weights)
{
    float *sums = base_pages_alloc(count * sizeof(*sums)); // like those of a network
    const char *bucket = getenv("BUCKET_BYTES"), *half = getenv("HALF");
    struct exchange_config config = {.comm = comm,
                                     .gradients = sums,
                                     .gradient_count = count,
                                     .weights = weights,
                                     .wire = half ? EXCHANGE_FP16 : EXCHANGE_FP32,
                                     .bucket_bytes = bucket ? (size_t)atol(bucket) : 0};
    struct exchange *exchange = NULL;
    enum stn_status status = exchange_create(&config, &exchange);
    double begin = 0, begin_wall = 0;
    for (int step = 0; step <= steps && status == STN_OK; step++) {
        if (step == 1) {
            begin = processor_seconds();
            begin_wall = base_clock_seconds();
        }
        exchange_begin(exchange);
        status = exchange_finish(exchange);
    }
    printf("node %d: %.2f ms a step, %.2f ms of CPU, exposed %.2f\n", comm_rank(comm),
           1e3 * (base_clock_seconds() - begin_wall) / steps,
           1e3 * (processor_seconds() - begin) / steps,
           1e3 * exchange_stats(exchange).exposed_seconds / steps);
    exchange_destroy(exchange);
    base_pages_free(sums, count * sizeof(*sums));
    return status;
}

int main(int argc, char **argv)
{
    const char *timeout = getenv("TIMEOUT_SECONDS"), *mode = argc > 1 ? argv[1] : "";
    struct comm *comm;
    enum stn_status status = comm_open(timeout ? atof(timeout) : 30, &comm);
    if (status != STN_OK) {
        return stn_status_exit_code(status);
    }
    comm_set_name(comm, 1, "csd.0");
    comm_set_name(comm, 2, "csd.1");
    if (strcmp(mode, "check") == 0) {
        status = check(comm);
    } else if (strcmp(mode, "wait") == 0 && argc == 3) {
        status = wait_for_one(comm, atof(argv[2]));
    } else if (strcmp(mode, "lose") == 0 && argc == 4) {
        status = lose(comm, argv[2], atoi(argv[3]));
    } else if (strcmp(mode, "bench") == 0 && argc == 4) {
        const char *text = getenv("WEIGHT"); // of the nodes but for node 0's 1
        double weight = text ? atof(text) : 0.25, weights[64] = {1, weight, weight, weight};
        status = bench(comm, (size_t)atol(argv[2]), atoi(argv[3]), weights);
    } else {
        status = stn_fail(STN_ERR_INVALID, "mpi_node: see its source for what it can do");
    }
    comm_close(comm);
    return stn_status_exit_code(status);
}
