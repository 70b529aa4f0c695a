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

static bool is_root(const struct crew *nodes)
{
    return nodes->rank == 0;
}

const struct cluster_node *crew_own(const struct crew *nodes)
{
    return &nodes->cluster.nodes[nodes->rank];
}

static size_t verdict_bytes(const struct crew *nodes)
{
    return sizeof(*nodes->verdict) + (size_t)nodes->size * sizeof(nodes->verdict->split[0]);
}

// ---- agreeing ----------------------------------------------------------------------------------

// One prints, the others drop; from then on lines wait again.
static void settle_lines(struct crew *nodes, bool print)
{
    base_log_release(print, is_root(nodes) ? NULL : comm_name(nodes->comm, nodes->rank));
    base_log_hold();
}

// `statuses` is everybody's. The lowest failing node's, whose line goes out.
static enum stn_status first_failure(struct crew *nodes, const int32_t *statuses)
{
    for (int i = 0; i < nodes->size; i++) {
        if (statuses[i] != STN_OK) {
            settle_lines(nodes, i == nodes->rank);
            nodes->failed = (enum stn_status)statuses[i];
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
    int32_t *statuses = calloc((size_t)nodes->size, sizeof(*statuses));
    if (!statuses) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    }
    const int32_t mine = own;
    enum stn_status status =
        comm_all_gather(nodes->comm, COMM_CONTROL, &mine, sizeof(mine), statuses);
    if (!status) {
        status = first_failure(nodes, statuses);
    }
    free(statuses);
    return status;
}

// ---- names -------------------------------------------------------------------------------------

// "server" for one node on it, "server.0", "server.1", … for several.
static enum stn_status name_by_hosts(struct crew *nodes, const char (*hosts)[COMM_NAME_BYTES])
{
    struct cluster *cluster = &nodes->cluster;
    cluster->count = nodes->size;
    cluster->nodes =
        base_arena_alloc(&cluster->arena, (size_t)nodes->size * sizeof(*cluster->nodes));
    if (!cluster->nodes) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    }
    for (int i = 0; i < nodes->size; i++) {
        int same = 0, before = 0;
        for (int j = 0; j < nodes->size; j++) {
            bool equal = strcmp(hosts[i], hosts[j]) == 0;
            same += equal;
            before += equal && j < i;
        }
        const char *name = same == 1
                               ? base_arena_strdup(&cluster->arena, hosts[i])
                               : base_arena_printf(&cluster->arena, "%s.%d", hosts[i], before);
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
    enum stn_status status = copy ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for --private");
    for (char *item = copy ? strtok_r(copy, ",", &state) : NULL; item && !status;
         item = strtok_r(NULL, ",", &state)) {
        status = cluster_set_private(cluster, item);
    }
    free(copy);
    return status;
}

// What node 0 makes of its settings and the host names.
static enum stn_status settle_cluster(struct crew *nodes, const struct stn_train_config *config,
                                      const char (*hosts)[COMM_NAME_BYTES])
{
    enum stn_status status;
    if (config->cluster) {
        status = cluster_parse_yaml(config->cluster, strlen(config->cluster), "--cluster",
                                    &nodes->cluster);
    } else {
        status = name_by_hosts(nodes, hosts);
    }
    if (!status && nodes->cluster.count != nodes->size) {
        status = stn_fail(STN_ERR_INVALID, "the cluster has %d nodes, but %d were started",
                          nodes->cluster.count, nodes->size);
    }
    return status ? status : set_privates(&nodes->cluster, config->private_dirs);
}

// Node 0's cluster becomes everybody's.
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
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, &bytes, sizeof(bytes));
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
        status = cluster_parse_yaml(text, bytes, "--cluster", &nodes->cluster);
    }
    free(text);
    return crew_agree(nodes, status);
}

enum stn_status crew_open(struct comm *comm, const struct stn_train_config *config,
                          struct crew *out)
{
    *out = (struct crew){.comm = comm, .rank = comm_rank(comm), .size = comm_size(comm)};
    if (out->size > 1) {
        base_log_hold();
    }
    out->reports = calloc((size_t)out->size, sizeof(*out->reports));
    out->verdict = calloc(1, verdict_bytes(out));
    char own[COMM_NAME_BYTES] = "node";
    gethostname(own, sizeof(own) - 1);
    char(*hosts)[COMM_NAME_BYTES] = calloc((size_t)out->size, sizeof(*hosts));
    if (!hosts || !out->reports || !out->verdict) {
        free(hosts);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", out->size);
    }
    enum stn_status status = comm_all_gather(comm, COMM_CONTROL, own, sizeof(own), hosts);
    if (!status && is_root(out)) {
        status = settle_cluster(out, config, (const char(*)[COMM_NAME_BYTES])hosts);
    }
    free(hosts);
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
    free(nodes->verdict);
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

// Node 0: the file's contents, to be freed.
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

// The others: a file without a name, filled.
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
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, &bytes, sizeof(bytes));
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

static enum stn_status complain(const struct crew *nodes, int rank,
                                const struct crew_identity *root, const struct crew_identity *other)
{
    const char *name = comm_name(nodes->comm, rank), *first = comm_name(nodes->comm, 0);
    if (memcmp(other->version, root->version, sizeof(root->version)) != 0) {
        return stn_fail(STN_ERR_INVALID, "node %s runs Stannis %.15s, %s runs %.15s", name,
                        other->version, first, root->version);
    }
    if (other->classes != root->classes) {
        return stn_fail(STN_ERR_INVALID, "node %s has other classes in its --data than %s", name,
                        first);
    }
    if (other->network != root->network) {
        return stn_fail(STN_ERR_INVALID, "node %s has another definition of the network than %s",
                        name, first);
    }
    if (other->samples != root->samples) {
        return stn_fail(STN_ERR_INVALID,
                        "node %s has %lld public training samples in its --data, %s has %lld", name,
                        (long long)other->samples, first, (long long)root->samples);
    }
    return stn_fail(STN_ERR_INVALID, "node %s was started with other settings than %s", name,
                    first);
}

enum stn_status crew_compare(struct crew *nodes, const struct crew_identity *own)
{
    if (nodes->size == 1) {
        return STN_OK;
    }
    struct crew_identity *all = calloc((size_t)nodes->size, sizeof(*all));
    enum stn_status status =
        all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    status = crew_agree(nodes, status);
    if (!status) {
        assert(all); // everybody has its own
        status = comm_gather(nodes->comm, COMM_CONTROL, 0, own, sizeof(*own), all);
    }
    for (int i = 1; i < nodes->size && is_root(nodes) && !status; i++) {
        if (memcmp(&all[i], &all[0], sizeof(all[0])) != 0) {
            status = complain(nodes, i, &all[0], &all[i]);
        }
    }
    free(all);
    return crew_agree(nodes, status);
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

// On node 0.
static void judge(struct crew *nodes, crew_decide *decide, void *context)
{
    struct crew_verdict *verdict = nodes->verdict;
    add_up(nodes->reports, nodes->size, verdict);
    if (!verdict->status && decide) {
        verdict->status = decide(context, nodes->reports, verdict);
        verdict->failed = verdict->status ? 0 : -1;
    }
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
    enum stn_status status =
        comm_gather(nodes->comm, COMM_CONTROL, 0, own, sizeof(*own), nodes->reports);
    if (status) {
        return status;
    }
    if (is_root(nodes)) {
        judge(nodes, decide, context);
    }
    status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, verdict, verdict_bytes(nodes));
    if (status) {
        return status;
    }
    if (verdict->status) {
        settle_lines(nodes, verdict->failed == nodes->rank);
    }
    return verdict->status;
}
