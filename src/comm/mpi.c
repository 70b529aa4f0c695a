// SPDX-License-Identifier: Apache-2.0
// Messages by MPI: the only file that calls it. MPI is entered by one thread at a time: the node's
// owner opens and closes it, the communication thread does all between.
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/backend.h"
#include "comm/escape.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(void *), "a request fits where it is kept");

static enum stn_status fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length;
    MPI_Error_string(code, text, &length);
    return stn_fail(STN_ERR_IO, "MPI: %s: %s", what, text);
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
    return MPI_Isend(call->data, call->bytes, MPI_BYTE, call->peer, call->tag, MPI_COMM_WORLD,
                     &call->request);
}

static int call_receive(void *context)
{
    struct call *call = context;
    return MPI_Irecv(call->buffer, call->bytes, MPI_BYTE, call->peer, call->tag, MPI_COMM_WORLD,
                     &call->request);
}

static int call_test(void *context)
{
    struct call *call = context;
    return MPI_Test(&call->request, &call->done, MPI_STATUS_IGNORE);
}

// Not a mistake of ours: a connection's failure also comes as an error, while another is on its way
// to end the process.
static bool is_failed_connection(int code)
{
    int kind = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &kind);
    }
    return kind == MPI_ERR_INTERN || kind == MPI_ERR_OTHER || kind == MPI_ERR_UNKNOWN;
}

// Does nothing once the transport is broken; *request keeps what it was.
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

static void close_transport(struct comm_transport *transport, bool lost)
{
    if (!lost && !atomic_load(&transport->broken)) {
        MPI_Finalize();
    }
    free(transport);
}

static const struct comm_transport_ops ops = {
    .send = send_begin, .receive = receive_begin, .test = test, .close = close_transport};

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

enum stn_status comm_mpi_open(struct comm_transport **out)
{
    struct comm_transport *transport = calloc(1, sizeof(*transport));
    if (!transport) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for MPI");
    }
    silence();
    int provided;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) {
        free(transport);
        return fail("starting", code);
    }
    if (provided < MPI_THREAD_SERIALIZED) {
        close_transport(transport, false);
        return stn_fail(STN_ERR_UNSUPPORTED, "this MPI can be used by the main thread only");
    }
    comm_escape_init();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    transport->ops = &ops;
    MPI_Comm_rank(MPI_COMM_WORLD, &transport->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &transport->size);
    *out = transport;
    return STN_OK;
}
