// SPDX-License-Identifier: Apache-2.0
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/schedule.h"
#include "launch/launch.h"

bool nodes_wanted(const struct settings *settings)
{
    return settings->emulate || settings->hosts || settings->cluster;
}

enum stn_status nodes_read(const struct settings *settings, struct cluster *out)
{
    int given = !!settings->emulate + !!settings->hosts + !!settings->cluster;
    *out = (struct cluster){0};
    if (given > 1) {
        return stn_fail(STN_ERR_INVALID,
                        "--emulate, --hosts and --cluster: give one of them, not %d", given);
    }
    if (settings->emulate) {
        return cluster_parse_emulate(settings->emulate, out);
    }
    return settings->hosts ? cluster_parse_hosts(settings->hosts, out)
                           : cluster_load(settings->cluster, out);
}

enum stn_status nodes_text(const struct settings *settings, char **out)
{
    *out = NULL;
    if (!nodes_wanted(settings)) {
        return STN_OK;
    }
    struct cluster cluster;
    enum stn_status status = nodes_read(settings, &cluster);
    if (status == STN_OK) {
        status = cluster_format(&cluster, out);
    }
    cluster_fini(&cluster);
    return status;
}

enum stn_status nodes_check_interfere(const char *text)
{
    struct emulate_schedule schedule = {0};
    enum stn_status status = text ? emulate_schedule_parse(text, &schedule) : STN_OK;
    emulate_schedule_fini(&schedule);
    return status;
}

// The nodes' exit code as ours. The node that failed has said why.
static enum stn_status status_of(int exit_code)
{
    static const enum stn_status known[] = {STN_OK, STN_ERR_INVALID, STN_ERR_INTERRUPTED};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (stn_status_exit_code(known[i]) == exit_code) {
            return known[i];
        }
    }
    return STN_ERR_NODE_LOST;
}

// The line that would run: without what keeps it from running. `config->argv` is ours to change.
static enum stn_status print_line(const struct launch_config *config, char **argv)
{
    char **to = argv;
    for (char **from = argv; *from; from++) {
        if (strcmp(*from, "--dry-run") != 0) {
            *to++ = *from;
        }
    }
    *to = NULL;
    char *line = NULL;
    enum stn_status status = launch_line(config, &line);
    if (status == STN_OK) {
        puts(line);
    }
    free(line);
    return status;
}

enum stn_status nodes_launch(const struct settings *settings, char **argv)
{
    struct cluster cluster;
    enum stn_status status = nodes_read(settings, &cluster);
    if (status == STN_OK) {
        const struct launch_config config = {.cluster = &cluster,
                                             .argv = argv,
                                             .ssh = settings->ssh,
                                             .timeout_seconds = settings->timeout};
        int exit_code = 0;
        status = settings->dry_run ? print_line(&config, argv) : launch_run(&config, &exit_code);
        if (status == STN_OK) {
            status = status_of(exit_code);
        }
    }
    cluster_fini(&cluster);
    return status;
}
