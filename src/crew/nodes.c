// SPDX-License-Identifier: Apache-2.0
#include "crew/nodes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log_hold.h"
#include "base/setting_mark.h"

static bool is_root(const struct crew *nodes)
{
    return nodes->rank == 0;
}

const struct cluster_node *crew_own(const struct crew *nodes)
{
    return &nodes->cluster.nodes[nodes->rank];
}

static size_t answer_bytes(const struct crew *nodes)
{
    return WIRE_VERDICT_BYTES + (size_t)nodes->size * WIRE_INT_BYTES;
}

// ---- agreeing ----------------------------------------------------------------------------------

// Prints the error lines that wait here, or drops them; later lines wait again.
static void settle_lines(struct crew *nodes, bool print)
{
    base_log_release(print, is_root(nodes) ? NULL : comm_name(nodes->comm, nodes->rank));
    base_log_hold();
}

// The status of the lowest node that failed, and its line is printed. `all` is [size].
static enum stn_status first_failure(struct crew *nodes, const struct wire_status *all)
{
    for (int i = 0; i < nodes->size; i++) {
        if (all[i].status != STN_OK) {
            settle_lines(nodes, i == nodes->rank);
            nodes->failed = (enum stn_status)all[i].status;
            return nodes->failed;
        }
    }
    return STN_OK;
}

enum stn_status crew_agree(struct crew *nodes, enum stn_status own)
{
    if (nodes->failed) {
        return nodes->failed;
    }
    if (nodes->size == 1 || own == STN_ERR_NODE_LOST) {
        return own;
    }
    struct wire_status *all = calloc((size_t)nodes->size, sizeof(*all));
    if (!all) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    }
    const struct wire_status mine = {.status = (int32_t)own};
    enum stn_status status = comm_all_gather_message(nodes->comm, WIRE_STATUS, &mine, all);
    if (!status) {
        status = first_failure(nodes, all);
    }
    free(all);
    return status;
}

// ---- names -------------------------------------------------------------------------------------

// "server" for one node on it, "server.0", "server.1", … for several.
static enum stn_status name_by_hosts(struct crew *nodes)
{
    struct cluster *cluster = &nodes->cluster;
    cluster->count = nodes->size;
    cluster->nodes =
        base_arena_alloc(&cluster->arena, (size_t)nodes->size * sizeof(*cluster->nodes));
    if (!cluster->nodes) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    }
    for (int i = 0; i < nodes->size; i++) {
        const char *host = comm_host(nodes->comm, i);
        int same = 0, before = 0;
        for (int j = 0; j < nodes->size; j++) {
            bool equal = strcmp(host, comm_host(nodes->comm, j)) == 0;
            same += equal;
            before += equal && j < i;
        }
        const char *name = same == 1 ? base_arena_strdup(&cluster->arena, host)
                                     : base_arena_printf(&cluster->arena, "%s.%d", host, before);
        if (!name) {
            return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
        }
        cluster->nodes[i] = (struct cluster_node){.name = name};
    }
    return STN_OK;
}

static enum stn_status set_privates(struct cluster *cluster, const char *list)
{
    if (!list) {
        return STN_OK;
    }
    char *copy = strdup(list), *state = NULL;
    enum stn_status status =
        copy ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for private data");
    for (char *item = copy ? strtok_r(copy, ",", &state) : NULL; item && !status;
         item = strtok_r(NULL, ",", &state)) {
        status = cluster_set_private(cluster, item);
    }
    free(copy);
    return status;
}

// On node 0: the cluster of its settings, or one made of the host names.
static enum stn_status settle_cluster(struct crew *nodes, const struct settings *settings)
{
    enum stn_status status;
    if (settings->cluster_text) {
        status = cluster_parse_yaml(settings->cluster_text, strlen(settings->cluster_text),
                                    BASE_SETTING "cluster", &nodes->cluster);
    } else if (settings->cluster) {
        status = cluster_load(settings->cluster, &nodes->cluster);
    } else {
        status = name_by_hosts(nodes);
    }
    if (!status && nodes->cluster.count != nodes->size) {
        status = stn_fail(STN_ERR_INVALID, "the cluster has %d nodes, but %d were started",
                          nodes->cluster.count, nodes->size);
    }
    return status ? status : set_privates(&nodes->cluster, settings->private_dirs);
}

// Node 0 tells the others how many bytes will follow.
static enum stn_status spread_length(struct crew *nodes, uint64_t *bytes)
{
    struct wire_length length = {.bytes = *bytes};
    enum stn_status status = comm_broadcast_message(nodes->comm, 0, WIRE_LENGTH, &length);
    *bytes = length.bytes;
    return status;
}

