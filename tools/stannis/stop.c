// SPDX-License-Identifier: Apache-2.0
#include "stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "stannis/log.h"

static volatile sig_atomic_t stop_signals;

static void on_signal(int number)
{
    if (number == SIGINT && stop_signals > 0) {
        _exit(130);
    }
    stop_signals = 1;
}

bool stop_requested(void *context)
{
    bool *announced = context;
    if (stop_signals && !*announced) {
        *announced = true;
        stn_log(STN_LOG_INFO, "stopping: saving the training (Ctrl-C again exits at once)");
    }
    return stop_signals != 0;
}

void stop_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action,
              NULL); // what our launcher sends: mpirun would not pass on the others
    // A reader of our output that goes away must not end the training.
    signal(SIGPIPE, SIG_IGN);
}
