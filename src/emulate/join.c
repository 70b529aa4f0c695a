// SPDX-License-Identifier: Apache-2.0
// The child's side: it joins its group, or paces itself where there is none.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emulate/group.h"
#include "emulate/membership.h"

static const char *const words[] = {
    [EMULATE_CGROUP_V1] = "v1", [EMULATE_CGROUP_V2] = "v2", [EMULATE_PACING] = "pacing"};
enum { METHOD_COUNT = sizeof(words) / sizeof(words[0]) };

// The pacing of this process; one thread uses it.
static struct {
    double share;            // 0: not paced
    int64_t cpu_ns, wall_ns; // when the process was last within its share
} pace;

const char *emulate_method_word(enum emulate_method method)
{
    return words[method];
}

// The share of `rank` in "0=1,2=0.25", up to the end or a colon.
static bool find_share(const char *text, int rank, double *cpus)
{
    *cpus = 0;
    while (*text && *text != ':') {
        int item_rank, length = 0;
        double item_cpus;
        if (sscanf(text, "%d=%lf%n", &item_rank, &item_cpus, &length) != 2 || length == 0 ||
            !(item_cpus > 0)) {
            return false;
        }
        if (item_rank == rank) {
            *cpus = item_cpus;
        }
        text += length;
        text += *text == ',';
    }
    return *text == ':';
}

bool emulate_membership_parse(const char *text, int rank, struct emulate_membership *out)
{
    for (int i = 0; i < METHOD_COUNT; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(text, words[i], length) == 0 && text[length] == ':') {
            const char *shares = text + length + 1, *colon = strchr(shares, ':');
            *out = (struct emulate_membership){.method = (enum emulate_method)i,
                                               .dir = colon ? colon + 1 : NULL};
            return find_share(shares, rank, &out->cpus);
        }
    }
    return false;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum stn_status emulate_join(int rank)
{
    const char *text = getenv(EMULATE_VARIABLE);
    struct emulate_membership membership;
    if (!text) {
        return STN_OK;
    }
    if (!emulate_membership_parse(text, rank, &membership)) {
        return stn_fail(STN_ERR_INVALID,
                        EMULATE_VARIABLE "=%.60s: not what a launcher sets; "
                                         "unset it",
                        text);
    }
    if (membership.cpus == 0) {
        return STN_OK;
    }
    if (membership.method == EMULATE_PACING) {
        pace.share = membership.cpus;
        pace.cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        pace.wall_ns = now_ns(CLOCK_MONOTONIC);
        return STN_OK;
    }
    if (!emulate_group_enter(membership.dir, rank, getpid())) {
        return stn_fail(STN_ERR_IO, "node %d: cannot enter its control group %s/%d: %s", rank,
                        membership.dir, rank, strerror(errno));
    }
    return STN_OK;
}

double emulate_pace_share(void)
{
    return pace.share;
}

int64_t emulate_pause_ns(int64_t cpu_ns, int64_t wall_ns, double share)
{
    int64_t due_ns = (int64_t)((double)cpu_ns / share);
    return due_ns > wall_ns ? due_ns - wall_ns : 0;
}

void emulate_pace(void)
{
    if (pace.share == 0) {
        return;
    }
    int64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID), wall_ns = now_ns(CLOCK_MONOTONIC);
    int64_t until_ns =
        wall_ns + emulate_pause_ns(cpu_ns - pace.cpu_ns, wall_ns - pace.wall_ns, pace.share);
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
    // Counted from when it should have woken: if the kernel let it sleep longer, that is not lost.
    pace.cpu_ns = cpu_ns;
    pace.wall_ns = until_ns;
}
