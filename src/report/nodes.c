// SPDX-License-Identifier: Apache-2.0
#include "report/nodes.h"

#include <stdio.h>

#include "report/format.h"
#include "report/json.h"

static json_t *node_json(const struct stn_train_node *n)
{
    return json_pack(
        "{s:o, s:i, s:o, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I}}",
        "name", report_json_text(n->name), "threads", n->threads, "cpus", report_json_real(n->cpus),
        "micro_batches", n->micro_batches, "images", (json_int_t)n->images, "private_images",
        (json_int_t)n->private_images, "public_images", (json_int_t)n->public_images, "skipped",
        (json_int_t)n->skipped, "compute_seconds", report_json_real(n->compute_seconds),
        "wait_seconds", report_json_real(n->wait_seconds), "exchange_seconds",
        report_json_real(n->exchange_seconds), "exposed_seconds",
        report_json_real(n->exposed_seconds), "exposed_median_seconds",
        report_json_real(n->exposed_median_seconds), "exposed_p90_seconds",
        report_json_real(n->exposed_p90_seconds), "sent_bytes", "gradients",
        (json_int_t)n->gradient_bytes, "statistics", (json_int_t)n->statistic_bytes, "control",
        (json_int_t)n->control_bytes);
}

json_t *report_nodes_json(const struct stn_train_node *nodes, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && array; i++) {
        if (json_array_append_new(array, node_json(&nodes[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

void report_nodes_exchange_line(const struct stn_train_node *node,
                                char out[REPORT_NODES_LINE_BYTES])
{
    snprintf(
        out, REPORT_NODES_LINE_BYTES,
        "exchange     %.1f ms after the last gradient (median of steps; %.1f ms or less in 90 %%)",
        1e3 * node->exposed_median_seconds, 1e3 * node->exposed_p90_seconds);
}

void report_nodes_line(const struct stn_train_node *nodes, int line, int micro_batch,
                       char out[REPORT_NODES_LINE_BYTES])
{
    if (line == 0) {
        snprintf(out, REPORT_NODES_LINE_BYTES, "%-12s %5s %12s %9s %9s %9s %9s %6s %10s", "node",
                 "cpus", "share", "images", "private", "compute", "wait", "busy", "sent");
        return;
    }
    const struct stn_train_node *n = &nodes[line - 1];
    struct report_text images, own, compute, wait, sent;
    char share[32];
    double seconds = n->compute_seconds + n->wait_seconds;
    int64_t bytes = n->gradient_bytes + n->statistic_bytes + n->control_bytes;
    snprintf(share, sizeof(share), "%d (%d)", n->micro_batches, n->micro_batches * micro_batch);
    snprintf(out, REPORT_NODES_LINE_BYTES, "%-12.32s %5.2f %12s %9s %9s %9s %9s %4.0f %% %10s",
             n->name, n->cpus, share, report_count(&images, n->images),
             report_count(&own, n->private_images), report_duration(&compute, n->compute_seconds),
             report_duration(&wait, n->wait_seconds),
             seconds > 0.0 ? 100.0 * n->compute_seconds / seconds : 0.0,
             report_bytes(&sent, (size_t)bytes));
}
