// SPDX-License-Identifier: Apache-2.0
#include "base/lanes.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/setting_mark.h"

// A core that sleeps loses more than the time to wake up, on a virtual machine above all, so waits
// of usual length are worth staying awake for. A core that another thread wants, even the lane that
// this one waits for, is given up at once: offering it then takes longer than BUSY_NS
// (docs/decisions/0019).
enum { LOOKOUT_NS = 2000 * 1000, BUSY_NS = 20 * 1000, LOOKS_A_TIME = 256 };

// A number that grows, and a place to wait for that.
struct gate {
    atomic_uint number;
    pthread_mutex_t lock;
    pthread_cond_t grown;
};

struct worker {
    struct base_lanes *lanes;
    pthread_t thread;
    int lane;
};

struct base_lanes {
    int count;
    struct gate work, meeting;
    atomic_int arrived; // at the meeting that comes
    bool stop;
    base_lane_call *call;
    void *context;
    int started; // workers; a part of them only while we fail to start
    struct worker workers[];
};

static void gate_init(struct gate *gate)
{
    atomic_init(&gate->number, 0);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->grown, NULL);
}

static void gate_fini(struct gate *gate)
{
    pthread_cond_destroy(&gate->grown);
    pthread_mutex_destroy(&gate->lock);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->number, 1);
    pthread_mutex_unlock(&gate->lock);
    pthread_cond_broadcast(&gate->grown);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Whether the gate opened while this thread was spinning.
static bool gate_watch(const struct gate *gate, unsigned seen)
{
    int64_t now = base_clock_ns(), end = now + LOOKOUT_NS, before;
    do {
        for (int i = 0; i < LOOKS_A_TIME; i++) {
            if (atomic_load(&gate->number) != seen) {
                return true;
            }
            relax();
        }
        before = base_clock_ns();
        sched_yield();
        now = base_clock_ns();
    } while (now < end && now - before < BUSY_NS);
    return false;
}

static void gate_pass(struct gate *gate, unsigned seen)
{
    if (gate_watch(gate, seen)) {
        return;
    }
    pthread_mutex_lock(&gate->lock);
    while (atomic_load(&gate->number) == seen) {
        pthread_cond_wait(&gate->grown, &gate->lock);
    }
    pthread_mutex_unlock(&gate->lock);
}

void base_lanes_meet(struct base_lanes *lanes, void (*between)(void *context), void *context)
{
    unsigned seen = atomic_load(&lanes->meeting.number);
    if (atomic_fetch_add(&lanes->arrived, 1) + 1 < lanes->count) {
        gate_pass(&lanes->meeting, seen);
        return;
    }
    atomic_store(&lanes->arrived, 0);
    if (between) {
        between(context);
    }
    if (lanes->count > 1) {
        gate_open(&lanes->meeting);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct base_lanes *lanes = worker->lanes;
    for (unsigned seen = 0;; seen++) {
        gate_pass(&lanes->work, seen);
        if (lanes->stop) {
            return NULL;
        }
        lanes->call(lanes->context, worker->lane);
        base_lanes_meet(lanes, NULL, NULL);
    }
}

void base_lanes_run(struct base_lanes *lanes, base_lane_call *call, void *context)
{
    if (lanes->count == 1) {
        call(context, 0);
        return;
    }
    lanes->call = call;
    lanes->context = context;
    gate_open(&lanes->work);
    call(context, 0);
    base_lanes_meet(lanes, NULL, NULL);
}

int base_lanes_count(const struct base_lanes *lanes)
{
    return lanes->count;
}

void base_lanes_destroy(struct base_lanes *lanes)
{
    if (!lanes) {
        return;
    }
    lanes->stop = true;
    gate_open(&lanes->work);
    for (int i = 0; i < lanes->started; i++) {
        pthread_join(lanes->workers[i].thread, NULL);
    }
    gate_fini(&lanes->work);
    gate_fini(&lanes->meeting);
    free(lanes);
}

// Signals are the main thread's.
static bool workers_start(struct base_lanes *lanes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (!failed && lanes->started < lanes->count - 1) {
        struct worker *worker = &lanes->workers[lanes->started];
        *worker = (struct worker){.lanes = lanes, .lane = lanes->started + 1};
        failed = pthread_create(&worker->thread, NULL, work, worker);
        lanes->started += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

enum stn_status base_lanes_create(int count, struct base_lanes **out)
{
    size_t workers = (size_t)(count - 1);
    struct base_lanes *lanes = calloc(1, sizeof(*lanes) + workers * sizeof(*lanes->workers));
    if (!lanes) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d threads", count);
    }
    lanes->count = count;
    gate_init(&lanes->work);
    gate_init(&lanes->meeting);
    atomic_init(&lanes->arrived, 0);
    if (!workers_start(lanes)) {
        base_lanes_destroy(lanes);
        return stn_fail(STN_ERR_NO_MEMORY,
                        "cannot start %d threads to compute with; use a smaller " BASE_SETTING
                        "threads",
                        count);
    }
    *out = lanes;
    return STN_OK;
}
