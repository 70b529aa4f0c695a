// SPDX-License-Identifier: Apache-2.0
// Storing past the cache: what is overwritten as a whole is not fetched first. An ordinary copy
// where the processor has no such stores.
#ifndef OPTIM_STREAM_H
#define OPTIM_STREAM_H

#include <stddef.h>

void optim_stream(const float *from, size_t count, float *restrict to);
// Before another thread may read what this one streamed.
void optim_stream_end(void);

#endif
