// SPDX-License-Identifier: Apache-2.0
// A session is what a process has once: its place among the nodes, and where lines go. Everything
// that computes takes one:
//
//     stn_session_open → stn_train_run, stn_tune_run, stn_eval_run, stn_bench_run,
//                        stn_predictor_open … → stn_session_close
//
// in any order and any number of times, one after the other. After closing, a session may be opened
// again. There is one at a time: the second is refused.
//
// Several nodes: under mpirun or srun the session joins the nodes that were started; every process
// opens its own and makes the same calls. MPI is started by the first session that needs it, with
// MPI_THREAD_SERIALIZED, and ended when the process exits, after main has returned. Where the
// caller has started MPI it is neither started nor ended: it must offer MPI_THREAD_SERIALIZED,
// last until the session is closed, and not be used by others while a call of this library runs.
// Without a launcher MPI is not touched.
//
// Threads: the session and its calls belong to one thread at a time; a call made while another runs
// is refused. The library starts threads of its own and joins them before a call returns. It sets
// no signal handlers and does not print but through the sink.
//
// Errors: every call returns a status. What went wrong is one line, which goes to the sink and is
// kept for stn_last_error. NULL where something is needed, a closed session, a value out of range
// give STN_ERR_INVALID.
#ifndef STANNIS_SESSION_H
#define STANNIS_SESSION_H

#include <stdbool.h>

#include "stannis/log.h"
#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stn_session_options {
    stn_log_sink *sink;       // of lines; NULL: where they went before, at first to
                              // standard error
    void *sink_context;       // given to it
    enum stn_log_level level; // lines above it are dropped
    bool alone;               // one node, whatever a launcher has started
};

struct stn_session;

// What a session is opened with: lines up to STN_LOG_INFO, not alone.
STN_EXPORT struct stn_session_options stn_session_defaults(void);
// Opens the session. `options` NULL: the defaults. *out is NULL unless it succeeds.
STN_EXPORT STN_MUST_CHECK enum stn_status
stn_session_open(const struct stn_session_options *options, struct stn_session **out);
// Closes the session. NULL and a closed one are fine. Predictors are closed first. Lines no longer
// go to the session's sink.
STN_EXPORT void stn_session_close(struct stn_session *session);

// How many nodes there are, and which of them this process is, from 0; −1 of a closed session.
STN_EXPORT int stn_session_nodes(const struct stn_session *session);
STN_EXPORT int stn_session_rank(const struct stn_session *session);

#ifdef __cplusplus
}
#endif

#endif
