// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/last_error.h"
#include "base/need.h"

struct stn_session {
    bool alone, own_sink;
    int rank, nodes;
    atomic_bool busy; // a call runs
};

// The open one. A session is looked into only after it was compared with this: a closed one is no
// memory of ours any more.
static _Atomic(struct stn_session *) current;
static atomic_bool opening;

struct stn_session_options stn_session_defaults(void)
{
    return (struct stn_session_options){.level = STN_LOG_INFO};
}

static void lines_begin(const struct stn_session_options *options)
{
    if (options->sink) {
        stn_log_set_sink(options->sink, options->sink_context);
    }
    stn_log_set_level(options->level);
}

// As before there was a session.
static void lines_end(bool own_sink)
{
    if (own_sink) {
        stn_log_set_sink(NULL, NULL);
    }
    stn_log_set_level(STN_LOG_INFO);
}

static enum stn_status open_one(const struct stn_session_options *options, struct stn_session **out)
{
    if (atomic_load(&current)) {
        return stn_fail(STN_ERR_INVALID,
                        "stn_session_open: there is a session already; a process has one at a "
                        "time, close it first");
    }
    struct stn_session *session = calloc(1, sizeof(*session));
    if (!session) {
        return stn_fail(STN_ERR_NO_MEMORY, "stn_session_open: no memory");
    }
    lines_begin(options);
    session->alone = options->alone;
    session->own_sink = options->sink != NULL;
    session->nodes = 1;
    enum stn_status status = options->alone ? STN_OK : comm_enter(&session->rank, &session->nodes);
    if (status) {
        lines_end(session->own_sink);
        free(session);
        return status;
    }
    atomic_store(&current, session);
    *out = session;
    return STN_OK;
}

enum stn_status stn_session_open(const struct stn_session_options *options,
                                 struct stn_session **out)
{
    const struct stn_session_options defaults = stn_session_defaults();
    base_last_error_clear();
    enum stn_status status = base_need(out, "stn_session_open", "place for the session");
    if (status) {
        return status;
    }
    *out = NULL;
    if (atomic_exchange(&opening, true)) {
        return stn_fail(STN_ERR_INVALID, "stn_session_open: another thread is opening one");
    }
    status = open_one(options ? options : &defaults, out);
    atomic_store(&opening, false);
    return base_last_error_settle(status);
}

void stn_session_close(struct stn_session *session)
{
    if (!session || session != atomic_load(&current)) {
        return;
    }
    if (atomic_exchange(&session->busy, true)) {
        stn_log(STN_LOG_ERROR, "stn_session_close: a call is using the session; not closed");
        return;
    }
    atomic_store(&current, NULL);
    lines_end(session->own_sink);
    free(session);
}

int stn_session_nodes(const struct stn_session *session)
{
    return session && session == atomic_load(&current) ? session->nodes : -1;
}

int stn_session_rank(const struct stn_session *session)
{
    return session && session == atomic_load(&current) ? session->rank : -1;
}

// ---- calls -------------------------------------------------------------------------------------

enum stn_status session_begin(struct stn_session *session, const char *call)
{
    base_last_error_clear();
    if (!session) {
        return stn_fail(STN_ERR_INVALID, "%s: no session; see stn_session_open", call);
    }
    if (session != atomic_load(&current)) {
        return stn_fail(STN_ERR_INVALID, "%s: this session is not open", call);
    }
    if (atomic_exchange(&session->busy, true)) {
        return stn_fail(STN_ERR_INVALID, "%s: another call is using the session", call);
    }
    return STN_OK;
}

enum stn_status session_end(struct stn_session *session, enum stn_status status)
{
    atomic_store(&session->busy, false);
    return base_last_error_settle(status);
}

enum stn_status session_connect(struct stn_session *session, double timeout_seconds,
                                struct comm **out)
{
    return session->alone ? comm_open_alone(out) : comm_open(timeout_seconds, out);
}
