// SPDX-License-Identifier: Apache-2.0
// stannis csd ls and format: which devices there are, and their namespaces.
#include <stdio.h>
#include <string.h>

#include "csd.h"
#include "csd/device/run.h"
#include "report/format.h"
#include "report/json.h"

enum { CLIENT_MEMORY = 1 << 20 };

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
    enum stn_status status = csd_client_connect(folder, CLIENT_MEMORY, &client);
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
                     (json_int_t)(ns->blocks * NVME_BLOCK_BYTES), "public", ns->shared,
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

struct ls_options {
    bool json;
};

static const struct base_option ls_rows[] = {
    VERB_ROW(struct ls_options, "json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command ls_command = {
    "csd ls", "Lists the devices of a rack and their namespaces.", "RACK",
    "Of a device that is off only its place is known.\n"
    "\n"
    "Examples\n"
    "  stannis csd ls rack",
    ls_rows};

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

static enum stn_status run_ls(int argc, char **argv)
{
    struct ls_options o = {false};
    struct base_option_result parsed;
    struct csd_rack rack;
    const char *path = NULL;
    bool done;
    enum stn_status status = verb_parse(&ls_command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = csd_operand(&ls_command, &parsed, "rack", "rack", &path);
    if (status == STN_OK) {
        status = csd_rack_open(path, &rack);
    }
    if (status != STN_OK) {
        return status;
    }
    json_t *devices = o.json ? json_array() : NULL;
    if (!o.json) {
        struct report_text size;
        printf("%s: %d × %s, %s each\n", path, rack.count, rack.profile,
               report_bytes(&size, rack.size));
    }
    status = list_rack(&rack, devices);
    if (status == STN_OK && o.json) {
        return verb_print_json(json_pack("{s:s, s:s, s:s, s:I, s:o}", "rack", path, "id", rack.id,
                                         "profile", rack.profile, "size", (json_int_t)rack.size,
                                         "devices", devices));
    }
    json_decref(devices);
    return status;
}

// ---- format -------------------------------------------------------------------------------------

struct format_options {
    const char *name, *delete, *protect, *unprotect;
    size_t size;
    bool public, private, list, json;
};

#define ROW(...) VERB_ROW(struct format_options, __VA_ARGS__)

static const struct base_option format_rows[] = {
    HEADING("One of"),
    ROW("namespace", TEXT, name, "NAME", "make a namespace", NO_LIMITS),
    ROW("delete", TEXT, delete, "NAME", "delete one: its key is overwritten, its data is gone",
        NO_LIMITS),
    ROW("protect", TEXT, protect, "NAME", "let nobody write to one any more", NO_LIMITS),
    ROW("unprotect", TEXT, unprotect, "NAME", "take that back", NO_LIMITS),
    ROW("list", FLAG, list, NULL, "list them", NO_LIMITS),
    HEADING("With --namespace"),
    ROW("size", BYTES, size, "SIZE", "its size as 1G; by default all that is free", 0, 0, NULL),
    ROW("public", FLAG, public, NULL, "for the host and the in-storage engine", NO_LIMITS),
    ROW("private", FLAG, private, NULL,
        "for the in-storage engine alone: the host can never read it", NO_LIMITS),
    HEADING("Output"),
    ROW("json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};
#undef ROW

static const struct base_command format_command = {
    "csd format", "Makes, lists and deletes the namespaces of a device.", "DEVICE",
    "Examples\n"
    "  stannis csd format rack/csd.0 --namespace photos --size 1G --public\n"
    "  stannis csd format rack/csd.0 --list\n"
    "  stannis csd format rack/csd.0 --delete photos",
    format_rows};

static enum stn_status check_format(const struct format_options *o)
{
    int wishes = (o->name != NULL) + (o->delete != NULL) + (o->protect != NULL) +
                 (o->unprotect != NULL) + o->list;
    if (wishes != 1) {
        return stn_fail(STN_ERR_INVALID, "csd format: say one of --namespace, --delete, --protect, "
                                         "--unprotect and --list");
    }
    if (o->name && o->public == o->private) {
        return stn_fail(STN_ERR_INVALID,
                        "csd format: --namespace %s: say --public or --private: who may read it",
                        o->name);
    }
    if (!o->name && (o->public || o->private || o->size)) {
        return stn_fail(STN_ERR_INVALID,
                        "csd format: --size, --public and --private belong to --namespace");
    }
    return STN_OK;
}

static enum stn_status make(struct csd_client *client, const struct format_options *o)
{
    struct csd_capacity capacity = {.free = 0};
    uint64_t size = o->size;
    uint32_t nsid;
    enum stn_status status = STN_OK;
    if (size == 0) {
        status = csd_capacity(client, &capacity);
        size = capacity.free;
    }
    if (status == STN_OK && size == 0) {
        status = stn_fail(STN_ERR_NO_SPACE, "%s: namespace %s: nothing is free",
                          csd_client_name(client), o->name);
    }
    return status == STN_OK ? csd_namespace_create(client, o->name, size, o->public, &nsid)
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

static enum stn_status apply(struct csd_client *client, const struct format_options *o)
{
    if (o->name) {
        return make(client, o);
    }
    if (o->delete) {
        return csd_namespace_delete(client, o->delete);
    }
    if (o->list) {
        return STN_OK;
    }
    return protect(client, o->protect ? o->protect : o->unprotect, o->protect != NULL);
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

static enum stn_status run_format(int argc, char **argv)
{
    struct format_options o = {0};
    struct base_option_result parsed;
    struct csd_client *client;
    const char *device = NULL;
    bool done;
    enum stn_status status = verb_parse(&format_command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = csd_operand(&format_command, &parsed, "device", "rack/csd.0 --list", &device);
    if (status == STN_OK) {
        status = check_format(&o);
    }
    if (status == STN_OK) {
        status = csd_client_connect(device, CLIENT_MEMORY, &client);
    }
    if (status != STN_OK) {
        return status;
    }
    status = apply(client, &o);
    if (status == STN_OK) {
        status = show_namespaces(client, o.json);
    }
    csd_client_close(client);
    return status;
}

const struct csd_subcommand csd_ls = {&ls_command, run_ls, false},
                            csd_format = {&format_command, run_format, false};
