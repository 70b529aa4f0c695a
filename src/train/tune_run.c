// SPDX-License-Identifier: Apache-2.0
// Tuning without training after it: a trainer is opened, which tunes, and closed.
#include "train/run.h"
#include "train/trainer.h"

enum stn_status train_tune_on(struct comm *comm, const struct stn_train_config *config,
                              const struct stn_train_observer *observer, struct stn_plan **out)
{
    struct trainer trainer;
    struct stn_train_config alone = *config;
    alone.tune = STN_TUNE_ALWAYS;
    alone.out_dir = NULL;
    alone.audit_dir = NULL;
    *out = NULL;
    enum stn_status status =
        trainer_open(comm, &alone, comm_rank(comm) == 0 ? observer : NULL, NULL, &trainer);
    if (!status) {
        *out = trainer.plan;
        trainer.plan = NULL;
    }
    trainer_close(&trainer);
    return status;
}
