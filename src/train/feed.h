// SPDX-License-Identifier: Apache-2.0
// The micro-batches of a training or an evaluation in order, always asked for ahead of need: the
// queue of the loader is topped up across steps and across epochs.
//
// A step is `batch` positions of an epoch (the last step of an epoch: what is left), cut into
// micro-batches; the last of a step may be short. Where the cuts are follows from the position
// alone, so a resumed run cuts the same way.
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H

#include "data/loader.h"

struct train_feed {
    struct data_loader *loader;
    int64_t samples; // in an epoch
    int batch, micro_batch;
    struct {
        int epoch;
        int64_t position;
        int epochs; // nothing is asked for from this epoch on
    } ahead;        // what to ask for next
};

// `config` as for the loader, whose depth is chosen here.
STN_MUST_CHECK enum stn_status train_feed_open(struct stn_dataset *dataset,
                                               const struct data_loader_config *config, int batch,
                                               struct train_feed *out);
void train_feed_close(struct train_feed *feed);

// Forgets what was asked for and begins at `position` of `epoch`; ends with epoch `epochs` − 1.
void train_feed_seek(struct train_feed *feed, int epoch, int64_t position, int epochs);
// The next micro-batch, borrowed until release; there must be one.
STN_MUST_CHECK enum stn_status train_feed_next(struct train_feed *feed, struct data_batch **out);
void train_feed_release(struct train_feed *feed, struct data_batch *batch);

// Where the step that `position` lies in ends.
int64_t train_step_end(int64_t position, int batch, int64_t samples);

#endif
