// SPDX-License-Identifier: Apache-2.0
// "Did you mean": typing slips (a letter missing, doubled, wrong or swapped) and words not typed to
// the end.
#include <string.h>

#include "base/suggest.h"

enum { WORD_MAX = 48 };

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

// Edits that make `a` of `b`; swapping two neighbours counts as one.
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[3][WORD_MAX + 1];
    int *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        previous[j] = (int)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        current[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int best = previous[j - 1] + (a[i - 1] != b[j - 1]);
            best = min_of(best, min_of(previous[j], current[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = min_of(best, before[j - 2] + 1);
            }
            current[j] = best;
        }
        int *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[b_length];
}

const char *base_did_you_mean(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    int allowed = length <= 2 ? 1 : min_of((int)(length + 2) / 3, 4);
    for (; *candidates; candidates++) {
        size_t candidate_length = strlen(*candidates);
        if (candidate_length > WORD_MAX) {
            continue;
        }
        int distance = edit_distance(word, length, *candidates, candidate_length);
        if (length >= 2 && strncmp(word, *candidates, length) == 0) {
            distance = min_of(distance, 1);
        }
        if (distance <= allowed && distance < (int)candidate_length) {
            nearest = *candidates;
            allowed = distance - 1;
        }
    }
    return nearest;
}
