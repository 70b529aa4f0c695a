// SPDX-License-Identifier: Apache-2.0
// Messages by MPI: the only file that calls it. One thread at a time does: the owner of the node to
// open and close, the communication thread in between.
//
// MPI can be started and ended only once in a process, while nodes may be opened and closed again
// and again. So it is entered at the first opening and left when the process exits; or never, where
// a caller has started it. Our messages have a communicator of their own, and those of each opening
// tags of their own: what is still under way when a node closes finds no receiver after that.
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/backend.h"
#include "comm/escape.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(void *), "a request fits where it is kept");

static struct {
    bool entered;
    bool lost;      // a node was: MPI would wait for it
    int open;       // transports
    int opened;     // so far
    int openings;   // that have tags of their own
    MPI_Comm nodes; // a copy of MPI_COMM_WORLD
} process;

static enum stn_status fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length;
    MPI_Error_string(code, text, &length);
    return stn_fail(STN_ERR_IO, "MPI: %s: %s", what, text);
}

enum { TAGS = 2048 };
_Static_assert((int)COMM_TAG_LIFE < (int)TAGS, "an opening has tags enough");

// Our tag as MPI gets it. Nodes open and close together, so it is the same on all of them.
static int tag_now(int tag)
{
    return process.opened % process.openings * TAGS + tag;
}

// One MPI call, as comm_escape_call makes it.
struct call {
    const void *data; // to send
    void *buffer;     // to receive into
    int bytes, peer, tag;
    MPI_Request request;
    int done;
};

static int call_send(void *context)
{
    struct call *call = context;
    return MPI_Isend(call->data, call->bytes, MPI_BYTE, call->peer, tag_now(call->tag),
                     process.nodes, &call->request);
}

static int call_receive(void *context)
{
    struct call *call = context;
    return MPI_Irecv(call->buffer, call->bytes, MPI_BYTE, call->peer, tag_now(call->tag),
                     process.nodes, &call->request);
}

static int call_test(void *context)
{
    struct call *call = context;
    return MPI_Test(&call->request, &call->done, MPI_STATUS_IGNORE);
}

// Whether an error of MPI means that a connection failed. Such a failure may come as an error code
// while Open MPI is about to end the process for it.
static bool is_failed_connection(int code)
{
    int kind = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &kind);
    }
    return kind == MPI_ERR_INTERN || kind == MPI_ERR_OTHER || kind == MPI_ERR_UNKNOWN;
}

// Makes an MPI call, unless the transport is broken; *request then stays as it is.
static enum stn_status make(struct comm_transport *transport, int (*function)(void *),
                            struct call *call, void **request, const char *what)
{
    int code = MPI_SUCCESS;
    if (atomic_load(&transport->broken) || !comm_escape_call(function, call, &code) ||
        is_failed_connection(code)) {
        atomic_store(&transport->broken, true);
        return STN_OK;
    }
    memcpy(request, &call->request, sizeof(call->request));
    return code == MPI_SUCCESS ? STN_OK : fail(what, code);
}

static enum stn_status check_length(size_t bytes)
{
    if (bytes > INT_MAX) {
        return stn_fail(STN_ERR_UNSUPPORTED, "MPI: a message of %zu bytes; at most %d", bytes,
                        INT_MAX);
    }
    return STN_OK;
}

static enum stn_status send_begin(struct comm_transport *transport, int peer, int tag,
                                  const void *data, size_t bytes, void **request)
{
    struct call call = {.data = data, .bytes = (int)bytes, .peer = peer, .tag = tag};
    enum stn_status status = check_length(bytes);
    return status == STN_OK ? make(transport, call_send, &call, request, "sending") : status;
}

static enum stn_status receive_begin(struct comm_transport *transport, int peer, int tag,
                                     void *data, size_t bytes, void **request)
{
    struct call call = {.buffer = data, .bytes = (int)bytes, .peer = peer, .tag = tag};
    enum stn_status status = check_length(bytes);
    return status == STN_OK ? make(transport, call_receive, &call, request, "receiving") : status;
}

static enum stn_status test(struct comm_transport *transport, void **request, bool *done)
{
    struct call call = {.done = false};
    memcpy(&call.request, request, sizeof(call.request));
    enum stn_status status = make(transport, call_test, &call, request, "transfer");
    *done = call.done && !atomic_load(&transport->broken);
    return status;
}

