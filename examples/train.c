// SPDX-License-Identifier: Apache-2.0
// Trains LeNet and prints its epochs:
//
//     cc train.c -o train $(pkg-config --cflags --libs stannis) && ./train fashion-mnist
//
// Several nodes: mpirun -np 2 ./train fashion-mnist
#include <stannis/stannis.h>
#include <stdio.h>

static void print_epoch(void *context, const struct stn_train_epoch *epoch)
{
    (void)context;
    printf("epoch %d: loss %.4f, accuracy %.1f %%, %.0f images/s\n", epoch->epoch,
           epoch->train_loss, 100.0 * epoch->val_accuracy, epoch->images_per_second);
}

static enum stn_status choose(const char *data, struct stn_settings *settings)
{
    enum stn_status status = stn_settings_set(settings, "net", "lenet");
    if (!status) {
        status = stn_settings_set(settings, "data", data);
    }
    if (!status) {
        status = stn_settings_set_int(settings, "epochs", 2);
    }
    return status ? status : stn_settings_set(settings, "out", "run");
}

int main(int argc, char **argv)
{
    struct stn_session *session = NULL;
    struct stn_settings *settings = NULL;
    const struct stn_train_observer observer = {.epoch = print_epoch};
    struct stn_train_result result;
    enum stn_status status = stn_session_open(NULL, &session);
    if (!status) {
        status = stn_settings_create(STN_VERB_TRAIN, &settings);
    }
    if (!status) {
        status = choose(argc > 1 ? argv[1] : "synthetic:2000", settings);
    }
    if (!status) {
        status = stn_train_run(session, settings, &observer, &result);
    }
    stn_settings_destroy(settings);
    stn_session_close(session);
    return stn_status_exit_code(status);
}
