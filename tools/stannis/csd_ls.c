// SPDX-License-Identifier: Apache-2.0
// stannis csd ls and format: which devices there are, and their namespaces.
#include <stdio.h>
#include <string.h>

#include "csd.h"
#include "csd/device/run.h"
#include "report/format.h"
#include "report/json.h"

struct seen {
    enum csd_power_state state;
    pid_t pid;
    bool answers;
    struct csd_capacity capacity;
    struct nvme_smart_log smart;
    struct csd_namespace namespaces[CSD_NAMESPACES_MAX];
    int count;
};

static enum stn_status ask(const char *folder, struct seen *out)
{
    struct csd_client *client;
    enum stn_status status = csd_client_connect(folder, CSD_CLIENT_MEMORY, &client);
    if (status != STN_OK) {
        return status;
    }
    status = csd_capacity(client, &out->capacity);
    if (status == STN_OK) {
        status = csd_smart(client, &out->smart);
    }
    if (status == STN_OK) {
        status = csd_namespaces(client, out->namespaces, &out->count);
    }
    out->answers = status == STN_OK;
    csd_client_close(client);
    return status;
}

static json_t *describe_namespace(const struct csd_namespace *ns)
{
    return json_pack("{s:s, s:i, s:I, s:b, s:b}", "name", ns->name, "nsid", (int)ns->nsid, "size",
                     (json_int_t)ns->blocks * NVME_BLOCK_BYTES, "public", ns->shared,
                     "write_protected", ns->write_protected);
}

static json_t *describe_namespaces(const struct seen *seen)
{
    json_t *list = json_array();
    for (int i = 0; i < seen->count; i++) {
        json_array_append_new(list, describe_namespace(&seen->namespaces[i]));
    }
    return list;
}

static void print_namespaces(const struct seen *seen)
{
    struct report_text size;
    for (int i = 0; i < seen->count; i++) {
        const struct csd_namespace *ns = &seen->namespaces[i];
        printf("  %-27s %10s  %s%s\n", ns->name, report_bytes(&size, ns->blocks * NVME_BLOCK_BYTES),
               ns->shared ? "public" : "private", ns->write_protected ? ", write protected" : "");
    }
}

// ---- ls -----------------------------------------------------------------------------------------

static const struct command ls_command = {
    .verb = STN_VERB_CSD_LS,
    .summary = "Lists the devices of a rack and their namespaces.",
    .operands = "RACK",
    .about = "Of a device that is off only its place is known.",
    .examples = "  stannis csd ls rack",
};

static json_t *describe_device(int index, const struct seen *seen)
{
    char name[24];
    snprintf(name, sizeof(name), "csd.%d", index);
    json_t *device =
        json_pack("{s:s, s:s}", "name", name, "state", seen->state == CSD_ON ? "on" : "off");
    if (seen->state == CSD_ON) {
        json_object_set_new(device, "pid", json_integer(seen->pid));
    }
    if (seen->answers) {
        json_object_set_new(device, "serial", json_string(seen->capacity.serial));
        json_object_set_new(device, "size", json_integer((json_int_t)seen->capacity.total));
        json_object_set_new(device, "free", json_integer((json_int_t)seen->capacity.free));
        json_object_set_new(device, "critical_warning", json_integer(seen->smart.critical_warning));
        json_object_set_new(device, "namespaces", describe_namespaces(seen));
    }
    return device;
}

static void print_device(int index, const struct seen *seen)
{
    struct report_text total, unused;
    if (seen->state == CSD_OFF) {
        printf("csd.%-3d off\n", index);
        return;
    }
    printf("csd.%-3d on   process %d, %s, %s free%s\n", index, (int)seen->pid,
           report_bytes(&total, seen->capacity.total), report_bytes(&unused, seen->capacity.free),
           seen->smart.critical_warning ? ", WORN OUT" : "");
    print_namespaces(seen);
}

static enum stn_status list_rack(const struct csd_rack *rack, json_t *devices)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < rack->count && status == STN_OK; i++) {
        char folder[CSD_PATH_BYTES];
        struct seen seen = {.state = CSD_OFF};
        status = csd_power_state(rack, i, &seen.state, &seen.pid);
        if (status == STN_OK) {
            status = csd_rack_folder(rack, i, folder);
        }
        if (status == STN_OK && seen.state == CSD_ON) {
            status = ask(folder, &seen);
        }
        if (status == STN_OK && devices) {
            json_array_append_new(devices, describe_device(i, &seen));
        } else if (status == STN_OK) {
            print_device(i, &seen);
        }
    }
    return status;
}

