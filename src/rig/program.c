// SPDX-License-Identifier: Apache-2.0
#include "rig/program.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulate/membership.h"

static const int64_t sleep_ns_min = 1000000; // shorter ones cost more than they are worth
// It makes up for what it did not get in so long, no more: not for having been stopped.
static const int64_t memory_ns = 100000000;

static void compute(void)
{
    for (volatile unsigned i = 0; i < 100000; i++) {
    }
}

noreturn static void loop(double share)
{
    int64_t begin_ns = base_clock_ns();
    for (;;) {
        compute();
        if (share >= 1) {
            continue;
        }
        int64_t cpu_ns = (int64_t)clock() * (1000000000 / CLOCKS_PER_SEC);
        int64_t earliest_ns = base_clock_ns() - memory_ns - (int64_t)((double)cpu_ns / share);
        begin_ns = begin_ns > earliest_ns ? begin_ns : earliest_ns;
        int64_t pause_ns = emulate_pause_ns(cpu_ns, base_clock_ns() - begin_ns, share);
        if (pause_ns >= sleep_ns_min) {
            struct timespec pause = {.tv_sec = pause_ns / 1000000000,
                                     .tv_nsec = pause_ns % 1000000000};
            nanosleep(&pause, NULL);
        }
    }
}

noreturn static void become_gzip(void)
{
    int zeros = open("/dev/zero", O_RDONLY), nowhere = open("/dev/null", O_WRONLY);
    if (zeros == STDIN_FILENO && nowhere == STDOUT_FILENO && dup(nowhere) == STDERR_FILENO) {
        execlp("gzip", "gzip", "-c", (char *)NULL);
    }
    _exit(RIG_PROGRAM_MISSING);
}

noreturn void rig_program_run(bool gzip, double share, pid_t parent)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0); // it ended before the kernel knew that we end with it
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        signal(numbers[i], SIG_DFL); // the node finishes its step first; we do not
    }
    close_range(0, UINT_MAX, 0); // among them the node's connections
    if (gzip) {
        become_gzip();
    }
    loop(share);
}
