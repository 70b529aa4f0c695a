// SPDX-License-Identifier: Apache-2.0
// stannis csd nbd: a public namespace for every NBD client, by nbdkit and our plug-in.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csd.h"

static const struct command command = {
    .verb = STN_VERB_CSD_NBD,
    .summary = "Serves a public namespace to NBD clients: fio, qemu, nbdfuse.",
    .operands = "DEVICE:NAMESPACE",
    .about = "Needs nbdkit (Debian's package of that name). Serves until Ctrl-C or SIGTERM.\n"
             "A flush of a client is the device's: what came before it survives a power cut.",
    .examples = "  stannis csd nbd rack/csd.0:photos --socket photos.sock\n"
                "  nbdinfo 'nbd+unix:///?socket=photos.sock'\n"
                "  nbdcopy photos.img 'nbd+unix:///?socket=photos.sock'",
};

enum stn_status csd_split_target(const char *target, char *device, const char **name)
{
    const char *colon = strrchr(target, ':');
    if (!colon || colon == target || colon[1] == '\0' || colon - target >= CSD_PATH_BYTES) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: say which namespace of which device, as "
                        "rack/csd.0:photos",
                        target);
    }
    memcpy(device, target, (size_t)(colon - target));
    device[colon - target] = '\0';
    *name = colon + 1;
    return STN_OK;
}

// What the plug-in would find out too late for one clear line.
static enum stn_status check_target(const char *device, const char *name)
{
    struct csd_client *client;
    struct csd_namespace ns;
    enum stn_status status = csd_client_connect(device, CSD_CLIENT_MEMORY, &client);
    if (status != STN_OK) {
        return status;
    }
    status = csd_namespace_find(client, name, &ns);
    if (status == STN_OK && !ns.active) {
        status = stn_fail(STN_ERR_INVALID,
                          "%s: %s is private: it is there for the in-storage engine alone", device,
                          name);
    }
    csd_client_close(client);
    return status;
}

// Beside the program, as it is built, or where it is installed.
static enum stn_status find_plugin(char out[PATH_MAX])
{
    static const char *const places[] = {"nbdkit-stannis-plugin.so",
                                         "../lib/stannis/nbdkit-stannis-plugin.so"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(out, PATH_MAX, "%s/%s", program, places[i]) < PATH_MAX &&
            access(out, R_OK) == 0) {
            return STN_OK;
        }
    }
    return stn_fail(
        STN_ERR_UNSUPPORTED,
        "csd nbd: the plug-in was not built; install nbdkit-plugin-dev and build again");
}

static enum stn_status become_nbdkit(const char *plugin, const char *device, const char *name,
                                     const struct settings *s)
{
    char device_argument[PATH_MAX + 16], name_argument[64], whole[PATH_MAX];
    if (!realpath(device, whole)) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: %s", device, strerror(errno));
    }
    snprintf(device_argument, sizeof(device_argument), "device=%s", whole);
    snprintf(name_argument, sizeof(name_argument), "namespace=%s", name);
    execlp("nbdkit", "nbdkit", "--foreground", "--exit-with-parent", "--unix", s->socket,
           "--filter=blocksize", plugin, device_argument, name_argument, "minblock=4k",
           s->read_only ? "--readonly" : NULL, (char *)NULL);
    return stn_fail(STN_ERR_UNSUPPORTED, "csd nbd: cannot start nbdkit: %s%s", strerror(errno),
                    errno == ENOENT ? "; Debian's package nbdkit has it" : "");
}

static enum stn_status run(const struct verb_call *call)
{
    const char *target = NULL, *name = NULL;
    char device[CSD_PATH_BYTES], plugin[PATH_MAX];
    enum stn_status status =
        csd_operand(&command, &call->line, "namespace", "rack/csd.0:photos --socket s", &target);
    if (status == STN_OK) {
        status = verb_require(&command, "socket", call->settings.values.socket, "photos.sock");
    }
    if (status == STN_OK) {
        status = csd_split_target(target, device, &name);
    }
    if (status == STN_OK) {
        status = check_target(device, name);
    }
    if (status == STN_OK) {
        status = find_plugin(plugin);
    }
    return status == STN_OK ? become_nbdkit(plugin, device, name, &call->settings.values) : status;
}

const struct csd_subcommand csd_nbd = {&command, run, false};
