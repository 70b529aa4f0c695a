// SPDX-License-Identifier: Apache-2.0
// Where settings begin, and what follows from several of them.
#include "settings/settings.h"

#include <assert.h>
#include <math.h>

_Static_assert(sizeof(enum settings_schedule) == sizeof(int), "choices are read and set as int");
_Static_assert(sizeof(enum stn_policy) == sizeof(int), "choices are read and set as int");

static void reset(const struct settings_row *row, struct settings *settings)
{
    void *field = (char *)settings + row->offset;
    if (row->face.initial) {
        enum stn_status status = settings_parse(row, row->face.initial, settings);
        assert(status == STN_OK); // a test walks the table
        (void)status;
    } else if (row->face.kind == STN_SETTING_REAL) {
        *(double *)field = (double)NAN;
    } else if (row->face.kind == STN_SETTING_CHOICE) {
        *(int *)field = -1;
    }
}

struct settings settings_defaults(enum stn_verb verb)
{
    struct settings settings = {0};
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        if (row->face.verbs == 0 || (row->face.verbs & settings_verbs(verb))) {
            reset(row, &settings);
        }
    }
    return settings;
}

enum stn_status settings_expect(const struct stn_settings *settings, enum stn_verb verb,
                                const char *call)
{
    if (!settings) {
        return stn_fail(STN_ERR_INVALID, "%s: the settings are NULL", call);
    }
    if (settings_verbs(settings->verb) != settings_verbs(verb)) {
        return stn_fail(STN_ERR_INVALID, "%s: these are settings of %s, not of %s", call,
                        stn_verb_name(settings->verb), stn_verb_name(verb));
    }
    return STN_OK;
}

struct stn_dataset_options settings_dataset(const struct settings *settings)
{
    return (struct stn_dataset_options){.spec = settings->data,
                                        .image_size = settings->image_size,
                                        .classes = settings->classes,
                                        .seed = settings->data_seed};
}
