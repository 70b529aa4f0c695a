// SPDX-License-Identifier: Apache-2.0
// stannis csd create, start, ls, stop, destroy: racks of devices.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "csd.h"
#include "csd/device/run.h"
#include "report/format.h"
#include "stannis/log.h"

enum stn_status csd_operand(const struct base_command *command,
                            const struct base_option_result *parsed, const char *what,
                            const char *example, const char **out)
{
    if (parsed->operand_count == 0) {
        return stn_fail(STN_ERR_INVALID, "%s: no %s given; for example: stannis %s %s",
                        command->name, what, command->name, example);
    }
    if (parsed->operand_count > 1) {
        return stn_fail(STN_ERR_INVALID, "%s: unexpected argument %s", command->name,
                        parsed->operands[1]);
    }
    *out = parsed->operands[0];
    return STN_OK;
}

// ---- Progress -----------------------------------------------------------------------------------

static void show(void *context, int index, int count)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%s csd.%d (%d of %d)\033[K", (const char *)context, index, index + 1,
                count);
        fflush(stderr);
    }
}

struct csd_rack_progress csd_show_progress(const char *doing)
{
    union { // a text that the progress only reads
        const char *text;
        void *context;
    } as = {.text = doing};
    return (struct csd_rack_progress){.made = show, .context = as.context};
}

void csd_end_progress(void)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

// ---- create -------------------------------------------------------------------------------------

struct create_options {
    int count, ecc, timing;
    const char *profile;
    size_t size;
    double over_provisioning;
    int endurance;
    bool json;
};

static const char *const ecc_names[] = {"crc", "bch", NULL};

#define ROW(...) VERB_ROW(struct create_options, __VA_ARGS__)

