// SPDX-License-Identifier: Apache-2.0
// What stn_predictor_open and its like do, once they know that nothing is missing.
#ifndef INFER_PREDICT_H
#define INFER_PREDICT_H

#include "settings/settings.h"
#include "stannis/train.h"

STN_MUST_CHECK enum stn_status infer_predictor_open(const struct settings *settings,
                                                    struct stn_predictor **out);
void infer_predictor_close(struct stn_predictor *predictor);
STN_MUST_CHECK enum stn_status infer_predictor_classify(struct stn_predictor *predictor,
                                                        const char *image_path, int top,
                                                        struct stn_prediction *out, int *count);

#endif
