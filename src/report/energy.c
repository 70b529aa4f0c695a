// SPDX-License-Identifier: Apache-2.0
#include "report/energy.h"

#include "report/json.h"

static json_t *node_json(const struct stn_train_node_energy *node)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:f, s:f, s:I}", "name", node->name, "source",
                     node->source, "scope", report_json_text(node->scope), "joules",
                     report_json_real(node->joules), "idle_watts",
                     report_json_real(node->idle_watts), "known_seconds", node->known_seconds,
                     "gap_seconds", node->gap_seconds, "samples", (json_int_t)node->samples);
}

json_t *report_energy_json(const struct stn_train_energy *energy)
{
    json_t *nodes = json_array();
    bool ok = nodes != NULL;
    for (int i = 0; i < energy->nodes && ok; i++) {
        ok = json_array_append_new(nodes, node_json(&energy->node[i])) == 0;
    }
    if (!ok) {
        json_decref(nodes);
        return NULL;
    }
    return json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:f, s:I, s:i, s:i, s:i, s:o}", "epoch",
        energy->epoch, "text", energy->text, "joules", report_json_real(energy->joules),
        "above_idle_joules", report_json_real(energy->above_idle_joules), "joules_per_image",
        report_json_real(energy->joules_per_image), "promised_joules_per_image",
        report_json_real(energy->promised_joules_per_image), "flops_per_watt",
        report_json_real(energy->flops_per_watt), "at_least", energy->is_least, "seconds",
        energy->seconds, "images", (json_int_t)energy->images, "machines", energy->machines,
        "measured", energy->measured, "modelled", energy->modelled, "nodes", nodes);
}