// All nodes get node 0's cluster.
static enum stn_status spread_cluster(struct crew *nodes, enum stn_status settled)
{
    char *text = NULL;
    enum stn_status status = settled;
    if (is_root(nodes) && !status) {
        status = cluster_format(&nodes->cluster, &text);
    }
    uint64_t bytes = text ? strlen(text) : 0;
    status = crew_agree(nodes, status);
    if (!status) {
        status = spread_length(nodes, &bytes);
    }
    if (!status && !is_root(nodes)) {
        text = malloc(bytes + 1);
        status = text ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for the cluster file");
    }
    status = crew_agree(nodes, status);
    if (!status) {
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, text, bytes);
    }
    if (!status && !is_root(nodes)) {
        status = cluster_parse_yaml(text, bytes, BASE_SETTING "cluster", &nodes->cluster);
    }
    free(text);
    return crew_agree(nodes, status);
}

enum stn_status crew_open(struct comm *comm, const struct settings *settings, struct crew *out)
{
    *out = (struct crew){.comm = comm, .rank = comm_rank(comm), .size = comm_size(comm)};
    if (out->size > 1) {
        base_log_hold();
    }
    size_t size = (size_t)out->size;
    out->reports = calloc(size, sizeof(*out->reports));
    out->heard = calloc(size, sizeof(*out->heard));
    out->verdict = calloc(1, sizeof(*out->verdict) + size * sizeof(out->verdict->split[0]));
    out->answer = calloc(1, answer_bytes(out));
    if (!out->reports || !out->heard || !out->verdict || !out->answer) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", out->size);
    }
    enum stn_status status = is_root(out) ? settle_cluster(out, settings) : STN_OK;
    if (out->size > 1 && status != STN_ERR_NODE_LOST) {
        status = spread_cluster(out, status);
    }
    for (int i = 0; i < out->cluster.count && !status; i++) {
        comm_set_name(comm, i, out->cluster.nodes[i].name);
    }
    return status;
}

void crew_close(struct crew *nodes)
{
    if (nodes->size > 1) {
        base_log_release(true, is_root(nodes) ? NULL : comm_name(nodes->comm, nodes->rank));
    }
    for (int i = 0; i < nodes->file_count; i++) {
        close(nodes->files[i]);
    }
    free(nodes->answer);
    free(nodes->verdict);
    free(nodes->heard);
    free(nodes->reports);
    cluster_fini(&nodes->cluster);
    *nodes = (struct crew){0};
}

// ---- files -------------------------------------------------------------------------------------

static enum stn_status read_all(int fd, void *data, size_t bytes, const char *path)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(fd, (char *)data + done, bytes - done);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return stn_fail(STN_ERR_IO, "%s: cannot read: %s", path,
                            got ? strerror(errno) : "it became shorter");
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return STN_OK;
}

// On node 0: the file's contents, to be freed.
static enum stn_status load_file(const char *path, void **data, uint64_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        enum stn_status status =
            stn_fail(STN_ERR_NOT_FOUND, "%s: cannot open: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    *bytes = (uint64_t)info.st_size;
    *data = malloc(*bytes + 1);
    enum stn_status status = *data ? read_all(fd, *data, *bytes, path)
                                   : stn_fail(STN_ERR_NO_MEMORY, "no memory to send %s", path);
    close(fd);
    return status;
}

// On the others: a file without a name that holds the contents.
static enum stn_status keep_copy(struct crew *nodes, const void *data, uint64_t bytes, char **local)
{
    int fd = memfd_create("stannis", MFD_CLOEXEC);
    if (fd < 0) {
        return stn_fail(STN_ERR_IO, "cannot keep a copy of a file: %s", strerror(errno));
    }
    nodes->files[nodes->file_count++] = fd;
    for (uint64_t done = 0; done < bytes;) {
        ssize_t put = write(fd, (const char *)data + done, bytes - done);
        if (put < 0 && errno != EINTR) {
            return stn_fail(STN_ERR_IO, "cannot keep a copy of a file: %s", strerror(errno));
        }
        done += put > 0 ? (uint64_t)put : 0;
    }
    if (asprintf(local, "/proc/self/fd/%d", fd) < 0) {
        *local = NULL;
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a file's name");
    }
    return STN_OK;
}

static enum stn_status send_file(struct crew *nodes, const char *path, char **local)
{
    void *data = NULL;
    uint64_t bytes = 0;
    enum stn_status status = is_root(nodes) ? load_file(path, &data, &bytes) : STN_OK;
    status = crew_agree(nodes, status);
    if (!status) {
        status = spread_length(nodes, &bytes);
    }
    if (!status && !data) {
        data = malloc(bytes + 1);
        status = data ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory to receive %s", path);
    }
    status = crew_agree(nodes, status);
    if (!status) {
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, data, bytes);
    }
    if (!status && !is_root(nodes)) {
        status = keep_copy(nodes, data, bytes, local);
    }
    free(data);
    return crew_agree(nodes, status);
}

