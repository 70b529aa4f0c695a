// SPDX-License-Identifier: Apache-2.0
// A whole subset through a network, as after each epoch and by stn_eval_run.
#ifndef INFER_EVALUATE_H
#define INFER_EVALUATE_H

#include "crew/feed.h"
#include "nn/net.h"
#include "settings/settings.h"
#include "stannis/train.h"

struct infer_evaluation {
    struct nn_net *net;
    struct crew_feed *feed;
    const struct stn_train_observer *observer; // or NULL
    // Applied to every image before the network sees it, or NULL: pixel = pixel·scale + shift, by
    // channel.
    const struct infer_renormalise {
        int channels;
        size_t pixels; // of a channel
        float scale[3], shift[3];
    } * renormalise;
};

// ERR_INTERRUPTED when asked to stop.
STN_MUST_CHECK enum stn_status infer_evaluate(const struct infer_evaluation *e,
                                              struct kernel_loss_totals *totals);

// What stn_eval_run does.
STN_MUST_CHECK enum stn_status infer_eval(const struct settings *settings,
                                          const struct stn_train_observer *observer,
                                          struct stn_eval_result *out);

#endif
