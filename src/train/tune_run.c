// SPDX-License-Identifier: Apache-2.0
// Tuning without training after it: a trainer is opened, which tunes, and closed.
#include "train/run.h"
#include "trainer/trainer.h"

enum stn_status train_tune_on(struct comm *comm, const struct settings *settings,
                              const struct stn_train_observer *observer, struct stn_plan **out)
{
    struct trainer trainer;
    const struct stn_train_observer own = train_observer_of(comm, observer);
    struct settings alone = *settings, resolved;
    alone.tune_always = true;
    alone.out = NULL;
    alone.audit = NULL;
    *out = NULL;
    enum stn_status status = trainer_open(comm, &alone, &own, NULL, &resolved, &trainer);
    if (!status) {
        *out = trainer.assignment.plan;
        trainer.assignment.plan = NULL;
    }
    trainer_close(&trainer);
    return status;
}
