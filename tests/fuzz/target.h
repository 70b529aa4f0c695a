// SPDX-License-Identifier: Apache-2.0
// What fuzz targets have in common. A target is one function that is given any bytes at all; it
// feeds them to a reader and aborts (fuzz_check) if what the reader accepts is not sound.
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// No log lines: a refusal is the usual outcome.
void fuzz_quiet(void);
void fuzz_check(bool holds);
// A copy with a terminator, to be freed.
char *fuzz_text(const uint8_t *data, size_t size);

// For readers that take a path: a folder of this process, removed with its files at exit.
const char *fuzz_folder(void);
// Makes, or makes anew, a file of it.
void fuzz_file(const char *name, const void *data, size_t size);

#endif
