// SPDX-License-Identifier: Apache-2.0
// Takes mpirun's own texts out of its output; the rest is the nodes'. mpirun's texts stand between
// two lines of dashes, or are lines with one of a few beginnings; they may follow a node's
// unfinished line. Bytes of nodes pass at once, so that a progress line (drawn again with \r) keeps
// moving. Pure. For this folder.
#ifndef LAUNCH_FILTER_H
#define LAUNCH_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct launch_filter {
    // Gets the bytes of nodes.
    void (*pass)(void *context, const char *data, size_t bytes);
    void *context;
    // Results: what mpirun said, as far as it fits, and whether a node has reported an error.
    char said[4096];
    size_t said_bytes;
    bool node_failed;
    // The state.
    enum { LAUNCH_FILTER_NODE, LAUNCH_FILTER_NOTICE, LAUNCH_FILTER_BANNER } state;
    char held[160]; // NODE: bytes that may begin a text of mpirun. BANNER: its last line so far
    size_t held_bytes;
    char last;            // byte that passed
    size_t error_matched; // characters of "stannis: error: " that passed last
};

void launch_filter_feed(struct launch_filter *filter, const char *data, size_t bytes);
// Called when nothing has come for a while, or the output has ended: bytes held back are a node's.
void launch_filter_settle(struct launch_filter *filter);
// The rank of a process that was ended by a signal, and the signal. False: mpirun told of none.
bool launch_filter_death(const struct launch_filter *filter, int *rank, int *signal_number);
// The rank of the first process that ended with a code other than 0. False: mpirun told of none.
bool launch_filter_exit(const struct launch_filter *filter, int *rank);
// The host whose daemon mpirun has lost. False: mpirun told of none.
bool launch_filter_host(const struct launch_filter *filter, char *host, size_t size);
// The first text of mpirun that is not about the end of a process, in one line. False: there is
// none.
bool launch_filter_reason(const struct launch_filter *filter, char *line, size_t size);

#endif
