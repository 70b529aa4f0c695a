// SPDX-License-Identifier: Apache-2.0
// Between a caller of the library and what computes: whether the session may be used, and what the
// thread's last error is.
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "comm/comm.h"
#include "stannis/session.h"

// A call begins: refused with a line where the session is NULL, closed or in use. `call` is the
// function's name. After STN_OK session_end follows.
STN_MUST_CHECK enum stn_status session_begin(struct stn_session *session, const char *call);
// Returns `status`.
enum stn_status session_end(struct stn_session *session, enum stn_status status);
// The session's nodes, connected; for comm_close.
STN_MUST_CHECK enum stn_status session_connect(struct stn_session *session, double timeout_seconds,
                                               struct comm **out);

#endif
