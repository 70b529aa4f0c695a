// SPDX-License-Identifier: Apache-2.0
// The calls that a session is given to. Each looks at what it was given, and has the module do it
// whose work it is.
#include "base/last_error.h"
#include "base/need.h"
#include "bench/bench.h"
#include "infer/evaluate.h"
#include "infer/predict.h"
#include "session/session.h"
#include "settings/settings.h"
#include "stannis/train.h"
#include "train/run.h"

static enum stn_status train(struct stn_session *session, const struct stn_settings *settings,
                             const struct stn_train_observer *observer,
                             struct stn_train_result *out)
{
    struct comm *comm;
    enum stn_status status = session_connect(session, settings->values.timeout, &comm);
    if (!status) {
        status = train_run_on(comm, &settings->values, observer, NULL, out);
        comm_close(comm);
    }
    return status;
}

enum stn_status stn_train_run(struct stn_session *session, const struct stn_settings *settings,
                              const struct stn_train_observer *observer,
                              struct stn_train_result *out)
{
    enum stn_status status = session_begin(session, "stn_train_run");
    if (status) {
        return status;
    }
    status = settings_expect(settings, STN_VERB_TRAIN, "stn_train_run");
    if (!status) {
        status = base_need(out, "stn_train_run", "place for the result");
    }
    if (!status) {
        *out = (struct stn_train_result){0};
        status = train(session, settings, observer, out);
    }
    return session_end(session, status);
}

static enum stn_status tune(struct stn_session *session, const struct stn_settings *settings,
                            const struct stn_train_observer *observer, struct stn_plan **out)
{
    struct comm *comm;
    enum stn_status status = session_connect(session, settings->values.timeout, &comm);
    if (!status) {
        status = train_tune_on(comm, &settings->values, observer, out);
        comm_close(comm);
    }
    return status;
}

enum stn_status stn_tune_run(struct stn_session *session, const struct stn_settings *settings,
                             const struct stn_train_observer *observer, struct stn_plan **out)
{
    enum stn_status status = session_begin(session, "stn_tune_run");
    if (status) {
        return status;
    }
    status = settings_expect(settings, STN_VERB_TUNE, "stn_tune_run");
    if (!status) {
        status = base_need(out, "stn_tune_run", "place for the plan");
    }
    if (!status) {
        *out = NULL;
        status = tune(session, settings, observer, out);
    }
    return session_end(session, status);
}

enum stn_status stn_eval_run(struct stn_session *session, const struct stn_settings *settings,
                             const struct stn_train_observer *observer, struct stn_eval_result *out)
{
    enum stn_status status = session_begin(session, "stn_eval_run");
    if (status) {
        return status;
    }
    status = settings_expect(settings, STN_VERB_EVAL, "stn_eval_run");
    if (!status) {
        status = base_need(out, "stn_eval_run", "place for the result");
    }
    if (!status) {
        *out = (struct stn_eval_result){0};
        status = infer_eval(&settings->values, observer, out);
    }
    return session_end(session, status);
}

enum stn_status stn_bench_run(struct stn_session *session, const struct stn_settings *settings,
                              struct stn_profile *profile, struct stn_bench_result *out)
{
    enum stn_status status = session_begin(session, "stn_bench_run");
    if (status) {
        return status;
    }
    status = settings_expect(settings, STN_VERB_BENCH, "stn_bench_run");
    if (!status) {
        status = base_need(out, "stn_bench_run", "place for the result");
    }
    if (!status) {
        *out = (struct stn_bench_result){0};
        status = bench_run(&settings->values, profile, out);
    }
    return session_end(session, status);
}

enum stn_status stn_predictor_open(struct stn_session *session, const struct stn_settings *settings,
                                   struct stn_predictor **out)
{
    enum stn_status status = session_begin(session, "stn_predictor_open");
    if (status) {
        return status;
    }
    status = settings_expect(settings, STN_VERB_PREDICT, "stn_predictor_open");
    if (!status) {
        status = base_need(out, "stn_predictor_open", "place for the predictor");
    }
    if (!status) {
        status = infer_predictor_open(&settings->values, out);
    }
    return session_end(session, status);
}

enum stn_status stn_predictor_classify(struct stn_predictor *predictor, const char *image_path,
                                       int top, struct stn_prediction *out, int *count)
{
    static const char call[] = "stn_predictor_classify";
    base_last_error_clear();
    enum stn_status status = base_need(predictor, call, "predictor");
    if (!status) {
        status = base_need(image_path, call, "image");
    }
    if (!status) {
        status = base_need(out, call, "place for the predictions");
    }
    if (!status) {
        status = base_need(count, call, "place for their number");
    }
    if (!status) {
        status = infer_predictor_classify(predictor, image_path, top, out, count);
    }
    return base_last_error_settle(status);
}

void stn_predictor_close(struct stn_predictor *predictor)
{
    infer_predictor_close(predictor);
}
