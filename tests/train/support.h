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
// For a test that needs one: made before it, with error lines caught, and removed after it.
extern char scratch[64];
int scratch_set_up(void **state);
int scratch_tear_down(void **state);
#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)
// "DIR/NAME" in one of a few static buffers.
const char *in(const char *directory, const char *name);

struct bytes file_load(const char *path);
void file_store(const char *path, const void *data, size_t size);
bool file_exists(const char *path);
int directory_entries(const char *path);

// Catches error lines instead of printing them.
void errors_catch(void);
int errors_set_up(void **state); // the same, for a group of tests
const char *errors_last(void);
int errors_count(void);
void errors_reset(void);

#endif
