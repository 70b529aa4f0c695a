// SPDX-License-Identifier: Apache-2.0
#include "crew/vitals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const char tasks_path[] = "/proc/self/task";

// ---- threads -----------------------------------------------------------------------------------

static void threads_close(struct crew_vitals *v)
{
    for (int i = 0; i < v->thread_count; i++) {
        close(v->threads[i]);
    }
    v->thread_count = 0;
}

static void thread_add(struct crew_vitals *v, const char *number)
{
    char path[64];
    if (number[0] == '.' || v->thread_count == CREW_VITALS_THREADS) {
        return;
    }
    snprintf(path, sizeof(path), "%.20s/schedstat", number);
    int fd = openat(v->tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        v->threads[v->thread_count++] = fd;
    }
}

static int64_t links_of(const struct crew_vitals *v)
{
    struct stat info;
    return v->tasks >= 0 && fstat(v->tasks, &info) == 0 ? (int64_t)info.st_nlink : 0;
}

static void threads_look_up(struct crew_vitals *v)
{
    threads_close(v);
    v->links = links_of(v);
    DIR *folder = v->tasks >= 0 ? opendir(tasks_path) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        thread_add(v, entry->d_name);
    }
    if (folder) {
        closedir(folder);
    }
}

// "RUN_NS WAIT_NS SLICES"; false: the thread is gone.
static bool thread_queue(int fd, double *queue_s)
{
    char text[96], *end;
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    strtod(text, &end);
    *queue_s += strtod(end, NULL) * 1e-9;
    return true;
}

static bool threads_queue(const struct crew_vitals *v, double *queue_s)
{
    *queue_s = 0.0;
    for (int i = 0; i < v->thread_count; i++) {
        if (!thread_queue(v->threads[i], queue_s)) {
            return false;
        }
    }
    return true;
}

// ---- readings ----------------------------------------------------------------------------------

static double processor_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0
               ? (double)now.tv_sec + (double)now.tv_nsec * 1e-9
               : 0.0;
}

static struct crew_vitals_reading read_all(struct crew_vitals *v, double io_s)
{
    struct base_cgroup_usage group = base_cgroup_meter_read(&v->group);
    struct crew_vitals_reading now = {.clock_s = base_clock_seconds(),
                                      .cpu_s = processor_seconds(),
                                      .throttled_s = group.throttled_s,
                                      .share_cpu_s = group.cpu_s,
                                      .io_s = io_s};
    bool current = links_of(v) == v->links && threads_queue(v, &now.queue_s);
    if (!current) {
        threads_look_up(v);
        if (!threads_queue(v, &now.queue_s)) {
            now.queue_s = 0.0;
        }
    }
    return now;
}

// The difference, at least 0: a thread that ended has taken its figures with it.
static double since(double before, double now)
{
    return now > before ? now - before : 0.0;
}

void crew_vitals_open(struct crew_vitals *out)
{
    *out = (struct crew_vitals){.is_open = true,
                                .tasks = open(tasks_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                .opened_s = base_clock_seconds()};
    base_cgroup_meter_open("", &out->group);
}

void crew_vitals_close(struct crew_vitals *vitals)
{
    if (!vitals->is_open) {
        return;
    }
    threads_close(vitals);
    base_cgroup_meter_close(&vitals->group);
    if (vitals->tasks >= 0) {
        close(vitals->tasks);
    }
    vitals->is_open = false;
}

void crew_vitals_begin(struct crew_vitals *vitals, double io_s)
{
    vitals->begun = read_all(vitals, io_s);
}

void crew_vitals_computed(struct crew_vitals *vitals, double io_s, double idle_s)
{
    const struct crew_vitals_reading was = vitals->begun, now = read_all(vitals, io_s);
    vitals->report = (struct hypertune_report){
        .compute_s = since(was.clock_s + idle_s, now.clock_s),
        .wait_s = idle_s,
        .io_s = since(was.io_s, now.io_s),
        .cpu_s = since(was.cpu_s, now.cpu_s),
        .queue_s = since(was.queue_s, now.queue_s),
        .throttled_s = since(was.throttled_s, now.throttled_s),
        .share_cpu_s = since(was.share_cpu_s, now.share_cpu_s),
        .clock_s = now.clock_s,
    };
}

struct hypertune_report crew_vitals_exchanged(struct crew_vitals *vitals, int64_t step,
                                              int micro_batches)
{
    struct hypertune_report *report = &vitals->report;
    double now_s = base_clock_seconds();
    report->step = step;
    report->micro_batches = micro_batches;
    report->wait_s += since(report->clock_s, now_s);
    report->clock_s = now_s - vitals->opened_s;
    return *report;
}
