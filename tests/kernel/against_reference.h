// SPDX-License-Identifier: Apache-2.0
// A backend against the reference, one op at a time: outputs, gradients and sums agree to 1e-4 of
// the largest element, padding lanes are zero (the harness looks), runs repeat bit for bit, and
// sharing buffers where the op permits it changes nothing.
#ifndef TESTS_KERNEL_AGAINST_REFERENCE_H
#define TESTS_KERNEL_AGAINST_REFERENCE_H

#include "kernel/op_harness.h"

struct against {
    struct kernel *reference, *fast; // fast is NULL where it is not built in
    enum kernel_layout native;       // what `fast` gives to a convolution's output
};

struct against_where {
    const struct op_case *c;
    enum kernel_layout layout;
    int rows;
};

bool against_built_in(const char *name);
// Setting up and tearing down a group of tests; *state is a struct against.
int against_onednn(void **state);
int against_native(void **state);
int against_end(void **state);

// Both run on the same data, and the backend twice and in place besides.
void against_run(const struct against *bench, const struct op_data *data,
                 struct against_where where, enum kernel_phase phase);
// In the given layout, with all rows and with fewer; then in evaluation.
void against_layout(const struct against *bench, const struct op_case *c,
                    enum kernel_layout layout);
// Plain, and as the backend lays out a convolution's output.
void against_check(void **state, const struct op_case *c);

#define NEED_BUILT_IN(state)                                                                       \
    do {                                                                                           \
        if (!((const struct against *)*(state))->fast)                                             \
            skip();                                                                                \
    } while (0)

#endif
