// SPDX-License-Identifier: Apache-2.0
// One client's connection, for this folder.
#ifndef CSD_SERVER_CONNECTION_H
#define CSD_SERVER_CONNECTION_H

#include "csd/nvme/hello.h"
#include "csd/nvme/session.h"

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_GREETING, // connected; has not said what it wants
    CONNECTION_SERVING,
    CONNECTION_ENDING, // its last commands are under way
};

struct connection {
    enum connection_state state;
    uint16_t controller;
    uint64_t since; // a count of connections, to find the oldest
    int socket;
    int doorbell;  // eventfd: the client writes
    int interrupt; // eventfd: we write; the client sees it through `completions` alone
    int completions;
    int wake; // the server's
    struct nvme_memory memory;
    struct nvme_session *session;
};

// What the client asks for; false: it is not a request, and the connection is to end.
bool connection_read_request(int socket, struct hello_request *out);
// Shares memory and starts the session; answers in either case. STN_OK: it is serving.
STN_MUST_CHECK enum stn_status connection_serve(struct connection *c,
                                                struct nvme_subsystem *subsystem,
                                                const struct hello_request *request);
// Answers why not.
void connection_refuse(const struct connection *c, const char *why);
// Frees what it has; its session is idle.
void connection_end(struct connection *c);

#endif