static enum stn_status run_ls(const struct verb_call *call)
{
    struct csd_rack rack;
    const char *path = NULL;
    enum stn_status status = csd_operand(&ls_command, &call->line, "rack", "rack", &path);
    if (status == STN_OK) {
        status = csd_rack_open(path, &rack);
    }
    if (status != STN_OK) {
        return status;
    }
    json_t *devices = call->settings.values.json ? json_array() : NULL;
    if (!call->settings.values.json) {
        struct report_text size;
        printf("%s: %d × %s, %s each\n", path, rack.count, rack.profile,
               report_bytes(&size, rack.size));
    }
    status = list_rack(&rack, devices);
    if (status == STN_OK && call->settings.values.json) {
        return verb_print_json(json_pack("{s:s, s:s, s:s, s:I, s:o}", "rack", path, "id", rack.id,
                                         "profile", rack.profile, "size", (json_int_t)rack.size,
                                         "devices", devices));
    }
    json_decref(devices);
    return status;
}

// ---- format -------------------------------------------------------------------------------------

static const struct command format_command = {
    .verb = STN_VERB_CSD_FORMAT,
    .summary = "Makes, lists and deletes the namespaces of a device.",
    .operands = "DEVICE",
    .examples = "  stannis csd format rack/csd.0 --namespace photos --size 1G --public\n"
                "  stannis csd format rack/csd.0 --list\n"
                "  stannis csd format rack/csd.0 --delete photos",
};

static enum stn_status check_format(const struct settings *s)
{
    int wishes = (s->namespace_made != NULL) + (s->namespace_deleted != NULL) +
                 (s->protect != NULL) + (s->unprotect != NULL) + s->list;
    if (wishes != 1) {
        return stn_fail(STN_ERR_INVALID, "csd format: say one of --namespace, --delete, --protect, "
                                         "--unprotect and --list");
    }
    if (s->namespace_made && s->public_data == s->private_data) {
        return stn_fail(STN_ERR_INVALID,
                        "csd format: --namespace %s: say --public or --private: who may read it",
                        s->namespace_made);
    }
    if (!s->namespace_made && (s->public_data || s->private_data || s->device_size)) {
        return stn_fail(STN_ERR_INVALID,
                        "csd format: --size, --public and --private belong to --namespace");
    }
    return STN_OK;
}

static enum stn_status make(struct csd_client *client, const struct settings *s)
{
    struct csd_capacity capacity = {.free = 0};
    uint64_t size = s->device_size;
    uint32_t nsid;
    enum stn_status status = STN_OK;
    if (size == 0) {
        status = csd_capacity(client, &capacity);
        size = capacity.free;
    }
    if (status == STN_OK && size == 0) {
        status = stn_fail(STN_ERR_NO_SPACE, "%s: namespace %s: nothing is free",
                          csd_client_name(client), s->namespace_made);
    }
    return status == STN_OK
               ? csd_namespace_create(client, s->namespace_made, size, s->public_data, &nsid)
               : status;
}

static enum stn_status protect(struct csd_client *client, const char *name, bool on)
{
    struct csd_namespace ns;
    enum stn_status status = csd_namespace_find(client, name, &ns);
    if (status == STN_OK && !ns.active) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: %s is private: only the in-storage engine can protect it",
                        csd_client_name(client), name);
    }
    return status == STN_OK ? csd_namespace_protect(client, ns.nsid, on) : status;
}

static enum stn_status apply(struct csd_client *client, const struct settings *s)
{
    if (s->namespace_made) {
        return make(client, s);
    }
    if (s->namespace_deleted) {
        return csd_namespace_delete(client, s->namespace_deleted);
    }
    if (s->list) {
        return STN_OK;
    }
    return protect(client, s->protect ? s->protect : s->unprotect, s->protect != NULL);
}

static enum stn_status show_namespaces(struct csd_client *client, bool json)
{
    struct seen seen = {.state = CSD_ON};
    enum stn_status status = csd_capacity(client, &seen.capacity);
    if (status == STN_OK) {
        status = csd_namespaces(client, seen.namespaces, &seen.count);
    }
    if (status == STN_OK && json) {
        return verb_print_json(json_pack("{s:s, s:I, s:I, s:o}", "device", csd_client_name(client),
                                         "size", (json_int_t)seen.capacity.total, "free",
                                         (json_int_t)seen.capacity.free, "namespaces",
                                         describe_namespaces(&seen)));
    }
    if (status == STN_OK) {
        struct report_text total, unused;
        printf("%s: %s, %s free\n", csd_client_name(client),
               report_bytes(&total, seen.capacity.total),
               report_bytes(&unused, seen.capacity.free));
        print_namespaces(&seen);
    }
    return status;
}

static enum stn_status run_format(const struct verb_call *call)
{
    struct csd_client *client;
    const char *device = NULL;
    enum stn_status status =
        csd_operand(&format_command, &call->line, "device", "rack/csd.0 --list", &device);
    if (status == STN_OK) {
        status = check_format(&call->settings.values);
    }
    if (status == STN_OK) {
        status = csd_client_connect(device, CSD_CLIENT_MEMORY, &client);
    }
    if (status != STN_OK) {
        return status;
    }
    status = apply(client, &call->settings.values);
    if (status == STN_OK) {
        status = show_namespaces(client, call->settings.values.json);
    }
    csd_client_close(client);
    return status;
}

const struct csd_subcommand csd_ls = {&ls_command, run_ls, false},
                            csd_format = {&format_command, run_format, false};
