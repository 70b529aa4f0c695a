// SPDX-License-Identifier: Apache-2.0
// A command line in the making. Adding words never fails; when memory was out, `failed` tells at
// the end. For this folder.
#ifndef LAUNCH_WORDS_H
#define LAUNCH_WORDS_H

#include <stdbool.h>

#include "base/arena.h"

struct launch_words {
    char **items; // NULL at the end
    int count, capacity;
    bool failed;
    struct base_arena arena; // keeps the texts
};

void launch_words_add(struct launch_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Adds the parts of a text between spaces.
void launch_words_split(struct launch_words *words, const char *text);
void launch_words_fini(struct launch_words *words);
// The words for a shell: quoted where needed, joined by spaces. To be freed; NULL when memory is
// out.
char *launch_words_join(char *const *items);

#endif