static const struct base_option create_rows[] = {
    ROW("count", INT, count, "N", "devices", 1, CSD_RACK_DEVICES_MAX, NULL),
    ROW("profile", TEXT, profile, "NAME",
        "what flash they are made of: newport, laguna, tiny, or a file as share/devices/csd has",
        NO_LIMITS),
    ROW("size", BYTES, size, "SIZE", "what each device offers, as 4G", 0, 0, NULL),
    ROW("ecc", CHOICE, ecc, NULL,
        "bch corrects bit errors, crc only finds them and is faster; by default the profile's", 0,
        0, ecc_names),
    ROW("timing", CHOICE, timing, NULL,
        "how long real flash would take: off, counted in stat, or enforced", 0, 0,
        csd_timing_names),
    ROW("over-provisioning", REAL, over_provisioning, "PART",
        "more flash than is offered, as 0.28; by default the profile's", 0.02, 4, NULL),
    ROW("endurance", INT, endurance, "N", "erases that a block lasts; by default the profile's", 1,
        1000000, NULL),
    ROW("json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};
#undef ROW

static const struct base_command create_command = {
    "csd create", "Makes a rack of devices.", "RACK",
    "The devices are off and empty. Their media files are sparse: they take room on the disk as\n"
    "they are written to.\n"
    "\n"
    "Examples\n"
    "  stannis csd create rack --count 4 --profile newport --size 4G\n"
    "  stannis csd create small --profile tiny --size 16M --ecc crc",
    create_rows};

static enum stn_status create_rack(const struct create_options *o, const char *path)
{
    struct csd_rack rack = {
        .count = o->count, .size = o->size, .timing = (enum flash_timing_mode)o->timing};
    struct csd_profile profile;
    if (snprintf(rack.path, sizeof(rack.path), "%s", path) >= (int)sizeof(rack.path)) {
        return stn_fail(STN_ERR_INVALID, "csd create: the path is too long");
    }
    enum stn_status status = csd_profile_find(o->profile, &profile);
    if (status != STN_OK) {
        return status;
    }
    if (o->ecc >= 0) {
        profile.flash.ecc = (enum flash_ecc)o->ecc;
    }
    if (o->over_provisioning > 0) {
        profile.flash.over_provisioning = o->over_provisioning;
    }
    if (o->endurance > 0) {
        profile.flash.endurance = o->endurance;
    }
    const struct csd_rack_progress progress = csd_show_progress("making");
    status = csd_rack_create(&rack, &profile, &progress);
    csd_end_progress();
    if (status == STN_OK && o->json) {
        return verb_print_json(json_pack("{s:s, s:s, s:s, s:i, s:I}", "rack", path, "id", rack.id,
                                         "profile", rack.profile, "count", rack.count, "size",
                                         (json_int_t)rack.size));
    }
    if (status == STN_OK) {
        struct report_text size;
        printf("%s: %d device%s of %s, %s; \"stannis csd start %s\" turns %s on\n", path,
               rack.count, rack.count == 1 ? "" : "s", report_bytes(&size, rack.size),
               profile.title, path, rack.count == 1 ? "it" : "them");
    }
    return status;
}

static enum stn_status run_create(int argc, char **argv)
{
    struct create_options o = {
        .count = 1, .profile = "newport", .size = (size_t)4 << 30, .ecc = -1, .timing = 1};
    struct base_option_result parsed;
    const char *path = NULL;
    bool done;
    enum stn_status status = verb_parse(&create_command, argc, argv, &o, &parsed, &done);
    if (status == STN_OK && !done) {
        status = csd_operand(&create_command, &parsed, "rack", "rack --count 4", &path);
    }
    return status == STN_OK && !done ? create_rack(&o, path) : status;
}

// ---- start, stop, destroy -----------------------------------------------------------------------

struct rack_options {
    bool json;
};

static const struct base_option rack_rows[] = {
    VERB_ROW(struct rack_options, "json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

// What the three do with a rack that they have found: says what was done in `did`.
typedef enum stn_status rack_action(const struct csd_rack *rack, int *count);

static enum stn_status act(const struct base_command *command, const char *did, int argc,
                           char **argv, rack_action *action)
{
    struct rack_options o = {false};
    struct base_option_result parsed;
    struct csd_rack rack;
    const char *path = NULL;
    int count = 0;
    bool done;
    enum stn_status status = verb_parse(command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = csd_operand(command, &parsed, "rack", "rack", &path);
    if (status == STN_OK) {
        status = csd_rack_open(path, &rack);
    }
    if (status == STN_OK) {
        status = action(&rack, &count);
        csd_end_progress();
    }
    if (status == STN_OK && o.json) {
        return verb_print_json(
            json_pack("{s:s, s:i, s:i}", "rack", path, did, count, "devices", rack.count));
    }
    if (status == STN_OK) {
        printf("%s: %s %d of %d devices\n", path, did, count, rack.count);
    }
    return status;
}

static const struct base_command start_command = {
    "csd start", "Turns the devices of a rack on.", "RACK",
    "Each device is a process of its own. After a power cut (a process that was killed, a machine\n"
    "that went down) it recovers first: what was flushed is there.\n"
    "\n"
    "Examples\n"
    "  stannis csd start rack",
    rack_rows};

static enum stn_status start(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("starting");
    return csd_power_on(rack, &progress, count);
}

static enum stn_status run_start(int argc, char **argv)
{
    return act(&start_command, "started", argc, argv, start);
}

static const struct base_command stop_command = {
    "csd stop", "Turns the devices of a rack off, in good order.", "RACK",
    "Waits until each has flushed what it holds.\n"
    "\n"
    "Examples\n"
    "  stannis csd stop rack",
    rack_rows};

static enum stn_status stop(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("stopping");
    return csd_power_off(rack, &progress, count);
}

static enum stn_status run_stop(int argc, char **argv)
{
    return act(&stop_command, "stopped", argc, argv, stop);
}

static const struct base_command destroy_command = {
    "csd destroy", "Removes a rack and everything on its devices.", "RACK",
    "The keys are overwritten first. The devices must be off. Files that are not the rack's are\n"
    "left.\n"
    "\n"
    "Examples\n"
    "  stannis csd destroy rack",
    rack_rows};

static enum stn_status destroy(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("removing");
    *count = rack->count;
    return csd_rack_destroy(rack, &progress);
}

static enum stn_status run_destroy(int argc, char **argv)
{
    return act(&destroy_command, "destroyed", argc, argv, destroy);
}

// ---- The device process -------------------------------------------------------------------------

static const struct base_option no_rows[] = {
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command device_command = {
    "csd device", "Runs one device in this process until it is stopped.", "DEVICE",
    "What \"stannis csd start\" starts for each device. Prints \"ready\" when clients can "
    "connect.\n"
    "\n"
    "Examples\n"
    "  stannis csd device rack/csd.0",
    no_rows};

// Error lines go to the log, and until the device is ready to its starter as well.
static void say_error(void *context, enum stn_log_level level, const char *line)
{
    bool *ready = context;
    static const char *const names[] = {"error", "warning", "info", "debug"};
    fprintf(stderr, "stannis: %s: %s\n", names[level], line);
    if (level == STN_LOG_ERROR && !*ready && !isatty(STDOUT_FILENO)) {
        puts(line);
        fflush(stdout);
    }
}

static void now_ready(void *context)
{
    *(bool *)context = true;
    puts("ready");
    fflush(stdout);
    // The starter reads to the end of its pipe.
    if (!freopen("/dev/null", "w", stdout)) {
        stn_log(STN_LOG_WARN, "cannot let go of standard output");
    }
}

static enum stn_status run_device(int argc, char **argv)
{
    static bool ready;
    struct base_option_result parsed;
    char nothing;
    const char *folder = NULL;
    bool done;
    enum stn_status status = verb_parse(&device_command, argc, argv, &nothing, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = csd_operand(&device_command, &parsed, "device", "rack/csd.0", &folder);
    if (status != STN_OK) {
        return status;
    }
    stn_log_set_sink(say_error, &ready);
    status = csd_run(folder, now_ready, &ready);
    stn_log_set_sink(NULL, NULL);
    return status;
}

const struct csd_subcommand csd_create = {&create_command, run_create, false},
                            csd_start = {&start_command, run_start, false},
                            csd_stop = {&stop_command, run_stop, false},
                            csd_destroy = {&destroy_command, run_destroy, false},
                            csd_run_one = {&device_command, run_device, true};