enum stn_status crew_share_file(struct crew *nodes, const char *path, char **local)
{
    *local = NULL;
    if (!path) {
        return STN_OK;
    }
    if (nodes->size > 1) {
        enum stn_status status = send_file(nodes, path, local);
        if (status) {
            return status;
        }
    }
    if (!*local) {
        *local = strdup(path);
    }
    return *local ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for a file's name");
}

// ---- being alike -------------------------------------------------------------------------------

static enum stn_status compare(const struct crew *nodes, int rank, const struct wire_identity *root,
                               const struct wire_identity *other)
{
    const char *name = comm_name(nodes->comm, rank), *first = comm_name(nodes->comm, 0);
    if (other->classes != root->classes) {
        return stn_fail(STN_ERR_INVALID,
                        "node %s has other classes in its " BASE_SETTING "data than %s", name,
                        first);
    }
    if (other->network != root->network) {
        return stn_fail(STN_ERR_INVALID, "node %s has another definition of the network than %s",
                        name, first);
    }
    if (other->samples != root->samples) {
        return stn_fail(STN_ERR_INVALID,
                        "node %s has %lld public training samples in its " BASE_SETTING
                        "data, %s has %lld",
                        name, (long long)other->samples, first, (long long)root->samples);
    }
    if (other->settings != root->settings) {
        return stn_fail(STN_ERR_INVALID,
                        "node %s has pictures of other brightness in its " BASE_SETTING
                        "data than %s",
                        name, first);
    }
    return STN_OK;
}

enum stn_status crew_compare(struct crew *nodes, const struct wire_identity *own)
{
    if (nodes->size == 1) {
        return STN_OK;
    }
    struct wire_identity *all = calloc((size_t)nodes->size, sizeof(*all));
    enum stn_status status =
        all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    status = crew_agree(nodes, status);
    if (!status) {
        assert(all); // all nodes have agreed that they have theirs
        status = comm_gather_message(nodes->comm, 0, WIRE_IDENTITY, own, all);
    }
    for (int i = 1; i < nodes->size && is_root(nodes) && !status; i++) {
        status = compare(nodes, i, &all[0], &all[i]);
    }
    free(all);
    return crew_agree(nodes, status);
}

// ---- steps, as they travel ---------------------------------------------------------------------

static struct wire_report report_out(const struct crew_node_report *report)
{
    const struct hypertune_report *vitals = &report->vitals;
    return (struct wire_report){
        .status = (int32_t)report->status,
        .stop = report->stop,
        .loss_sum = report->totals.loss_sum,
        .correct = report->totals.correct,
        .count = report->totals.count,
        .micro_batches = report->micro_batches,
        .step = vitals->step,
        .judged = vitals->micro_batches,
        .compute_s = vitals->compute_s,
        .wait_s = vitals->wait_s,
        .io_s = vitals->io_s,
        .cpu_s = vitals->cpu_s,
        .queue_s = vitals->queue_s,
        .throttled_s = vitals->throttled_s,
        .share_cpu_s = vitals->share_cpu_s,
        .clock_s = vitals->clock_s,
    };
}

static struct crew_node_report report_in(const struct wire_report *heard)
{
    return (struct crew_node_report){
        .status = (enum stn_status)heard->status,
        .stop = heard->stop,
        .totals = {.loss_sum = heard->loss_sum, .correct = heard->correct, .count = heard->count},
        .micro_batches = heard->micro_batches,
        .vitals = {.step = heard->step,
                   .micro_batches = heard->judged,
                   .compute_s = heard->compute_s,
                   .wait_s = heard->wait_s,
                   .io_s = heard->io_s,
                   .cpu_s = heard->cpu_s,
                   .queue_s = heard->queue_s,
                   .throttled_s = heard->throttled_s,
                   .share_cpu_s = heard->share_cpu_s,
                   .clock_s = heard->clock_s},
    };
}

