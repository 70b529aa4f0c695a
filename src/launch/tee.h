// SPDX-License-Identifier: Apache-2.0
// Writes a node's output as lines that begin with its name. A line ends with \n, or with \r where
// it is drawn again and again. Each line is written in one piece, so that lines of several nodes do
// not mix. For this folder.
#ifndef LAUNCH_TEE_H
#define LAUNCH_TEE_H

#include <stddef.h>

enum { LAUNCH_TEE_BYTES = 4096 };

struct launch_tee {
    const char *name;
    int to; // descriptor to write to
    char line[LAUNCH_TEE_BYTES];
    size_t bytes;
};

void launch_tee_feed(struct launch_tee *tee, const char *data, size_t bytes);
// Writes the last line, which may have no end.
void launch_tee_end(struct launch_tee *tee);

#endif
