// SPDX-License-Identifier: Apache-2.0
// What the tests of train/ share: a scratch directory, whole files in memory, and the last error
// line.
#ifndef TESTS_TRAIN_SUPPORT_H
#define TESTS_TRAIN_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    unsigned char *data;
    size_t size;
};

// A fresh empty directory, and its removal with everything in it.
void scratch_create(char path[64]);
void scratch_remove(const char *path);
// "DIR/NAME" in one of a few static buffers.
const char *in(const char *directory, const char *name);

struct bytes file_load(const char *path);
void file_store(const char *path, const void *data, size_t size);
bool file_exists(const char *path);
int directory_entries(const char *path);

// Catches error lines instead of printing them.
void errors_catch(void);
const char *errors_last(void);
int errors_count(void);
void errors_reset(void);

#endif
