// SPDX-License-Identifier: Apache-2.0
// A program that uses libstannis again and again: open, tune, train, train, evaluate, close, and
// all of that once more. Says "done" on node 0 when the second time gave the same numbers as the
// first.
#include <stannis/stannis.h>
#include <stdio.h>

static enum stn_status settle(struct stn_settings *settings)
{
    static const struct {
        const char *name, *value;
    } values[] = {{"net", "lenet"}, {"data", "synthetic:96"}, {"classes", "4"},
                  {"batch", "16"},  {"micro-batch", "8"},     {"image-size", "28"},
                  {"epochs", "1"},  {"threads", "1"},         {"tune-seconds", "0.05"},
                  {"split", "1,1"}};
    enum stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !status; i++) {
        status = stn_settings_set(settings, values[i].name, values[i].value);
    }
    return status;
}

static enum stn_status tune(struct stn_session *session, struct stn_settings *settings)
{
    struct stn_plan *plan = NULL;
    enum stn_status status = stn_settings_reset(settings, "split");
    if (!status) {
        status = stn_tune_run(session, settings, NULL, &plan);
    }
    if (!status && (plan != NULL) != (stn_session_rank(session) == 0)) {
        status = stn_fail(STN_ERR_INTERNAL, "the plan is not node 0's");
    }
    stn_plan_destroy(plan);
    return status
               ? status
               : stn_settings_set(settings, "split", stn_session_nodes(session) == 2 ? "1,1" : "2");
}

static enum stn_status once(double losses[2])
{
    struct stn_session *session = NULL;
    struct stn_settings *settings = NULL;
    enum stn_status status = stn_session_open(NULL, &session);
    if (!status) {
        status = stn_settings_create(STN_VERB_TRAIN, &settings);
    }
    if (!status) {
        status = settle(settings);
    }
    if (!status) {
        status = tune(session, settings);
    }
    for (int i = 0; i < 2 && !status; i++) {
        struct stn_train_result result;
        status = stn_train_run(session, settings, NULL, &result);
        losses[i] = result.loss;
    }
    if (!status && stn_session_rank(session) == 0) {
        printf("%d nodes\n", stn_session_nodes(session));
    }
    stn_settings_destroy(settings);
    stn_session_close(session);
    return status;
}

int main(void)
{
    double first[2] = {0}, second[2] = {0};
    enum stn_status status = once(first);
    if (!status) {
        status = once(second);
    }
    if (!status && (first[0] != first[1] || first[0] != second[0] || first[0] != second[1])) {
        status = stn_fail(STN_ERR_INTERNAL, "losses %.17g %.17g, then %.17g %.17g", first[0],
                          first[1], second[0], second[1]);
    }
    if (!status) {
        puts("done");
    }
    return stn_status_exit_code(status);
}
