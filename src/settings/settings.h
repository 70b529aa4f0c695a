// SPDX-License-Identifier: Apache-2.0
// The settings as the code reads them: one struct, a field a row of list.h. It begins as a user's
// wish (stn_settings, or the command line), is completed once when a training opens, and is read
// only from then on.
//
// Texts in it are borrowed: from the stn_settings that owns them, from the command line, from a
// checkpoint. Pure but for messages; any thread.
#ifndef SETTINGS_SETTINGS_H
#define SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "settings/choices.h"
#include "stannis/dataset.h"
#include "stannis/plan.h"
#include "stannis/settings.h"

// What `auto` is in a field, and the batch whose learning rate a user means where it is chosen for
// him.
enum { SETTINGS_AUTO = -1, SETTINGS_BATCH_USUAL = 128 };

struct settings {
#define SETTING(type, field, ...) type field;
#define AGAIN(...)
#include "settings/list.h"
#undef SETTING
#undef AGAIN
};

// What the public header hands out.
struct stn_settings {
    enum stn_verb verb;
    struct settings values;
    struct base_arena texts; // copies of what was set
};

// What a resumed training does with a user's value that is not its checkpoint's.
enum settings_rule {
    SETTINGS_FORGOTTEN, // not in a checkpoint
    SETTINGS_FIXED,     // it defines the training: refused
    SETTINGS_FREE,      // the user's wins
    SETTINGS_KEPT,      // it follows from another setting: always the checkpoint's
};

struct settings_row {
    struct stn_setting face;
    size_t offset;     // of the field
    const char *field; // its name
    bool again;        // another row has made the field
    enum settings_rule rule;
    const char *key; // in a checkpoint, without "stannis."
    bool alike;      // nodes must have the same
};

extern const struct settings_row settings_rows[];
extern const int settings_row_count;

// Refuses NULL and settings of another verb; `call` begins the line.
STN_MUST_CHECK enum stn_status settings_expect(const struct stn_settings *settings,
                                               enum stn_verb verb, const char *call);

// Everything as it is for a verb while the user has said nothing.
struct settings settings_defaults(enum stn_verb verb);
// The verbs whose rows an object for `verb` has: tuning and training share theirs.
unsigned settings_verbs(enum stn_verb verb);
// The row of that name ('-' or '_') for one of these verbs, one of the program's only if wanted;
// NULL: none.
const struct settings_row *settings_find(unsigned verbs, const char *name, bool program);

// ---- one value (parse.c) -----------------------------------------------------------------------

// Reads a text into the row's field. A text value stays borrowed. One line where it is refused.
STN_MUST_CHECK enum stn_status settings_parse(const struct settings_row *row, const char *text,
                                              struct settings *into);
// Whether all of the verb's fields are within their limits, or at their defaults; one line if not.
STN_MUST_CHECK enum stn_status settings_check(enum stn_verb verb, const struct settings *settings);
bool settings_equal(const struct settings_row *row, const struct settings *a,
                    const struct settings *b);
void settings_assign(const struct settings_row *row, const struct settings *from,
                     struct settings *to);
// As the parser would take it, exactly; "" where nothing is chosen. Texts that are too long for
// text[bytes] are cut; returns how long the whole is.
size_t settings_print(const struct settings_row *row, const struct settings *settings, char *text,
                      size_t bytes);

// Which images a training is about.
struct stn_dataset_options settings_dataset(const struct settings *settings);

#endif
