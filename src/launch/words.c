// SPDX-License-Identifier: Apache-2.0
#include "launch/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(struct launch_words *words, char *text)
{
    if (words->count + 2 > words->capacity) {
        int capacity = words->capacity ? 2 * words->capacity : 64;
        char **items = realloc(words->items, (size_t)capacity * sizeof(*items));
        if (!items) {
            words->failed = true;
            return;
        }
        words->items = items;
        words->capacity = capacity;
    }
    words->failed |= text == NULL;
    words->items[words->count] = text;
    words->items[++words->count] = NULL;
}

void launch_words_add(struct launch_words *words, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        words->failed = true;
        return;
    }
    append(words, base_arena_strdup(&words->arena, text));
    free(text);
}

void launch_words_split(struct launch_words *words, const char *text)
{
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");
        launch_words_add(words, "%.*s", length, text);
        text += length;
    }
}

void launch_words_fini(struct launch_words *words)
{
    free(words->items);
    base_arena_fini(&words->arena);
    *words = (struct launch_words){0};
}

static void put_quoted(const char *word, FILE *f)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++) {
        if (*word == '\'') {
            fputs("'\\''", f);
        } else {
            fputc(*word, f);
        }
    }
    fputc('\'', f);
}

char *launch_words_join(char *const *items)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        return NULL;
    }
    for (int i = 0; items[i]; i++) {
        if (i > 0) {
            fputc(' ', f);
        }
        put_quoted(items[i], f);
    }
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
