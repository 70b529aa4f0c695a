// SPDX-License-Identifier: Apache-2.0
#include "energy/sampler.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "stannis/log.h"

static const double hang_usual_s = 2.0;

// Shared by the owner and the thread; the last of them frees it.
struct energy_sampler {
    pthread_mutex_t mutex;
    pthread_cond_t wake, answered; // for the thread; for the owner
    struct energy_meter *meter;    // the thread's
    struct energy_account reading; // the thread's
    struct energy_account account; // of the last reading that is done
    int64_t asked, done;           // readings that the owner wants, and that it has
    double hang_s, cpu_s;
    bool is_ending, is_dropped, thread_ended;
    int owners; // of this object: 2, 1
    pthread_t thread;
};

static struct timespec later(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    double whole = floor(seconds), part = (seconds - whole) * 1e9 + (double)at.tv_nsec;
    at.tv_sec += (time_t)whole + (part >= 1e9);
    at.tv_nsec = (long)(part >= 1e9 ? part - 1e9 : part);
    return at;
}

static void destroy(struct energy_sampler *sampler)
{
    energy_meter_close(sampler->meter);
    pthread_cond_destroy(&sampler->answered);
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->mutex);
    free(sampler);
}

// With the mutex held, which is given back.
static void release(struct energy_sampler *sampler)
{
    bool last = --sampler->owners == 0;
    pthread_mutex_unlock(&sampler->mutex);
    if (last) {
        destroy(sampler);
    }
}

// ---- the thread --------------------------------------------------------------------------------

static double thread_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// With the mutex held, but not while the meter is read.
static bool read_once(struct energy_sampler *sampler)
{
    int64_t asked = sampler->asked;
    pthread_mutex_unlock(&sampler->mutex);
    bool ok = energy_meter_read(sampler->meter, &sampler->reading);
    pthread_mutex_lock(&sampler->mutex);
    sampler->cpu_s = thread_cpu_s();
    if (sampler->is_dropped) {
        return false; // it came too late
    }
    if (ok) {
        sampler->account = sampler->reading;
    } else {
        sampler->is_dropped = true;
        stn_log(STN_LOG_WARN, "energy: meter %s is dropped: %s; going on without it",
                energy_meter_kind(sampler->meter), energy_meter_why(sampler->meter));
    }
    sampler->done = asked;
    pthread_cond_broadcast(&sampler->answered);
    return ok;
}

static void *sample(void *context)
{
    struct energy_sampler *sampler = context;
    double period_s = energy_meter_period_s(sampler->meter);
    pthread_mutex_lock(&sampler->mutex);
    while (!sampler->is_ending && read_once(sampler)) {
        struct timespec until = later(period_s);
        int late = 0;
        while (!sampler->is_ending && sampler->asked == sampler->done && late != ETIMEDOUT) {
            late = pthread_cond_timedwait(&sampler->wake, &sampler->mutex, &until);
        }
    }
    sampler->thread_ended = true;
    pthread_cond_broadcast(&sampler->answered);
    release(sampler);
    return NULL;
}

// ---- the owner ---------------------------------------------------------------------------------

static void init_waiting(struct energy_sampler *sampler)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&sampler->mutex, NULL);
    pthread_cond_init(&sampler->wake, &steady);
    pthread_cond_init(&sampler->answered, &steady);
    pthread_condattr_destroy(&steady);
}

enum stn_status energy_sampler_start(struct energy_meter *meter, double hang_s,
                                     struct energy_sampler **out)
{
    struct energy_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        energy_meter_close(meter);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to read a power meter");
    }
    sampler->meter = meter;
    sampler->hang_s = hang_s > 0.0 ? hang_s : hang_usual_s;
    sampler->account = sampler->reading = energy_meter_begin(meter);
    sampler->owners = 2;
    init_waiting(sampler);
    int error = pthread_create(&sampler->thread, NULL, sample, sampler);
    if (error) {
        destroy(sampler);
        return stn_fail(STN_ERR_NO_MEMORY, "no thread to read a power meter");
    }
    *out = sampler;
    return STN_OK;
}

// With the mutex held: until the thread has answered or ended, or is taken for hanging.
static void wait_for(struct energy_sampler *sampler, int64_t answer)
{
    struct timespec until = later(sampler->hang_s);
    int late = 0;
    while (!sampler->thread_ended && !sampler->is_dropped && sampler->done < answer &&
           late != ETIMEDOUT) {
        late = pthread_cond_timedwait(&sampler->answered, &sampler->mutex, &until);
    }
    if (!sampler->thread_ended && !sampler->is_dropped && sampler->done < answer) {
        sampler->is_dropped = true;
        stn_log(STN_LOG_WARN,
                "energy: meter %s is dropped: no answer for %g s; going on without it",
                energy_meter_kind(sampler->meter), sampler->hang_s);
    }
}

struct energy_total energy_sampler_now(struct energy_sampler *sampler)
{
    pthread_mutex_lock(&sampler->mutex);
    if (!sampler->is_dropped) {
        int64_t answer = ++sampler->asked;
        pthread_cond_signal(&sampler->wake);
        wait_for(sampler, answer);
    }
    struct energy_total total =
        energy_meter_until(sampler->meter, &sampler->account, energy_meter_now_s(sampler->meter));
    pthread_mutex_unlock(&sampler->mutex);
    return total;
}

bool energy_sampler_is_dropped(struct energy_sampler *sampler)
{
    pthread_mutex_lock(&sampler->mutex);
    bool dropped = sampler->is_dropped;
    pthread_mutex_unlock(&sampler->mutex);
    return dropped;
}

double energy_sampler_cpu_s(struct energy_sampler *sampler)
{
    pthread_mutex_lock(&sampler->mutex);
    double cpu_s = sampler->cpu_s;
    pthread_mutex_unlock(&sampler->mutex);
    return cpu_s;
}

void energy_sampler_stop(struct energy_sampler *sampler)
{
    if (!sampler) {
        return;
    }
    pthread_mutex_lock(&sampler->mutex);
    sampler->is_ending = true;
    pthread_cond_signal(&sampler->wake);
    struct timespec until = later(sampler->hang_s);
    int late = sampler->is_dropped ? ETIMEDOUT : 0;
    while (!sampler->thread_ended && late != ETIMEDOUT) {
        late = pthread_cond_timedwait(&sampler->answered, &sampler->mutex, &until);
    }
    bool ended = sampler->thread_ended;
    pthread_t thread = sampler->thread;
    release(sampler);
    if (ended) {
        pthread_join(thread, NULL);
    } else {
        pthread_detach(thread);
    }
}
