// SPDX-License-Identifier: Apache-2.0
// What a user may choose. Every setting is one row of one table: a name, a kind, a default, a
// range, a text of help. The same table makes the command line's options, so what holds for
// `stannis train --weight-decay 1e-4` holds for
//
//     struct stn_settings *settings;
//     if (stn_settings_create(STN_VERB_TRAIN, &settings) != STN_OK ||
//         stn_settings_set(settings, "net", "lenet") != STN_OK ||
//         stn_settings_set_real(settings, "weight-decay", 1e-4) != STN_OK) { … }
//
// An object of settings is for one verb and offers what the table has for it; STN_VERB_TRAIN and
// STN_VERB_TUNE are the same, so that what was tuned can be trained. Names may be written with '-'
// or '_'. What is not set has its default; where the help says "by default", the program chooses
// later, when it knows the data, the network and the nodes.
//
// Errors: one line through the log that begins with the setting's name, "batch 0: must be between 1
// and 1000000", and a status; the value stays what it was. NULL where something is needed gives
// STN_ERR_INVALID and a line.
//
// Memory: texts are copied. Threads: an object belongs to one thread at a time; the table itself is
// constant and may be read by any.
#ifndef STANNIS_SETTINGS_H
#define STANNIS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// What Stannis does, each with settings of its own. The first five are also calls of the library.
// clang-format off
#define STN_VERB_LIST(row)              \
    row(TRAIN,       "train",        0) \
    row(TUNE,        "tune",         1) \
    row(EVAL,        "eval",         2) \
    row(PREDICT,     "predict",      3) \
    row(BENCH,       "bench",        4) \
    row(MODELS,      "models",       5) \
    row(EMULATE,     "emulate",      6) \
    row(SIZE,        "size",         7) \
    row(SIM,         "sim",          8) \
    row(CSD,         "csd",          9) \
    row(CSD_CREATE,  "csd create",  10) \
    row(CSD_START,   "csd start",   11) \
    row(CSD_LS,      "csd ls",      12) \
    row(CSD_STOP,    "csd stop",    13) \
    row(CSD_FORMAT,  "csd format",  14) \
    row(CSD_STAT,    "csd stat",    15) \
    row(CSD_BENCH,   "csd bench",   16) \
    row(CSD_NBD,     "csd nbd",     17) \
    row(CSD_DESTROY, "csd destroy", 18) \
    row(CSD_DEVICE,  "csd device",  19) \
    row(POWER,       "power",       20)
// clang-format on

enum stn_verb {
#define STN_VERB_CONSTANT(id, word, bit) STN_VERB_##id = 1 << (bit),
    STN_VERB_LIST(STN_VERB_CONSTANT)
#undef STN_VERB_CONSTANT
};

// ---- choosing ----------------------------------------------------------------------------------

struct stn_settings;

// Makes settings for a verb, all at their defaults.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_create(enum stn_verb verb,
                                                              struct stn_settings **out);
// Makes settings of the same verb with the same values.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_copy(const struct stn_settings *from,
                                                            struct stn_settings **out);
// Frees settings; NULL is fine.
STN_EXPORT void stn_settings_destroy(struct stn_settings *settings);

// Sets by text, as on the command line: "0.05", "auto", "cosine", "2G"; a flag is "on" or "off".
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_set(struct stn_settings *settings,
                                                           const char *name, const char *value);
// Sets by type; refused where the setting is of another. A size in bytes and a seed are integers, a
// choice is a text.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_set_int(struct stn_settings *settings,
                                                               const char *name, int64_t value);
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_set_real(struct stn_settings *settings,
                                                                const char *name, double value);
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_set_flag(struct stn_settings *settings,
                                                                const char *name, bool value);
STN_EXPORT STN_MUST_CHECK enum stn_status
stn_settings_set_text(struct stn_settings *settings, const char *name, const char *value);
// Sets back to the default; `name` NULL: all of them.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_settings_reset(struct stn_settings *settings,
                                                             const char *name);
// Gives the value as a text that stn_settings_set would take; "" where nothing is chosen yet.
// Refused where text[bytes] is too short.
STN_EXPORT STN_MUST_CHECK enum stn_status
stn_settings_get(const struct stn_settings *settings, const char *name, char *text, size_t bytes);

// ---- the table ---------------------------------------------------------------------------------

enum stn_setting_kind {
    STN_SETTING_FLAG,   // on or off; on the command line --NAME and --no-NAME
    STN_SETTING_INT,    // a whole number within min … max
    STN_SETTING_AUTO,   // the same, or "auto"
    STN_SETTING_INT64,  // a whole number that may be large, within min … max
    STN_SETTING_SEED,   // a whole number from 0 to 2^64 − 1
    STN_SETTING_REAL,   // a finite number within min … max
    STN_SETTING_BYTES,  // a size: 1048576, 512M, 2G
    STN_SETTING_TEXT,   // anything but ""
    STN_SETTING_CHOICE, // one of `choices`
};

// A row, for help, man pages and completion. A name may have several rows, of different verbs.
struct stn_setting {
    const char *name; // "weight-decay"
    enum stn_setting_kind kind;
    unsigned verbs;      // bits of enum stn_verb: which verbs take it
    const char *group;   // the heading above it; rows of a group stand together
    const char *help;    // a sentence or two; `name` in backquotes is another setting
    const char *value;   // what stands for the value in help, "N"; NULL for flags and choices
    const char *initial; // its default, as a text; NULL: none, or chosen later as the help says
    const char *const *choices; // of a CHOICE; ends with NULL
    double min, max;            // limits, where has_limits; max INFINITY: none above
    bool has_limits, below_max; // `max` itself is too much
    bool usual;                 // what most people need
    bool program;               // the command line's alone: the library does not offer it
};

// How many rows the table has.
STN_EXPORT int stn_setting_count(void);
// A row of the table; NULL outside of 0 … count − 1.
STN_EXPORT const struct stn_setting *stn_setting_at(int index);
// The word for a verb: "train"; NULL for what is no verb.
STN_EXPORT const char *stn_verb_name(enum stn_verb verb);

#ifdef __cplusplus
}
#endif

#endif
