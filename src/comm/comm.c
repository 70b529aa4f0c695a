// SPDX-License-Identifier: Apache-2.0
// Opening and closing a node, and the communication thread that works off its jobs. A cluster of
// one node has neither transport nor thread: its jobs run where they are submitted.
#include "comm/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/backend.h"
#include "comm/node.h"

// How long the thread sleeps while no job waits. A look costs processor time, of which a node with
// a small CPU share has little; but with transfers open it looks more often, since a bucket between
// machines moves on only when MPI is called.
enum { IDLE_NS = 50000000, IDLE_OPEN_NS = 5000000, TIMER_SLACK_NS = 5000 };

// ---- the thread --------------------------------------------------------------------------------

static void timed_wait(struct comm *comm, int64_t pause_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + pause_ns;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&comm->work, &comm->mutex, &until);
}

// What the thread does without a job: it listens, and moves on the transfers that earlier jobs have
// begun. Called and left with the mutex held.
static void idle(struct comm *comm)
{
    bool is_lost = atomic_load(&comm->lost) >= 0, open = comm->transfers > 0 && !is_lost;
    timed_wait(comm, open ? IDLE_OPEN_NS : IDLE_NS);
    pthread_mutex_unlock(&comm->mutex);
    if (open) {
        comm_liveness_progress(comm);
    }
    enum stn_status status = comm_liveness_tick(comm);
    (void)status; // a caller that waits learns of a loss from its job
    pthread_mutex_lock(&comm->mutex);
}

static void job_run(struct comm *comm, struct comm_job *job)
{
    pthread_mutex_unlock(&comm->mutex);
    enum stn_status status = atomic_load(&comm->lost) < 0 ? job->run(comm, job) : STN_ERR_NODE_LOST;
    pthread_mutex_lock(&comm->mutex);
    comm->first = job->next;
    if (!comm->first) {
        comm->last = NULL;
    }
    job->status = status;
    job->done = true;
    pthread_cond_broadcast(&comm->done);
}

static void *thread_run(void *argument)
{
    struct comm *comm = argument;
    prctl(PR_SET_NAME, "stannis-comm");       // for top and perf
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS); // or the shortest sleeps would be thrice as long
    pthread_mutex_lock(&comm->mutex);
    while (!comm->stopping) {
        if (comm->first) {
            job_run(comm, comm->first);
        } else {
            idle(comm);
        }
    }
    pthread_mutex_unlock(&comm->mutex);
    return NULL;
}

// The thread blocks all signals: they are for the program's own threads.
static enum stn_status thread_start(struct comm *comm)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&comm->thread, NULL, thread_run, comm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        return stn_fail(STN_ERR_INTERNAL, "cannot start the communication thread: %s",
                        strerror(error));
    }
    return STN_OK;
}

static void thread_stop(struct comm *comm)
{
    pthread_mutex_lock(&comm->mutex);
    comm->stopping = true;
    pthread_cond_signal(&comm->work);
    pthread_mutex_unlock(&comm->mutex);
    pthread_join(comm->thread, NULL);
}

// ---- jobs --------------------------------------------------------------------------------------

void comm_submit(struct comm *comm, struct comm_job *job)
{
    job->next = NULL;
    job->done = false;
    if (!comm->transport) {
        job->status = job->run(comm, job);
        job->done = true;
        return;
    }
    pthread_mutex_lock(&comm->mutex);
    if (comm->last) {
        comm->last->next = job;
    } else {
        comm->first = job;
    }
    comm->last = job;
    pthread_cond_signal(&comm->work);
    pthread_mutex_unlock(&comm->mutex);
}

enum stn_status comm_wait(struct comm *comm, struct comm_job *job)
{
    pthread_mutex_lock(&comm->mutex);
    while (!job->done) {
        pthread_cond_wait(&comm->done, &comm->mutex);
    }
    enum stn_status status = job->status;
    pthread_mutex_unlock(&comm->mutex);
    return status;
}

bool comm_is_done(struct comm *comm, struct comm_job *job)
{
    pthread_mutex_lock(&comm->mutex);
    bool done = job->done;
    pthread_mutex_unlock(&comm->mutex);
    return done;
}

static enum stn_status start_run(struct comm *comm, struct comm_job *job)
{
    (void)job;
    return comm_liveness_start(comm);
}

static enum stn_status leave_run(struct comm *comm, struct comm_job *job)
{
    (void)job;
    return comm_liveness_leave(comm);
}

static enum stn_status run_and_wait(struct comm *comm,
                                    enum stn_status (*run)(struct comm *, struct comm_job *))
{
    struct comm_job job = {.run = run};
    comm_submit(comm, &job);
    return comm_wait(comm, &job);
}

// ---- nodes -------------------------------------------------------------------------------------

static void node_free(struct comm *comm)
{
    comm_process_stop(comm);
    free(comm->processes);
    free(comm->peers);
    pthread_cond_destroy(&comm->done);
    pthread_cond_destroy(&comm->work);
    pthread_mutex_destroy(&comm->mutex);
    free(comm->hosts);
    free(comm->names);
    free(comm);
}

static void locks_init(struct comm *comm)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&comm->mutex, NULL);
    pthread_cond_init(&comm->work, &monotonic);
    pthread_cond_init(&comm->done, NULL);
    pthread_condattr_destroy(&monotonic);
}

