// SPDX-License-Identifier: Apache-2.0
// Takes what mpirun says itself out of the stream of what its nodes say. mpirun's texts stand
// between two lines of dashes, or are lines with one of a few beginnings; they may follow a node's
// unfinished line. Anything else is a node's and passes at once, so that a line that moves (\r)
// keeps moving. Pure. For this folder.
#ifndef LAUNCH_FILTER_H
#define LAUNCH_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct launch_filter {
    // What passes goes here.
    void (*pass)(void *context, const char *data, size_t bytes);
    void *context;
    // Results: what mpirun said, as far as it fits, and whether a node has reported an error.
    char said[4096];
    size_t said_bytes;
    bool node_failed;
    // Inside.
    enum { LAUNCH_FILTER_NODE, LAUNCH_FILTER_NOTICE, LAUNCH_FILTER_BANNER } state;
    char held[160]; // NODE: may be the beginning of a text of mpirun. BANNER: the last line so far
    size_t held_bytes;
    char last;            // byte that passed
    size_t error_matched; // characters of "stannis: error: " that passed last
};

void launch_filter_feed(struct launch_filter *filter, const char *data, size_t bytes);
// When no more has come for a while, or the output has ended: what is held back is a node's.
void launch_filter_settle(struct launch_filter *filter);
// mpirun's notice of a process that a signal ended: its rank and the signal. False: it said no such
// thing.
bool launch_filter_death(const struct launch_filter *filter, int *rank, int *signal_number);
// The rank of the first process that ended with a code other than 0, if mpirun told it.
bool launch_filter_exit(const struct launch_filter *filter, int *rank);
// The host whose daemon mpirun has lost.
bool launch_filter_host(const struct launch_filter *filter, char *host, size_t size);
// The first thing mpirun said beyond that a process ended, in one line. False: it said nothing.
bool launch_filter_reason(const struct launch_filter *filter, char *line, size_t size);

#endif
