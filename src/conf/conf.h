// SPDX-License-Identifier: Apache-2.0
// Files that people write, in YAML. A file becomes a document whose values know their lines; a
// table says which keys a mapping may have. A mistake is refused with one line, "FILE:LINE: what
// was expected".
//
//     conf_load | conf_parse → conf_root → { conf_read_map | conf_at } … → conf_fini
//
//     conf_writer_create → { conf_writer_list → { conf_writer_item → conf_writer_pair … } … } …
//     → conf_writer_finish
//
// libyaml stays inside. Values, and the texts read from them, live until conf_fini. Not for several
// threads at once.
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stddef.h>

#include "stannis/status.h"

struct conf_document;
struct conf_value; // scalar, list or mapping

struct conf {
    const char *label; // the file, for messages; borrowed
    int line;          // of what is being read; 0: there is none
    struct conf_document *document;
};

// The text must be exactly one document. On failure nothing is kept.
STN_MUST_CHECK enum stn_status conf_parse(const char *text, size_t bytes, const char *label,
                                          struct conf *out);
// `what` names the kind of file in messages: "cluster file". `path` is kept as the label.
STN_MUST_CHECK enum stn_status conf_load(const char *path, const char *what, struct conf *out);
// The text of such a file alone, to be freed.
STN_MUST_CHECK enum stn_status conf_load_text(const char *path, const char *what, char **text,
                                              size_t *bytes);
void conf_fini(struct conf *conf);

// Logs one line that begins with "LABEL:LINE: ".
enum stn_status conf_fail(const struct conf *conf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Sets the line of later messages to that of `value`.
void conf_go(struct conf *conf, const struct conf_value *value);

const struct conf_value *conf_root(const struct conf *conf); // NULL: empty
int conf_count(const struct conf_value *value);              // items; −1: it is no list
const struct conf_value *conf_at(const struct conf *conf, const struct conf_value *list, int i);

enum conf_kind {
    CONF_TEXT,  // const char *: one line, not empty
    CONF_WHOLE, // int, within min … max
    CONF_REAL,  // double, within min … max
    CONF_BYTES, // size_t, > 0: 512M, 4G
    CONF_FLAG,  // bool: true, false
    CONF_VALUE, // const struct conf_value *: of any kind, for the caller to read
};

struct conf_key {
    const char *name;
    enum conf_kind kind;
    size_t offset;        // of the field in the target struct
    double min, max;      // WHOLE, REAL
    const char *expected; // REAL, BYTES, in words: "a number of CPUs as 0.25 or 2"
};

enum { CONF_KEYS_MAX = 32 };

// Reads every pair of `map` into `target`; fields whose key is not there stay as they are. `keys`
// ends with a row without name. If `map` is no mapping, the message asks for `expected`; `twice`
// follows "given twice" in that of a key given twice.
STN_MUST_CHECK enum stn_status conf_read_map(struct conf *conf, const struct conf_value *map,
                                             const struct conf_key keys[], const char *expected,
                                             const char *twice, void *target);
// Reads one scalar into *field, as the row says; its offset is not used.
STN_MUST_CHECK enum stn_status conf_read_value(struct conf *conf, const struct conf_value *value,
                                               const struct conf_key *key, void *field);

// ---- writing -----------------------------------------------------------------------------------

// Writes a file of lists of mappings. NULL when memory is out; later failures are told at the end.
struct conf_writer;
struct conf_writer *conf_writer_create(void);
void conf_writer_list(struct conf_writer *writer, const char *key); // the next of the file
void conf_writer_item(struct conf_writer *writer);                  // the next of the list
// Adds a pair to the item; its value is quoted where YAML needs it.
void conf_writer_pair(struct conf_writer *writer, const char *key, const char *value);
// Gives the text, to be freed, and destroys the writer, also when it fails. A writer of NULL has
// failed. `what` names the file in messages: "cluster".
STN_MUST_CHECK enum stn_status conf_writer_finish(struct conf_writer *writer, const char *what,
                                                  char **out);

#endif