// The node keeps the transport (NULL: a cluster of one) if it can be created.
static enum stn_status node_create(struct comm_transport *transport, double timeout_seconds,
                                   struct comm **out)
{
    int size = transport ? transport->size : 1;
    struct comm *comm = calloc(1, sizeof(*comm));
    char(*names)[COMM_NAME_BYTES] = calloc((size_t)size, sizeof(*names));
    char(*hosts)[COMM_NAME_BYTES] = calloc((size_t)size, sizeof(*hosts));
    struct comm_peer *peers = calloc((size_t)size, sizeof(*peers));
    struct pollfd *processes = calloc((size_t)size, sizeof(*processes));
    if (!comm || !names || !hosts || !peers || !processes) {
        free(processes);
        free(peers);
        free(hosts);
        free(names);
        free(comm);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a cluster of %d nodes", size);
    }
    comm->transport = transport;
    comm->rank = transport ? transport->rank : 0;
    comm->size = size;
    comm->timeout_ns = (int64_t)(timeout_seconds * 1e9);
    comm->names = names;
    comm->hosts = hosts;
    gethostname(hosts[comm->rank], sizeof(hosts[0]) - 1);
    comm->peers = peers;
    comm->processes = processes;
    comm->step = -1;
    atomic_init(&comm->lost, -1);
    locks_init(comm);
    for (int i = 0; i < size; i++) {
        snprintf(names[i], sizeof(names[i]), "node %d", i);
        processes[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    }
    enum stn_status status = transport ? thread_start(comm) : STN_OK;
    if (status != STN_OK) {
        node_free(comm);
        return status;
    }
    *out = comm;
    return STN_OK;
}

// Whether there are other nodes: those of a launcher, or of the MPI that the caller has started.
static bool has_others(void)
{
    struct comm_launch launch = comm_launch_detect();
    return (launch.launched && launch.size > 1) || comm_mpi_started();
}

enum stn_status comm_enter(int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    return has_others() ? comm_mpi_enter(rank, size) : STN_OK;
}

enum stn_status comm_open_alone(struct comm **out)
{
    return node_create(NULL, 0.0, out);
}

enum stn_status comm_open(double timeout_seconds, struct comm **out)
{
    int rank, size;
    enum stn_status status = comm_enter(&rank, &size);
    if (status || size == 1) {
        return status ? status : comm_open_alone(out);
    }
    struct comm_transport *transport;
    status = comm_mpi_open(&transport);
    if (status != STN_OK) {
        return status;
    }
    struct comm *comm;
    status = node_create(transport, timeout_seconds, &comm);
    if (status != STN_OK) {
        transport->ops->close(transport, true);
        return status;
    }
    status = run_and_wait(comm, start_run);
    if (status != STN_OK) {
        comm_close(comm);
        return status;
    }
    *out = comm;
    return STN_OK;
}

enum stn_status comm_loopback_create(int size, double timeout_seconds, struct comm *nodes[])
{
    struct comm_transport **transports = calloc((size_t)size, sizeof(struct comm_transport *));
    if (!transports) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a cluster of %d nodes", size);
    }
    int made = 0;
    enum stn_status status = comm_loopback_open(size, transports);
    if (status != STN_OK) {
        goto out_free;
    }
    for (; made < size && status == STN_OK; made++) {
        status = node_create(transports[made], timeout_seconds, &nodes[made]);
    }
    if (status != STN_OK) {
        made--;
        goto out_close;
    }
    struct comm_job jobs[COMM_LOOPBACK_MAX];
    for (int i = 0; i < size; i++) {
        jobs[i] = (struct comm_job){.run = start_run};
        comm_submit(nodes[i], &jobs[i]);
    }
    for (int i = 0; i < size; i++) {
        enum stn_status one = comm_wait(nodes[i], &jobs[i]);
        status = status == STN_OK ? one : status;
    }
    goto out_free;

out_close:
    for (int i = 0; i < made; i++) {
        thread_stop(nodes[i]);
        node_free(nodes[i]);
    }
    for (int i = 0; i < size; i++) {
        transports[i]->ops->close(transports[i], true);
    }
out_free:
    free(transports);
    return status;
}

void comm_abandon(struct comm *comm)
{
    atomic_store(&comm->leaving, true);
}

void comm_close(struct comm *comm)
{
    if (!comm) {
        return;
    }
    if (comm->transport) {
        comm_abandon(comm);
        bool lost = run_and_wait(comm, leave_run) != STN_OK;
        thread_stop(comm);
        comm->transport->ops->close(comm->transport, lost);
    }
    node_free(comm);
}

// ---- facts -------------------------------------------------------------------------------------

int comm_rank(const struct comm *comm)
{
    return comm->rank;
}

int comm_size(const struct comm *comm)
{
    return comm->size;
}

void comm_set_name(struct comm *comm, int rank, const char *name)
{
    pthread_mutex_lock(&comm->mutex);
    snprintf(comm->names[rank], sizeof(comm->names[rank]), "%s", name);
    pthread_mutex_unlock(&comm->mutex);
}

const char *comm_name(const struct comm *comm, int rank)
{
    return comm->names[rank];
}

const char *comm_host(const struct comm *comm, int rank)
{
    return comm->hosts[rank];
}

void comm_set_phase(struct comm *comm, int64_t step, const char *phase)
{
    pthread_mutex_lock(&comm->mutex);
    comm->step = step;
    comm->phase = phase;
    pthread_mutex_unlock(&comm->mutex);
    atomic_store(&comm->news, true);
}

struct comm_traffic comm_traffic(const struct comm *comm)
{
    struct comm_traffic traffic;
    for (int i = 0; i < COMM_KINDS; i++) {
        traffic.sent_bytes[i] = atomic_load(&comm->sent_bytes[i]);
    }
    return traffic;
}

double comm_processor_seconds(const struct comm *comm)
{
    clockid_t clock;
    struct timespec used;
    if (!comm->transport || pthread_getcpuclockid(comm->thread, &clock) != 0 ||
        clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

int comm_lost(const struct comm *comm)
{
    return atomic_load(&comm->lost);
}
