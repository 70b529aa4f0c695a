// SPDX-License-Identifier: Apache-2.0
// Says what is on pictures, with a network that was trained:
//
//     cc predict.c -o predict $(pkg-config --cflags --libs stannis)
//     ./predict run/best.safetensors photo.jpg
#include <stannis/stannis.h>
#include <stdio.h>

enum { TOP = 3 };

static enum stn_status classify(struct stn_predictor *predictor, const char *image)
{
    struct stn_prediction best[TOP];
    int count = 0;
    enum stn_status status = stn_predictor_classify(predictor, image, TOP, best, &count);
    for (int i = 0; i < count; i++) {
        printf("%s: %s %.1f %%\n", image, best[i].class_name, 100.0 * best[i].probability);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct stn_session *session = NULL;
    struct stn_settings *settings = NULL;
    struct stn_predictor *predictor = NULL;
    enum stn_status status = stn_session_open(NULL, &session);
    if (!status) {
        status = stn_settings_create(STN_VERB_PREDICT, &settings);
    }
    if (!status) {
        status =
            stn_settings_set(settings, "checkpoint", argc > 1 ? argv[1] : "run/best.safetensors");
    }
    if (!status) {
        status = stn_predictor_open(session, settings, &predictor);
    }
    for (int i = 2; i < argc && !status; i++) {
        status = classify(predictor, argv[i]);
    }
    stn_predictor_close(predictor);
    stn_settings_destroy(settings);
    stn_session_close(session);
    return stn_status_exit_code(status);
}
