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

// A call that takes settings and fills `out`: begun, or ended with what is wrong with it.
static enum stn_status begin(struct stn_session *session, const struct stn_settings *settings,
                             enum stn_verb verb, const char *call, const void *out,
                             const char *place)
{
    enum stn_status status = session_begin(session, call);
    if (status) {
        return status;
    }
    status = settings_expect(settings, verb, call);
    if (!status) {
        status = base_need(out, call, place);
    }
    return status ? session_end(session, status) : STN_OK;
}

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
    enum stn_status status =
        begin(session, settings, STN_VERB_TRAIN, "stn_train_run", out, "place for the result");
    if (status) {
        return status;
    }
    *out = (struct stn_train_result){0};
    return session_end(session, train(session, settings, observer, out));
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
    enum stn_status status =
        begin(session, settings, STN_VERB_TUNE, "stn_tune_run", out, "place for the plan");
    if (status) {
        return status;
    }
    *out = NULL;
    return session_end(session, tune(session, settings, observer, out));
}

enum stn_status stn_eval_run(struct stn_session *session, const struct stn_settings *settings,
                             const struct stn_train_observer *observer, struct stn_eval_result *out)
{
    enum stn_status status =
        begin(session, settings, STN_VERB_EVAL, "stn_eval_run", out, "place for the result");
    if (status) {
        return status;
    }
    *out = (struct stn_eval_result){0};
    return session_end(session, infer_eval(&settings->values, observer, out));
}

enum stn_status stn_bench_run(struct stn_session *session, const struct stn_settings *settings,
                              struct stn_profile *profile, struct stn_bench_result *out)
{
    enum stn_status status =
        begin(session, settings, STN_VERB_BENCH, "stn_bench_run", out, "place for the result");
    if (status) {
        return status;
    }
    *out = (struct stn_bench_result){0};
    return session_end(session, bench_run(&settings->values, profile, out));
}

enum stn_status stn_predictor_open(struct stn_session *session, const struct stn_settings *settings,
                                   struct stn_predictor **out)
{
    enum stn_status status = begin(session, settings, STN_VERB_PREDICT, "stn_predictor_open", out,
                                   "place for the predictor");
    if (status) {
        return status;
    }
    return session_end(session, infer_predictor_open(&settings->values, out));
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
