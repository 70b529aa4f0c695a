// SPDX-License-Identifier: Apache-2.0
// The session of a test program: open from its first use to the end.
#ifndef TESTS_SESSION_H
#define TESTS_SESSION_H

#include <stddef.h>

#include "stannis/session.h"

static inline struct stn_session *test_session(void)
{
    static struct stn_session *session;
    if (!session && stn_session_open(NULL, &session) != STN_OK) {
        return NULL;
    }
    return session;
}

#endif
