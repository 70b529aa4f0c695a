// SPDX-License-Identifier: Apache-2.0
// What the verbs share.
#include "verb.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "stannis/model.h"

enum { NETS_MAX = 32 };

// The program's name, then argv; to be freed. The texts are borrowed. NULL when memory is out.
static char **copy_arguments(int argc, char **argv)
{
    static char program[] = "stannis";
    char **copy = calloc((size_t)argc + 2, sizeof(*copy));
    if (copy) {
        copy[0] = program;
        memcpy(copy + 1, argv, (size_t)argc * sizeof(*copy));
    }
    return copy;
}

enum stn_status verb_start(const struct command *command, verb_run *run, int argc, char **argv)
{
    struct verb_call call = {
        .settings = {.verb = command->verb, .values = settings_defaults(command->verb)},
        .whole = copy_arguments(argc, argv), // parsing reorders them
    };
    if (!call.whole) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d arguments", argc);
    }
    enum stn_status status = command_parse(command, argc, argv, &call.settings.values, &call.line);
    if (status == STN_OK && call.line.help) {
        command_print_help(command, call.line.help, stdout);
    } else if (status == STN_OK) {
        status = run(&call);
    }
    free(call.whole);
    return status;
}

enum stn_status verb_require(const struct command *command, const char *option, const char *value,
                             const char *example)
{
    if (!value) {
        return stn_fail(STN_ERR_INVALID, "%s: --%s is missing; for example: --%s %s",
                        stn_verb_name(command->verb), option, option, example);
    }
    return STN_OK;
}

enum stn_status verb_check_net(const char *net)
{
    if (stn_model_find(net)) {
        return STN_OK;
    }
    const char *names[NETS_MAX + 1] = {NULL};
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; i < stn_model_count() && i < NETS_MAX && used < sizeof(list); i++) {
        names[i] = stn_model_at(i)->name;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *meant = base_did_you_mean(net, names);
    if (meant) {
        return stn_fail(STN_ERR_NOT_FOUND, "--net %s: unknown network; did you mean %s? (%s)", net,
                        meant, list);
    }
    return stn_fail(STN_ERR_NOT_FOUND, "--net %s: unknown network; there are %s", net, list);
}

enum stn_status verb_open_session(bool alone, struct stn_session **out)
{
    struct stn_session_options options = stn_session_defaults();
    options.alone = alone;
    return stn_session_open(&options, out);
}

enum stn_status verb_print_json(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!text) {
        return stn_fail(STN_ERR_INTERNAL, "cannot make JSON of the result");
    }
    puts(text);
    free(text);
    return STN_OK;
}
