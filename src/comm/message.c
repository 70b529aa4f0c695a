// SPDX-License-Identifier: Apache-2.0
// Messages between nodes: callers have structs, and the bytes of wire/wire.h travel. No memory is
// allocated.
#include <string.h>

#include "comm/node.h"

enum stn_status comm_fail_message(const struct comm *comm, int rank, enum wire_message message)
{
    const char *name = comm->names[rank];
    return stn_fail(STN_ERR_CORRUPT, "%s%s sent a message (%s) that cannot be read",
                    strncmp(name, "node ", 5) == 0 ? "" : "node ", name, // until named
                    wire_layouts[message].name);
}

static enum stn_status decode(const struct comm *comm, int from, enum wire_message message,
                              const uint8_t bytes[], void *value)
{
    return wire_decode(message, bytes, value) ? STN_OK : comm_fail_message(comm, from, message);
}

// Decodes in place: `all` holds every node's bytes one after the other and becomes [size] structs.
// A struct is at least as large as its bytes, so number i lies behind the bytes of all nodes before
// i; decoding from the last on overwrites only what has been decoded.
static enum stn_status spread(const struct comm *comm, enum wire_message message, void *all)
{
    const struct wire_layout *layout = &wire_layouts[message];
    enum stn_status status = STN_OK;
    for (int i = comm->size - 1; i >= 0; i--) {
        uint8_t bytes[WIRE_BYTES_MAX];
        memcpy(bytes, (const char *)all + (size_t)i * layout->bytes, layout->bytes);
        enum stn_status one =
            decode(comm, i, message, bytes, (char *)all + (size_t)i * layout->size);
        status = one ? one : status;
    }
    return status;
}

enum stn_status comm_broadcast_message(struct comm *comm, int root, enum wire_message message,
                                       void *value)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    if (comm->rank == root) {
        wire_encode(message, value, bytes);
    }
    enum stn_status status =
        comm_broadcast(comm, COMM_CONTROL, root, bytes, wire_layouts[message].bytes);
    bool came = !status && comm->rank != root;
    return came ? decode(comm, root, message, bytes, value) : status;
}

enum stn_status comm_gather_message(struct comm *comm, int root, enum wire_message message,
                                    const void *own, void *all)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    wire_encode(message, own, bytes);
    enum stn_status status =
        comm_gather(comm, COMM_CONTROL, root, bytes, wire_layouts[message].bytes, all);
    return status || comm->rank != root ? status : spread(comm, message, all);
}

enum stn_status comm_all_gather_message(struct comm *comm, enum wire_message message,
                                        const void *own, void *all)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    wire_encode(message, own, bytes);
    enum stn_status status =
        comm_all_gather(comm, COMM_CONTROL, bytes, wire_layouts[message].bytes, all);
    return status ? status : spread(comm, message, all);
}

// ---- inside jobs -------------------------------------------------------------------------------

enum stn_status comm_send_message(struct comm *comm, int peer, int tag, enum wire_message message,
                                  const void *value)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    wire_encode(message, value, bytes);
    return comm_send(comm, peer, tag, COMM_CONTROL, bytes, wire_layouts[message].bytes);
}

enum stn_status comm_receive_message(struct comm *comm, int peer, int tag,
                                     enum wire_message message, void *value)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    enum stn_status status = comm_receive(comm, peer, tag, bytes, wire_layouts[message].bytes);
    return status ? status : decode(comm, peer, message, bytes, value);
}

enum stn_status comm_collective_all_gather_message(struct comm *comm, enum wire_message message,
                                                   const void *own, void *all)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    wire_encode(message, own, bytes);
    enum stn_status status =
        comm_collective_all_gather(comm, COMM_CONTROL, bytes, wire_layouts[message].bytes, all);
    return status ? status : spread(comm, message, all);
}

enum stn_status comm_collective_broadcast_message(struct comm *comm, int root,
                                                  enum wire_message message, void *value)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    if (comm->rank == root) {
        wire_encode(message, value, bytes);
    }
    enum stn_status status =
        comm_collective_broadcast(comm, COMM_CONTROL, root, bytes, wire_layouts[message].bytes);
    bool came = !status && comm->rank != root;
    return came ? decode(comm, root, message, bytes, value) : status;
}