static struct wire_verdict verdict_out(const struct crew_verdict *verdict)
{
    return (struct wire_verdict){
        .status = (int32_t)verdict->status,
        .failed = verdict->failed,
        .stop = verdict->stop,
        .loss_sum = verdict->totals.loss_sum,
        .correct = verdict->totals.correct,
        .count = verdict->totals.count,
        .moved = verdict->moved,
        .end_epoch = verdict->end_epoch,
        .batch = verdict->batch,
        .lr = verdict->lr,
    };
}

// Fills in all but the split.
static void verdict_in(const struct wire_verdict *heard, struct crew_verdict *out)
{
    out->status = (enum stn_status)heard->status;
    out->failed = heard->failed;
    out->stop = heard->stop;
    out->totals = (struct kernel_loss_totals){
        .loss_sum = heard->loss_sum, .correct = heard->correct, .count = heard->count};
    out->moved = heard->moved;
    out->end_epoch = heard->end_epoch;
    out->batch = heard->batch;
    out->lr = heard->lr;
}

// ---- steps -------------------------------------------------------------------------------------

static void add_up(const struct crew_node_report *reports, int count, struct crew_verdict *out)
{
    memset(out, 0, sizeof(*out));
    out->failed = -1;
    for (int i = 0; i < count; i++) {
        const struct crew_node_report *r = &reports[i];
        if (r->status && !out->status) {
            out->status = r->status;
            out->failed = i;
        }
        out->stop |= r->stop;
        out->totals.loss_sum += r->totals.loss_sum;
        out->totals.correct += r->totals.correct;
        out->totals.count += r->totals.count;
    }
}

// On node 0. `heard` is not OK if a report could not be read, which fails the step for all nodes.
static void judge(struct crew *nodes, enum stn_status heard, crew_decide *decide, void *context)
{
    struct crew_verdict *verdict = nodes->verdict;
    add_up(nodes->reports, nodes->size, verdict);
    if (heard) {
        verdict->status = heard;
        verdict->failed = 0;
    } else if (!verdict->status && decide) {
        verdict->status = decide(context, nodes->reports, verdict);
        verdict->failed = verdict->status ? 0 : -1;
    }
}

static enum stn_status gather_reports(struct crew *nodes, const struct crew_node_report *own)
{
    const struct wire_report said = report_out(own);
    enum stn_status status = comm_gather_message(nodes->comm, 0, WIRE_REPORT, &said, nodes->heard);
    for (int i = 0; i < nodes->size && is_root(nodes) && !status; i++) {
        nodes->reports[i] = report_in(&nodes->heard[i]);
    }
    return status;
}

// All nodes get node 0's verdict: one message, with the split behind it.
static enum stn_status spread_verdict(struct crew *nodes)
{
    struct crew_verdict *verdict = nodes->verdict;
    if (is_root(nodes)) {
        const struct wire_verdict said = verdict_out(verdict);
        wire_encode(WIRE_VERDICT, &said, nodes->answer);
        wire_put_ints(verdict->split, nodes->size, nodes->answer + WIRE_VERDICT_BYTES);
    }
    enum stn_status status =
        comm_broadcast(nodes->comm, COMM_CONTROL, 0, nodes->answer, answer_bytes(nodes));
    if (status || is_root(nodes)) {
        return status;
    }
    struct wire_verdict heard;
    if (!wire_decode(WIRE_VERDICT, nodes->answer, &heard)) {
        return comm_fail_message(nodes->comm, 0, WIRE_VERDICT);
    }
    verdict_in(&heard, verdict);
    wire_get_ints(nodes->answer + WIRE_VERDICT_BYTES, nodes->size, verdict->split);
    return STN_OK;
}

enum stn_status crew_sum(struct crew *nodes, const struct crew_node_report *own,
                         crew_decide *decide, void *context, const struct crew_verdict **out)
{
    struct crew_verdict *verdict = nodes->verdict;
    *out = verdict;
    if (nodes->size == 1 || own->status == STN_ERR_NODE_LOST) {
        add_up(own, 1, verdict);
        return own->status;
    }
    enum stn_status status = gather_reports(nodes, own);
    if (status && status != STN_ERR_CORRUPT) {
        return status;
    }
    if (is_root(nodes)) {
        judge(nodes, status, decide, context);
    }
    status = spread_verdict(nodes);
    if (status) {
        return status;
    }
    if (verdict->status) {
        settle_lines(nodes, verdict->failed == nodes->rank);
    }
    return verdict->status;
}
