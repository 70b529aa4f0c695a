// SPDX-License-Identifier: Apache-2.0
// An allocator that counts, in place of the C library's. Any thread.
//
// oneDNN's execute call keeps a small argument table on the heap while it runs, and its matrix
// product a panel of 16 KiB for each thread, whatever the caller does and however large the
// matrices are (with AVX2; with AVX-512 up to 2 MiB). Such short-lived pieces from the library are
// counted apart, and may not be larger.
#ifndef TESTS_ALLOCATION_COUNTER_H
#define TESTS_ALLOCATION_COUNTER_H

void counter_clear(void);
void counter_start(void);
void counter_stop(void);
// Since cleared, while counting: allocations but for the libraries', and too large ones of theirs.
long counter_own(void);
long counter_library_large(void);

#endif
