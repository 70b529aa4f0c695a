// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?" Pure; any thread.
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

// The candidate nearest to `word` if near enough to be a typing slip, else NULL. `candidates` ends
// with NULL.
const char *base_did_you_mean(const char *word, const char *const *candidates);

#endif
