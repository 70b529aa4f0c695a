// SPDX-License-Identifier: Apache-2.0
#include "launch/line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const exported[] = {
    "STANNIS_", "OMP_", "GOMP_", "TERM=", "NO_COLOR=", "LANG=", "LC_"};

bool launch_is_remote(const struct cluster *cluster)
{
    for (int i = 0; i < cluster->count; i++) {
        if (cluster->nodes[i].host) {
            return true;
        }
    }
    return false;
}

enum stn_status launch_program(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0) {
        return stn_fail(STN_ERR_IO, "cannot find this program's own file: %s", strerror(errno));
    }
    path[length] = '\0';
    return STN_OK;
}

void launch_line_ssh(const struct launch_config *config, struct launch_words *out)
{
    launch_words_split(out, config->ssh ? config->ssh : "ssh");
    launch_words_add(out, "-o");
    launch_words_add(out, "BatchMode=yes");
    launch_words_add(out, "-o");
    launch_words_add(out, "ConnectTimeout=%d",
                     (int)fmin(fmax(ceil(config->timeout_seconds), 1), 3600));
}

static void set(struct launch_words *words, const char *parameter, const char *value)
{
    launch_words_add(words, "--mca");
    launch_words_add(words, "%s", parameter);
    launch_words_add(words, "%s", value);
}

static void add_local(const struct launch_config *config, struct launch_words *words)
{
    set(words, "btl", "vader,self");
    // On one machine: mpirun and its children talk over TCP, and must not do so beyond it.
    set(words, "oob_tcp_if_include", "lo");
    launch_words_add(words, "--host");
    launch_words_add(words, "localhost:%d", config->cluster->count);
}

static void add_hosts(const struct launch_config *config, struct launch_words *words)
{
    struct launch_words ssh = {0};
    launch_line_ssh(config, &ssh);
    char *agent = ssh.failed ? NULL : launch_words_join(ssh.items);
    words->failed |= !agent;
    launch_words_fini(&ssh);
    set(words, "btl", "tcp,vader,self");
    set(words, "plm", "rsh");
    set(words, "plm_rsh_agent", agent ? agent : "");
    set(words, "plm_rsh_no_tree_spawn", "1"); // hosts need not reach each other by ssh
    set(words, "rmaps", "seq");               // puts rank i on the i-th host
    free(agent);

    char *list = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&list, &size);
    for (int i = 0; f && i < config->cluster->count; i++) {
        const char *host = config->cluster->nodes[i].host;
        fprintf(f, "%s%s", i ? "," : "", host ? host : "localhost");
    }
    words->failed |= !f || fclose(f) != 0;
    launch_words_add(words, "--host");
    launch_words_add(words, "%s", list ? list : "");
    free(list);
}

// Hands on environment variables to nodes on other hosts (those of this machine inherit them), and
// makes a printed line complete.
static void add_exports(struct launch_words *words)
{
    for (char **entry = environ; *entry; entry++) {
        for (size_t i = 0; i < sizeof(exported) / sizeof(exported[0]); i++) {
            if (strncmp(*entry, exported[i], strlen(exported[i])) == 0) {
                launch_words_add(words, "-x");
                launch_words_add(words, "%s", *entry);
            }
        }
    }
}

enum stn_status launch_line_make(const struct launch_config *config, struct launch_words *out)
{
    char program[PATH_MAX];
    *out = (struct launch_words){0};
    enum stn_status status = launch_program(program);
    if (status != STN_OK) {
        return status;
    }
    launch_words_add(out, "mpirun");
    if (geteuid() == 0) {
        launch_words_add(out, "--allow-run-as-root");
    }
    launch_words_add(out, "--oversubscribe");
    launch_words_add(out, "--bind-to");
    launch_words_add(out, "none");
    set(out, "pml", "ob1");
    if (launch_is_remote(config->cluster)) {
        add_hosts(config, out);
    } else {
        add_local(config, out);
    }
    add_exports(out);
    launch_words_add(out, "-np");
    launch_words_add(out, "%d", config->cluster->count);
    launch_words_add(out, "%s", program);
    for (int i = 1; config->argv[0] && config->argv[i]; i++) {
        launch_words_add(out, "%s", config->argv[i]);
    }
    return out->failed ? stn_fail(STN_ERR_NO_MEMORY, "no memory for the mpirun line") : STN_OK;
}

enum stn_status launch_line(const struct launch_config *config, char **out)
{
    struct launch_words words;
    *out = NULL;
    enum stn_status status = launch_line_make(config, &words);
    if (status == STN_OK) {
        *out = launch_words_join(words.items);
        status = *out ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for the mpirun line");
    }
    launch_words_fini(&words);
    return status;
}
