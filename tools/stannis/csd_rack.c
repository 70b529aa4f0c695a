// SPDX-License-Identifier: Apache-2.0
// stannis csd create, start, ls, stop, destroy: racks of devices.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "csd.h"
#include "csd/device/run.h"
#include "report/format.h"
#include "stannis/log.h"

enum stn_status csd_operand(const struct command *command, const struct command_line *line,
                            const char *what, const char *example, const char **out)
{
    const char *verb = stn_verb_name(command->verb);
    if (line->operand_count == 0) {
        return stn_fail(STN_ERR_INVALID, "%s: no %s given; for example: stannis %s %s", verb, what,
                        verb, example);
    }
    if (line->operand_count > 1) {
        return stn_fail(STN_ERR_INVALID, "%s: unexpected argument %s", verb, line->operands[1]);
    }
    *out = line->operands[0];
    return STN_OK;
}

enum stn_status csd_connect_operand(const struct command *command, const struct command_line *line,
                                    const char **folder, struct csd_client **out)
{
    enum stn_status status = csd_operand(command, line, "device", "rack/csd.0", folder);
    return status == STN_OK ? csd_client_connect(*folder, CSD_CLIENT_MEMORY, out) : status;
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

static const struct command create_command = {
    .verb = STN_VERB_CSD_CREATE,
    .summary = "Makes a rack of devices.",
    .operands = "RACK",
    .about = "The devices are off and empty. Their media files are sparse: they take room on\n"
             "the disk as they are written to.",
    .examples = "  stannis csd create rack --count 4 --profile newport --size 4G\n"
                "  stannis csd create small --profile tiny --size 16M --ecc crc",
};

static enum stn_status create_rack(const struct settings *s, const char *path)
{
    struct csd_rack rack = {.count = s->device_count,
                            .size = s->device_size ? s->device_size : (size_t)4 << 30,
                            .timing = (enum flash_timing_mode)s->flash_timing};
    struct csd_profile profile;
    if (snprintf(rack.path, sizeof(rack.path), "%s", path) >= (int)sizeof(rack.path)) {
        return stn_fail(STN_ERR_INVALID, "csd create: the path is too long");
    }
    enum stn_status status = csd_profile_find(s->flash ? s->flash : "newport", &profile);
    if (status != STN_OK) {
        return status;
    }
    if (s->ecc >= 0) {
        profile.flash.ecc = (enum flash_ecc)s->ecc;
        if (profile.flash.ecc == FLASH_ECC_CRC) { // what nothing could correct is not made either
            profile.flash.error_rate = profile.flash.error_rate_worn = 0;
        }
    }
    if (!isnan(s->over_provisioning)) {
        profile.flash.over_provisioning = s->over_provisioning;
    }
    if (s->endurance > 0) {
        profile.flash.endurance = s->endurance;
    }
    const struct csd_rack_progress progress = csd_show_progress("making");
    status = csd_rack_create(&rack, &profile, &progress);
    csd_end_progress();
    if (status == STN_OK && s->json) {
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

static enum stn_status run_create(const struct verb_call *call)
{
    const char *path = NULL;
    enum stn_status status =
        csd_operand(&create_command, &call->line, "rack", "rack --count 4", &path);
    return status == STN_OK ? create_rack(&call->settings.values, path) : status;
}

// ---- start, stop, destroy -----------------------------------------------------------------------

// What the three do with a rack that they have found: says what was done in `did`.
typedef enum stn_status rack_action(const struct csd_rack *rack, int *count);

static enum stn_status act(const struct command *command, const char *did,
                           const struct verb_call *call, rack_action *action)
{
    struct csd_rack rack;
    const char *path = NULL;
    int count = 0;
    enum stn_status status = csd_operand(command, &call->line, "rack", "rack", &path);
    if (status == STN_OK) {
        status = csd_rack_open(path, &rack);
    }
    if (status == STN_OK) {
        status = action(&rack, &count);
        csd_end_progress();
    }
    if (status == STN_OK && call->settings.values.json) {
        return verb_print_json(
            json_pack("{s:s, s:i, s:i}", "rack", path, did, count, "devices", rack.count));
    }
    if (status == STN_OK) {
        printf("%s: %s %d of %d devices\n", path, did, count, rack.count);
    }
    return status;
}

static const struct command start_command = {
    .verb = STN_VERB_CSD_START,
    .summary = "Turns the devices of a rack on.",
    .operands = "RACK",
    .about = "Each device is a process of its own. After a power cut (a process that was\n"
             "killed, a machine that went down) it recovers first: what was flushed is\n"
             "there.",
    .examples = "  stannis csd start rack",
};

static enum stn_status start(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("starting");
    return csd_power_on(rack, &progress, count);
}

static enum stn_status run_start(const struct verb_call *call)
{
    return act(&start_command, "started", call, start);
}

static const struct command stop_command = {
    .verb = STN_VERB_CSD_STOP,
    .summary = "Turns the devices of a rack off, in good order.",
    .operands = "RACK",
    .about = "Waits until each has flushed what it holds.",
    .examples = "  stannis csd stop rack",
};

static enum stn_status stop(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("stopping");
    return csd_power_off(rack, &progress, count);
}

static enum stn_status run_stop(const struct verb_call *call)
{
    return act(&stop_command, "stopped", call, stop);
}

static const struct command destroy_command = {
    .verb = STN_VERB_CSD_DESTROY,
    .summary = "Removes a rack and everything on its devices.",
    .operands = "RACK",
    .about = "The keys are overwritten first. The devices must be off. Files that are not\n"
             "the rack's are left.",
    .examples = "  stannis csd destroy rack",
};

static enum stn_status destroy(const struct csd_rack *rack, int *count)
{
    const struct csd_rack_progress progress = csd_show_progress("removing");
    *count = rack->count;
    return csd_rack_destroy(rack, &progress);
}

static enum stn_status run_destroy(const struct verb_call *call)
{
    return act(&destroy_command, "destroyed", call, destroy);
}

// ---- The device process -------------------------------------------------------------------------

static const struct command device_command = {
    .verb = STN_VERB_CSD_DEVICE,
    .summary = "Runs one device in this process until it is stopped.",
    .operands = "DEVICE",
    .about = "What \"stannis csd start\" starts for each device. Prints \"ready\" when clients\n"
             "can connect.",
    .examples = "  stannis csd device rack/csd.0",
};

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

static enum stn_status run_device(const struct verb_call *call)
{
    static bool ready;
    const char *folder = NULL;
    enum stn_status status =
        csd_operand(&device_command, &call->line, "device", "rack/csd.0", &folder);
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
