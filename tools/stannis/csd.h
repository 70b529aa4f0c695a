// SPDX-License-Identifier: Apache-2.0
// The subcommands of `stannis csd`, and what they share.
#ifndef TOOLS_STANNIS_CSD_H
#define TOOLS_STANNIS_CSD_H

#include "csd/client/namespaces.h"
#include "csd/device/rack.h"
#include "verb.h"

// Room in the memory that a subcommand shares with a device.
enum { CSD_CLIENT_MEMORY = 1 << 20 };

struct csd_subcommand {
    const struct command *command;
    verb_run *run;
    bool internal; // for processes that we start; not in the help
};

extern const struct csd_subcommand csd_create, csd_start, csd_ls, csd_stop, csd_destroy,
    csd_run_one, csd_format, csd_stat, csd_bench, csd_nbd;

// The one operand of a subcommand: "csd ls: no rack given; for example: csd ls rack".
STN_MUST_CHECK enum stn_status csd_operand(const struct command *command,
                                           const struct command_line *line, const char *what,
                                           const char *example, const char **out);
// A client of the one device that the line names: *folder.
STN_MUST_CHECK enum stn_status csd_connect_operand(const struct command *command,
                                                   const struct command_line *line,
                                                   const char **folder, struct csd_client **out);
// DEVICE:NAMESPACE into its two halves; `device` has room for CSD_PATH_BYTES.
STN_MUST_CHECK enum stn_status csd_split_target(const char *target, char *device,
                                                const char **name);
// A line on stderr that counts devices, where that is a terminal.
struct csd_rack_progress csd_show_progress(const char *doing);
void csd_end_progress(void);

// What `csd stat` shows for people.
void csd_print_health(const char *device, const struct nvme_health *health,
                      const struct nvme_smart_log *smart);

#endif
