// SPDX-License-Identifier: Apache-2.0
// What the tests of cluster/ share.
#ifndef TESTS_CLUSTER_REFUSED_H
#define TESTS_CLUSTER_REFUSED_H

#include "capture.h"
#include "cluster/cluster.h"
#include "cmocka_all.h"

typedef enum stn_status parser(const char *text, struct cluster *out);

static inline void assert_refused(parser *parse, const char *text, const char *line)
{
    struct capture capture;
    struct cluster cluster;
    capture_start(&capture);
    enum stn_status status = parse(text, &cluster);
    capture_stop();
    assert_int_equal(status, STN_ERR_INVALID);
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, line);
    assert_null(cluster.nodes);
}

#endif
