// SPDX-License-Identifier: Apache-2.0
// Arrays of IEEE half precision, scaled by a power of two. Rounds to nearest even; infinities and
// NaNs stay what they are. The same bits on every CPU, but for the payload of a NaN.
#ifndef EXCHANGE_HALF_H
#define EXCHANGE_HALF_H

#include <stddef.h>
#include <stdint.h>

// The power of two that brings the largest magnitude to just below 2^15: that does not overflow,
// and numbers 2^29 times smaller are still more than 0. It is 0 if all are zero or one is infinite.
int exchange_half_exponent(const float *x, size_t count);

void exchange_half_encode(const float *x, size_t count, int exponent, uint16_t *out);
void exchange_half_decode(const uint16_t *half, size_t count, int exponent, float *out);
void exchange_half_add(const uint16_t *half, size_t count, int exponent, float *sum);

// The same without special instructions of the CPU: what it is checked against.
void exchange_half_encode_plain(const float *x, size_t count, int exponent, uint16_t *out);
void exchange_half_decode_plain(const uint16_t *half, size_t count, int exponent, float *out);

#endif
