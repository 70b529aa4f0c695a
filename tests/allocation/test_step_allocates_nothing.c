// SPDX-License-Identifier: Apache-2.0
// After the first step a training step allocates nothing: not the loader, the net, the optimizer nor
// the progress. The allocator is replaced by one that counts, and the observer reads the counts
// between steps.
//
// oneDNN's execute call keeps a small argument table on the heap while it runs, and its matrix
// product a panel of 16 KiB for each thread, whatever the caller does and however large the matrices
// are. Such short-lived pieces from the library are counted apart, and may not be larger.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "stannis/stannis.h"

enum { LIBRARY_PIECE_MAX = 16640 }; // bytes: the panel and its alignment

static atomic_bool counting;
static atomic_long own_calls, library_large;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

// Whether the caller is inside oneDNN or the C++ and OpenMP run-times it uses.
static bool from_library(const void *caller)
{
    Dl_info where;
    if (!dladdr(caller, &where) || !where.dli_fname) {
        return false;
    }
    return strstr(where.dli_fname, "libdnnl") || strstr(where.dli_fname, "libstdc++") ||
           strstr(where.dli_fname, "libgomp");
}

static void note(size_t bytes, const void *caller)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) {
        return;
    }
    if (!from_library(caller)) {
        atomic_fetch_add(&own_calls, 1);
    } else if (bytes > LIBRARY_PIECE_MAX) {
        atomic_fetch_add(&library_large, 1);
    }
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t nmemb, size_t size)
{
    note(nmemb * size, __builtin_return_address(0));
    return __libc_calloc(nmemb, size);
}

__attribute__((visibility("default"))) void *realloc(void *ptr, size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_realloc(ptr, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
    note(size, __builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **memptr, size_t alignment,
                                                          size_t size)
{
    note(size, __builtin_return_address(0));
    *memptr = __libc_memalign(alignment, size);
    return *memptr ? 0 : 12;
}

struct watch {
    int steps;
};

static void on_step(void *context, const struct stn_train_step *step)
{
    struct watch *watch = context;
    (void)step;
    watch->steps++;
    if (watch->steps == 2) {
        atomic_store(&counting, true);
    }
}

// The epoch's end evaluates and may open things: counting stops with the last step.
static void on_eval(void *context, int64_t done, int64_t total)
{
    (void)context;
    (void)done;
    (void)total;
    atomic_store(&counting, false);
}

static void steps_allocate_nothing(const char *net, int batch, int micro_batch)
{
    struct stn_train_config config = stn_train_defaults();
    config.net = net;
    config.data =
        (struct stn_dataset_options){.spec = "synthetic:400", .image_size = 32, .classes = 4};
    config.epochs = 1;
    config.batch = batch;
    config.micro_batch = micro_batch;
    config.threads = 2;
    struct watch watch = {0};
    struct stn_train_observer observer = {.context = &watch, .step = on_step, .eval = on_eval};
    struct stn_train_result result;
    atomic_store(&own_calls, 0);
    atomic_store(&library_large, 0);
    assert_int_equal(stn_train_run(&config, &observer, &result), STN_OK);
    atomic_store(&counting, false);
    assert_true(watch.steps > 5);
    assert_int_equal(atomic_load(&own_calls), 0);
    assert_int_equal(atomic_load(&library_large), 0);
}

// The proof must be able to fail: the counter sees what this program allocates.
static void test_counter_counts(void **state)
{
    (void)state;
    atomic_store(&own_calls, 0);
    atomic_store(&counting, true);
    void *volatile piece = malloc(10);
    atomic_store(&counting, false);
    free(piece);
    assert_int_equal(atomic_load(&own_calls), 1);
}

static void test_lenet(void **state)
{
    (void)state;
    steps_allocate_nothing("lenet", 32, 8);
}

// 45 is no multiple of 16: the number of micro-batches and their rows vary.
static void test_mobilenet_v2(void **state)
{
    (void)state;
    steps_allocate_nothing("mobilenet_v2", 45, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counter_counts),
        cmocka_unit_test(test_lenet),
        cmocka_unit_test(test_mobilenet_v2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
