// SPDX-License-Identifier: Apache-2.0
// The front end's thread: greets clients, shares memory with them, runs their sessions and sleeps
// when none has anything to do. Whatever a client does or leaves undone ends at worst its own
// connection.
//
//     csd_server_start → { csd_server_connect } … → csd_server_stop
//
// The subsystem and its back end outlive the server.
#ifndef CSD_SERVER_SERVER_H
#define CSD_SERVER_SERVER_H

#include "csd/nvme/subsystem.h"

struct csd_server;

// `listener` is a listening SOCK_SEQPACKET unix socket for clients of the host's controller, who
// must be root or of our user; it stays the caller's. −1: none.
STN_MUST_CHECK enum stn_status csd_server_start(struct nvme_subsystem *subsystem, int listener,
                                                struct csd_server **out);
// Ends all connections once their commands are done. Takes NULL.
void csd_server_stop(struct csd_server *server);
// A connection to one of the controllers, for processes that we start ourselves: only so can the
// in-storage engine's controller be reached. The caller closes *fd. Any thread.
STN_MUST_CHECK enum stn_status csd_server_connect(struct csd_server *server, uint16_t controller,
                                                  int *fd);

#endif
