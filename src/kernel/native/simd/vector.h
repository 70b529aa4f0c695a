// SPDX-License-Identifier: Apache-2.0
// A channel block of one pixel as a vector of the compiler's. The build defines SIMD_BLOCK and
// SIMD_SUFFIX for each of the tables that it makes of these files.
#ifndef NATIVE_SIMD_VECTOR_H
#define NATIVE_SIMD_VECTOR_H

#include <string.h>

#include "kernel/native/simd/simd.h"

#define SIMD_PASTE_(a, b) a##_##b
#define SIMD_PASTE(a, b)  SIMD_PASTE_(a, b)
#define SIMD_NAME(name)   SIMD_PASTE(simd_##name, SIMD_SUFFIX)

#ifndef SIMD_INLINE
#define SIMD_INLINE static inline __attribute__((always_inline))
#endif

typedef float vec __attribute__((vector_size(SIMD_BLOCK * sizeof(float))));
typedef int32_t ivec __attribute__((vector_size(SIMD_BLOCK * sizeof(int32_t))));
typedef double dvec __attribute__((vector_size(SIMD_BLOCK * sizeof(double))));
typedef uint8_t bvec __attribute__((vector_size(SIMD_BLOCK)));

SIMD_INLINE vec load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

SIMD_INLINE void store(float *p, vec v)
{
    memcpy(p, &v, sizeof(v));
}

SIMD_INLINE void store_or_add(float *p, vec v, bool add)
{
    store(p, add ? load(p) + v : v);
}

SIMD_INLINE vec zero(void)
{
    return (vec){0};
}

SIMD_INLINE vec keep(vec v, ivec where)
{
    return (vec)((ivec)v & where);
}

SIMD_INLINE vec choose(ivec where, vec yes, vec no)
{
    return (vec)(((ivec)yes & where) | ((ivec)no & ~where));
}

SIMD_INLINE vec apply(vec z, enum kernel_activation activation)
{
    if (activation == KERNEL_LINEAR) {
        return z;
    }
    // A comparison with NaN is false: written this way round, NaN passes through instead of turning
    // into zero.
    z = keep(z, ~(z <= zero()));
    return activation == KERNEL_RELU6 ? choose(z > zero() + 6.0f, zero() + 6.0f, z) : z;
}

SIMD_INLINE vec masked(vec dy, vec z, enum kernel_activation activation)
{
    if (activation == KERNEL_LINEAR) {
        return dy;
    }
    ivec open = z > zero();
    if (activation == KERNEL_RELU6) {
        open &= z < zero() + 6.0f;
    }
    return keep(dy, open);
}

// Loops whose vectors are to live in registers must not survive as loops.
#ifdef __clang__
#define SIMD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif

// sum + a·b. GCC left alone spreads the sums of a large tile over other forms of the instruction,
// moves them about and runs out of registers.
SIMD_INLINE vec multiply_add(vec sum, vec a, vec b)
{
#ifdef __FMA__
    __asm__("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return sum + a * b;
#endif
}

// Loads once and keeps: without this, GCC reads the operand from memory at each of its uses.
SIMD_INLINE vec load_once(const float *p)
{
    vec v = load(p);
#ifdef __FMA__
    __asm__("" : "+v"(v));
#endif
    return v;
}

// All lanes the same. (Subtracting zero changes nothing and is free, unlike adding it, for −0.)
SIMD_INLINE vec spread(float value)
{
    return value - (vec){0};
}

SIMD_INLINE dvec widen(vec v)
{
    return __builtin_convertvector(v, dvec);
}

SIMD_INLINE dvec load_doubles(const double *p)
{
    dvec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

SIMD_INLINE void store_doubles(double *p, dvec v)
{
    memcpy(p, &v, sizeof(v));
}

// Adds lane by lane in double: float sums are kept short (SIMD_RUN pixels) and meet here.
SIMD_INLINE void add_to_doubles(vec v, double *sum)
{
    store_doubles(sum, load_doubles(sum) + widen(v));
}

enum { SIMD_RUN = 256 };

// Calls `function` with the activation as a constant, so that the compiler makes a branch-free loop
// for each.
#define SIMD_BY_ACTIVATION(activation, function, ...)                                              \
    do {                                                                                           \
        switch (activation) {                                                                      \
        case KERNEL_LINEAR: function(KERNEL_LINEAR, __VA_ARGS__); break;                           \
        case KERNEL_RELU: function(KERNEL_RELU, __VA_ARGS__); break;                               \
        case KERNEL_RELU6: function(KERNEL_RELU6, __VA_ARGS__); break;                             \
        }                                                                                          \
    } while (0)

#define SIMD_TABLE_ENTRIES(X)                                                                      \
    X(moments)                                                                                     \
    X(normalise)                                                                                   \
    X(normalise_sums)                                                                              \
    X(normalise_gradient)                                                                          \
    X(activate)                                                                                    \
    X(mask)                                                                                        \
    X(mask_sum)                                                                                    \
    X(sum)                                                                                         \
    X(fill)                                                                                        \
    X(drop)                                                                                        \
    X(draw)                                                                                        \
    X(gather)                                                                                      \
    X(max_pool)                                                                                    \
    X(max_pool_gradient)                                                                           \
    X(average_pool)                                                                                \
    X(average_pool_gradient)                                                                       \
    X(depthwise)                                                                                   \
    X(depthwise_data)                                                                              \
    X(depthwise_weights)                                                                           \
    X(image_weights)                                                                               \
    X(winograd_cut)                                                                                \
    X(winograd_cut_gradient)                                                                       \
    X(winograd_put)                                                                                \
    X(winograd_weigh)                                                                              \
    X(winograd_weigh_gradient)                                                                     \
    X(tile_product)                                                                                \
    X(tile_product_over_rows)                                                                      \
    X(depthwise_wide_room)                                                                         \
    X(depthwise_wide)                                                                              \
    X(depthwise_wide_data)                                                                         \
    X(depthwise_wide_weights)                                                                      \
    X(product)                                                                                     \
    X(outer)

// Declares each entry with the type that the table gives it.
#define X(name) extern __typeof__(*((struct simd_kernels *)0)->name) SIMD_NAME(name);
SIMD_TABLE_ENTRIES(X)
#undef X

#endif
