// SPDX-License-Identifier: Apache-2.0
#include "crew/sets.h"

#include <stdlib.h>

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for the counts of the data sets");
}

// ---- counts ------------------------------------------------------------------------------------

// Nodes tell each other how many samples of each class their private sets have in each subset, and
// nothing else. `all` is [nodes][subsets][classes].
static enum stn_status gather_counts(struct crew *nodes, const struct crew_sets *sets,
                                     int64_t **all)
{
    size_t classes = (size_t)stn_dataset_info(sets->public_set)->classes;
    size_t row = STN_SUBSET_COUNT * classes;
    int64_t *own = calloc(row, sizeof(*own));
    *all = calloc((size_t)nodes->size * row, sizeof(**all));
    enum stn_status status = own && *all ? STN_OK : fail_memory();
    for (int subset = 0; subset < STN_SUBSET_COUNT && !status && sets->private_set; subset++) {
        stn_dataset_class_counts(sets->private_set, (enum stn_subset)subset,
                                 own + (size_t)subset * classes);
    }
    status = crew_agree(nodes, status);
    if (!status) {
        status = comm_all_gather(nodes->comm, COMM_CONTROL, own, row * sizeof(*own), *all);
    }
    free(own);
    return status;
}

static void add_up(const struct crew *nodes, struct crew_sets *sets, const int64_t *all)
{
    int classes = stn_dataset_info(sets->public_set)->classes;
    for (int i = 0; i < nodes->size; i++) {
        for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
            for (int c = 0; c < classes; c++) {
                sets->counts[subset][1 + i] += *all++;
            }
        }
        sets->private_samples += sets->counts[STN_SUBSET_TRAIN][1 + i];
    }
}

// The largest private set sets the length; samples of smaller ones are repeated up to it.
static void repeat_private(const struct crew *nodes, int64_t *counts)
{
    int64_t most = 0;
    for (int i = 1; i <= nodes->size; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    for (int i = 1; i <= nodes->size; i++) {
        counts[i] = counts[i] ? most : 0;
    }
}

static enum stn_status count_all(struct crew *nodes, enum settings_fill fill,
                                 struct crew_sets *sets)
{
    bool any = false;
    for (int i = 0; i < nodes->size; i++) {
        any |= nodes->cluster.nodes[i].private_dir != NULL;
    }
    const struct stn_dataset_info *data = stn_dataset_info(sets->public_set);
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        sets->counts[subset] = calloc((size_t)nodes->size + 1, sizeof(int64_t));
        if (!sets->counts[subset]) {
            return fail_memory();
        }
        sets->counts[subset][0] = data->count[subset];
    }
    int64_t *all = NULL;
    enum stn_status status = any ? gather_counts(nodes, sets, &all) : STN_OK;
    if (!status && any) {
        add_up(nodes, sets, all);
        if (fill == SETTINGS_FILL_REPEAT) {
            repeat_private(nodes, sets->counts[STN_SUBSET_TRAIN]);
        }
    }
    free(all);
    return status;
}

enum stn_status crew_sets_open(struct crew *nodes, const struct stn_dataset_options *options,
                               enum settings_fill fill, struct crew_sets *out)
{
    const char *private_dir = crew_own(nodes)->private_dir;
    *out = (struct crew_sets){0};
    enum stn_status status = stn_dataset_open(options, &out->public_set);
    if (!status && private_dir) {
        status = stn_dataset_open_private(private_dir, out->public_set, &out->private_set);
    }
    status = crew_agree(nodes, status);
    return status ? status : crew_agree(nodes, count_all(nodes, fill, out));
}

void crew_sets_close(struct crew_sets *sets)
{
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        free(sets->counts[subset]);
    }
    stn_dataset_close(sets->private_set);
    stn_dataset_close(sets->public_set);
    *sets = (struct crew_sets){0};
}

int64_t crew_sets_total(const struct crew_sets *sets, const struct crew *nodes,
                        enum stn_subset subset)
{
    int64_t total = 0;
    for (int i = 0; i <= nodes->size; i++) {
        total += sets->counts[subset][i];
    }
    return total;
}