static int call_cancel(void *context)
{
    struct call *call = context;
    int code = MPI_Cancel(&call->request);
    return code == MPI_SUCCESS ? MPI_Wait(&call->request, MPI_STATUS_IGNORE) : code;
}

static void cancel(struct comm_transport *transport, void **request)
{
    struct call call = {.done = false};
    memcpy(&call.request, request, sizeof(call.request));
    enum stn_status status = make(transport, call_cancel, &call, request, "closing");
    (void)status; // said; a receive that cannot be cancelled is left alone
}

static void close_transport(struct comm_transport *transport, bool lost)
{
    process.lost = process.lost || lost || atomic_load(&transport->broken);
    process.open--;
    free(transport);
}

static const struct comm_transport_ops ops = {.send = send_begin,
                                              .receive = receive_begin,
                                              .test = test,
                                              .cancel = cancel,
                                              .close = close_transport};

// ---- the process -------------------------------------------------------------------------------

// When a node dies while another reads its memory, Open MPI says so in words of its own. Between
// nodes of one machine there is nothing else that it would say there; between machines it may
// explain why one cannot be reached.
static void silence(void)
{
    struct comm_launch launch = comm_launch_detect();
    int nowhere = launch.local_size == launch.size ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nowhere >= 0) {
        char text[16];
        snprintf(text, sizeof(text), "%d", nowhere);
        setenv("OPAL_OUTPUT_STDERR_FD", text, 0);
    }
}

// Finalises MPI at exit. A process that ends in the middle of a training does not wait for the
// other nodes.
static void leave(void)
{
    if (!process.lost && process.open == 0) {
        MPI_Finalize();
    }
}

static enum stn_status start(int *provided)
{
    silence();
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
    if (code != MPI_SUCCESS) {
        return fail("starting", code);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (atexit(leave) != 0) {
        return stn_fail(STN_ERR_INTERNAL, "MPI: cannot arrange to leave it at exit");
    }
    return STN_OK;
}

// Initialises MPI unless the caller or an earlier opening has done so.
static enum stn_status start_or_join(void)
{
    int started = 0, ended = 0, provided = MPI_THREAD_SINGLE;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (ended) {
        return stn_fail(STN_ERR_INVALID,
                        "MPI: this process has ended it already, and it cannot start again");
    }
    if (started) {
        MPI_Query_thread(&provided);
    } else {
        enum stn_status status = start(&provided);
        if (status) {
            return status;
        }
    }
    if (provided < MPI_THREAD_SERIALIZED) {
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "MPI: can be used by the main thread only; it must have been started with "
                        "MPI_THREAD_SERIALIZED or more");
    }
    return STN_OK;
}

// How many openings have tags of their own, by the number of tags that MPI has.
static int openings(void)
{
    int *most = NULL, found = 0;
    MPI_Comm_get_attr(process.nodes, MPI_TAG_UB, (void *)&most, &found);
    return found && *most >= 2 * TAGS ? *most / TAGS : 1;
}

bool comm_mpi_started(void)
{
    int started = 0, ended = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    return started && !ended;
}

enum stn_status comm_mpi_enter(int *rank, int *size)
{
    if (process.lost) {
        return stn_fail(STN_ERR_NODE_LOST,
                        "a node was lost: this process cannot reach the others any more");
    }
    if (!process.entered) {
        enum stn_status status = start_or_join();
        int code = status ? MPI_SUCCESS : MPI_Comm_dup(MPI_COMM_WORLD, &process.nodes);
        if (status || code != MPI_SUCCESS) {
            return status ? status : fail("joining the nodes", code);
        }
        comm_escape_init();
        MPI_Comm_set_errhandler(process.nodes, MPI_ERRORS_RETURN);
        process.openings = openings();
        process.entered = true;
    }
    MPI_Comm_rank(process.nodes, rank);
    MPI_Comm_size(process.nodes, size);
    return STN_OK;
}

enum stn_status comm_mpi_open(struct comm_transport **out)
{
    struct comm_transport *transport = calloc(1, sizeof(*transport));
    if (!transport) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for MPI");
    }
    enum stn_status status = comm_mpi_enter(&transport->rank, &transport->size);
    if (status) {
        free(transport);
        return status;
    }
    transport->ops = &ops;
    process.open++;
    process.opened++;
    *out = transport;
    return STN_OK;
}
