// SPDX-License-Identifier: Apache-2.0
#include "power_view.h"

#include <math.h>
#include <stdio.h>

#include "report/json.h"

static void print_one(const struct power_finding *finding, double seconds)
{
    const struct energy_finding *found = &finding->found;
    double watts = energy_total_watts(&finding->total);
    printf("%-9s ", found->kind);
    if (!found->usable) {
        printf("cannot be read: %s\n", found->text);
    } else if (finding->stopped) {
        printf("%s, scope %s; stopped\n", found->text, energy_scope_name(found->scope));
    } else if (isnan(watts)) {
        printf("%s, scope %s; told nothing within %g s\n", found->text,
               energy_scope_name(found->scope), seconds);
    } else {
        printf("%s, scope %s; %.4g W over %.3g s\n", found->text, energy_scope_name(found->scope),
               watts, finding->total.known_s);
    }
}

void power_view_print(const struct power_finding findings[], int count, double seconds, bool any)
{
    const char *first = NULL;
    for (int i = 0; i < count; i++) {
        print_one(&findings[i], seconds);
        first = !first && findings[i].found.usable ? findings[i].found.kind : first;
    }
    if (first && any) {
        printf("\nauto takes %s\n", first);
    } else if (!first) {
        printf("\nNo power meter of this machine can be read. A wall meter's log (csv:FILE), a "
               "program that\nprints watts (cmd:PROGRAM) or a device profile (model:DEVICE) can "
               "take its place.\n");
    }
}

static json_t *describe(const struct power_finding *finding)
{
    const struct energy_finding *found = &finding->found;
    json_t *why = !found->usable     ? json_string(found->text)
                  : finding->stopped ? json_string("stopped")
                                     : json_null();
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "meter", found->kind, "readable",
                     found->usable, "scope",
                     found->usable ? json_string(energy_scope_name(found->scope)) : json_null(),
                     "reads", found->usable ? json_string(found->text) : json_null(), "why", why,
                     "watts", report_json_real(energy_total_watts(&finding->total)));
}

json_t *power_view_json(const struct power_finding findings[], int count, double seconds)
{
    json_t *meters = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(meters, describe(&findings[i]));
    }
    return json_pack("{s:f, s:o}", "seconds", seconds, "meters", meters);
}
