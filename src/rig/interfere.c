// SPDX-License-Identifier: Apache-2.0
#include "rig/interfere.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/setting_mark.h"
#include "emulate/emulate.h"
#include "emulate/group.h"
#include "emulate/membership.h"
#include "rig/program.h"
#include "rig/starter.h"
#include "stannis/log.h"

// One program of this node.
struct program {
    int load; // of the schedule
    double share;
    pid_t pid;  // 0: not running
    int fd;     // readable when it has ended
    bool apart; // in the group of loads
};

struct rig_interfere {
    struct emulate_schedule schedule;
    const char *node;         // borrowed from the cluster
    struct program *programs; // [count], of this node's loads
    int count;
    int rank, threads;                    // of this node
    struct emulate_membership membership; // of this node
    int whole;                            // of the running programs those that never pause
};

// ---- one program -------------------------------------------------------------------------------

static void end(struct program *program)
{
    if (program->pid > 0) {
        int wait_status;
        (void)rig_starter_stop(program->pid, &wait_status); // gone, if the starter is
        close(program->fd);
        *program = (struct program){.load = program->load, .share = program->share};
    }
}

static enum stn_status start(const struct rig_interfere *interfere, struct program *program)
{
    bool gzip = interfere->schedule.loads[program->load].kind == EMULATE_LOAD_GZIP;
    return rig_starter_start(interfere->node, gzip, program->share, &program->pid, &program->fd);
}

// A load that is gone would make an experiment a lie.
static enum stn_status check(const struct rig_interfere *interfere, struct program *program)
{
    int wait_status;
    struct pollfd ended = {.fd = program->fd, .events = POLLIN};
    if (poll(&ended, 1, 0) <= 0) {
        return STN_OK;
    }
    bool known = rig_starter_stop(program->pid, &wait_status);
    close(program->fd);
    program->pid = 0;
    if (!known) {
        return stn_fail(STN_ERR_IO, "node %s: what starts programs that interfere has ended",
                        interfere->node);
    }
    if (WIFEXITED(wait_status)) {
        return stn_fail(STN_ERR_IO, "node %s: a program that was to interfere ended with code %d%s",
                        interfere->node, WEXITSTATUS(wait_status),
                        WEXITSTATUS(wait_status) == RIG_PROGRAM_MISSING ? "; is gzip installed?"
                                                                        : "");
    }
    return stn_fail(STN_ERR_IO, "node %s: a program that was to interfere was ended by signal %d",
                    interfere->node, WTERMSIG(wait_status));
}

// Which core a process happens to run on decides how much of a share it gets beside others: three
// beside one took from 71 to 80 % of it instead of 75, for seconds. Two and more are given their
// part, and no more; what they leave is the node's. One beside one is even by itself.
static void share_out(struct rig_interfere *interfere)
{
    const struct emulate_membership *own = &interfere->membership;
    int whole = 0, threads = interfere->threads;
    for (int i = 0; i < interfere->count; i++) {
        whole += interfere->programs[i].pid > 0 && interfere->programs[i].share >= 1;
    }
    if (own->cpus == 0 || own->method != EMULATE_CGROUP_V1 || whole == interfere->whole) {
        return;
    }
    interfere->whole = whole;
    if (whole < 2 ||
        !emulate_group_set_load(own->dir, interfere->rank, (double)whole / (whole + threads))) {
        return;
    }
    for (int i = 0; i < interfere->count; i++) {
        struct program *program = &interfere->programs[i];
        if (program->pid > 0 && program->share >= 1 && !program->apart) {
            program->apart = emulate_group_enter_load(own->dir, interfere->rank, program->pid);
        }
    }
}

enum stn_status rig_interfere_step(struct rig_interfere *interfere, int64_t step)
{
    enum stn_status status = STN_OK;
    for (int i = 0; interfere && i < interfere->count && !status; i++) {
        struct program *program = &interfere->programs[i];
        const struct emulate_load *load = &interfere->schedule.loads[program->load];
        bool due = step >= load->from && step <= load->to;
        if (!due) {
            end(program);
        } else if (program->pid == 0) {
            status = start(interfere, program);
        } else {
            status = check(interfere, program);
        }
    }
    if (interfere && !status) {
        share_out(interfere);
    }
    return status;
}

// ---- all of them -------------------------------------------------------------------------------

static enum stn_status check_nodes(const struct emulate_schedule *schedule, const char *text,
                                   const struct cluster *cluster)
{
    for (int i = 0; i < schedule->count; i++) {
        const char *name = schedule->loads[i].node;
        if (cluster_find(cluster, name) < 0) {
            return cluster_fail_unknown(cluster, BASE_SETTING "interfere", text, name);
        }
    }
    return STN_OK;
}

static bool is_own(const struct rig_interfere *interfere, int load)
{
    return strcmp(interfere->schedule.loads[load].node, interfere->node) == 0;
}

static void list_programs(struct rig_interfere *interfere)
{
    for (int i = 0; i < interfere->schedule.count; i++) {
        double processes = is_own(interfere, i) ? interfere->schedule.loads[i].processes : 0;
        for (int k = 0; k < processes; k++) {
            interfere->programs[interfere->count++] =
                (struct program){.load = i, .share = fmin(processes - k, 1)};
        }
    }
}

static enum stn_status open_programs(struct rig_interfere *interfere)
{
    size_t count = 0;
    for (int i = 0; i < interfere->schedule.count; i++) {
        count += is_own(interfere, i) ? (size_t)ceil(interfere->schedule.loads[i].processes) : 0;
    }
    interfere->programs = calloc(count + 1, sizeof(*interfere->programs));
    if (!interfere->programs) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "interfere: no memory for %zu programs",
                        count);
    }
    list_programs(interfere);
    if (count > 0 && emulate_pace_share() > 0) {
        stn_log(STN_LOG_WARN,
                "node %s paces itself: what " BASE_SETTING
                "interfere starts is not confined to its share and "
                "takes as much of it as the scheduler happens to give",
                interfere->node);
    }
    return STN_OK;
}

enum stn_status rig_interfere_open(const char *text, const struct cluster *cluster, int rank,
                                   struct rig_interfere **out)
{
    *out = NULL;
    if (!text) {
        return STN_OK;
    }
    struct rig_interfere *interfere = calloc(1, sizeof(*interfere));
    if (!interfere) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "interfere: no memory");
    }
    enum stn_status status = emulate_schedule_parse(text, &interfere->schedule);
    if (!status) {
        status = check_nodes(&interfere->schedule, text, cluster);
    }
    if (!status) {
        const char *membership = getenv(EMULATE_VARIABLE);
        interfere->node = cluster->nodes[rank].name;
        interfere->rank = rank;
        interfere->threads = base_cpu_share().threads;
        if (!membership || !emulate_membership_parse(membership, rank, &interfere->membership)) {
            interfere->membership = (struct emulate_membership){0}; // not confined
        }
        status = open_programs(interfere);
    }
    if (status) {
        rig_interfere_close(interfere);
        return status;
    }
    *out = interfere;
    return STN_OK;
}

void rig_interfere_close(struct rig_interfere *interfere)
{
    if (!interfere) {
        return;
    }
    for (int i = 0; i < interfere->count; i++) {
        end(&interfere->programs[i]);
    }
    free(interfere->programs);
    emulate_schedule_fini(&interfere->schedule);
    free(interfere);
}
