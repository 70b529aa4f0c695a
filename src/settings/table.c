// SPDX-License-Identifier: Apache-2.0
// The table: list.h made into rows.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "settings/settings.h"
#include "stannis/model.h"

static const char data_group[] = "What to train on what";
static const char steps_group[] = "How long and in which steps";
static const char learning_group[] = "How to learn";
static const char machine_group[] = "On what to run";
static const char nodes_group[] = "On several nodes (or under mpirun or srun)";
static const char hypertune_group[] =
    "HyperTune: balanced and hypertune move work, unless there is a `split`";
static const char virtual_group[] = "The virtual cluster";
static const char disturbed_group[] = "What disturbs it";
static const char files_group[] = "Files";
static const char devices_group[] = "Devices";
static const char namespace_group[] = "With `namespace`";
static const char shown_group[] = "What you see";

#define DATA       data_group
#define STEPS      steps_group
#define LEARNING   learning_group
#define MACHINE    machine_group
#define NODES      nodes_group
#define HYPERTUNE  hypertune_group
#define VIRTUAL    virtual_group
#define DISTURBED  disturbed_group
#define FILES      files_group
#define DEVICES    devices_group
#define NAMESPACES namespace_group
#define SHOWN      shown_group

#define ROW(field_, kind_, name_, verbs_, group_, help_, ...)                                      \
    {.face.name = name_,                                                                           \
     .face.kind = STN_SETTING_##kind_,                                                             \
     .face.verbs = verbs_,                                                                         \
     .face.group = group_,                                                                         \
     .face.help = help_,                                                                           \
     .offset = offsetof(struct settings, field_),                                                  \
     .field = #field_,                                                                             \
     __VA_ARGS__},
#define SETTING(type, ...)  ROW(__VA_ARGS__)
#define AGAIN(...)          ROW(__VA_ARGS__, .again = true)
#define INITIAL(text)       .face.initial = text
#define VALUE(text)         .face.value = text
#define LIMITS(least, most) .face.has_limits = true, .face.min = (least), .face.max = (most)
#define AT_LEAST(least)     LIMITS(least, (double)INFINITY)
#define BELOW(least, bound) LIMITS(least, bound), .face.below_max = true
#define OF(words)           .face.choices = words
#define USUAL               .face.usual = true
#define PROGRAM             .face.program = true
#define FIXED(name)         .rule = SETTINGS_FIXED, .key = name
#define FREE(name)          .rule = SETTINGS_FREE, .key = name
#define KEPT(name)          .rule = SETTINGS_KEPT, .key = name
#define ALIKE               .alike = true

const struct settings_row settings_rows[] = {
#include "settings/list.h"
};
const int settings_row_count = sizeof(settings_rows) / sizeof(settings_rows[0]);

// ---- finding -----------------------------------------------------------------------------------

unsigned settings_verbs(enum stn_verb verb)
{
    const unsigned training = STN_VERB_TRAIN | STN_VERB_TUNE;
    return (unsigned)verb & training ? training : (unsigned)verb;
}

static bool same_name(const char *name, const char *typed)
{
    for (; *name && *typed; name++, typed++) {
        if (*name != *typed && !(*name == '-' && *typed == '_')) {
            return false;
        }
    }
    return *name == *typed;
}

const struct settings_row *settings_find(unsigned verbs, const char *name, bool program)
{
    for (int i = 0; i < settings_row_count; i++) {
        const struct stn_setting *face = &settings_rows[i].face;
        if ((face->verbs & verbs) && (program || !face->program) && same_name(face->name, name)) {
            return &settings_rows[i];
        }
    }
    return NULL;
}

int stn_setting_count(void)
{
    return settings_row_count;
}

const struct stn_setting *stn_setting_at(int index)
{
    return index >= 0 && index < settings_row_count ? &settings_rows[index].face : NULL;
}

const char *stn_verb_name(enum stn_verb verb)
{
    switch (verb) {
#define CASE(id, word, bit)                                                                        \
    case STN_VERB_##id: return word;
        STN_VERB_LIST(CASE)
#undef CASE
    }
    return NULL;
}
