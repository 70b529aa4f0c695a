// SPDX-License-Identifier: Apache-2.0
// What each node of a cluster did: as JSON, and as a table for people. Pure.
#ifndef REPORT_NODES_H
#define REPORT_NODES_H

#include <jansson.h>

#include "stannis/train.h"

// An array with an object a node; NULL when memory is out.
json_t *report_nodes_json(const struct stn_train_node *nodes, int count);

enum { REPORT_NODES_LINE_BYTES = 160 };

// Lines of the table: the header is line 0, node i line i + 1. `micro_batch` is g.
void report_nodes_line(const struct stn_train_node *nodes, int line, int micro_batch,
                       char out[REPORT_NODES_LINE_BYTES]);
// Below it: what no node could compute in. Any node's.
void report_nodes_exchange_line(const struct stn_train_node *node,
                                char out[REPORT_NODES_LINE_BYTES]);

#endif
