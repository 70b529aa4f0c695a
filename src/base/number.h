// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them. A text must be a number from end to end: no spaces, no garbage
// behind it. Pure; any thread.
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

// 0, or EINVAL for what is no such number, or ERANGE for what does not fit; *out is set only with
// 0.
int base_parse_int64(const char *text, int64_t *out);
int base_parse_real(const char *text, double *out);  // finite
int base_parse_bytes(const char *text, size_t *out); // 1048576, 512M, 2G

#endif
