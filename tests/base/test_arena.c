// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <string.h>

#include "cmocka_all.h"

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena);
    unsigned char *pieces[64];
    for (size_t i = 0; i < 64; i++) {
        size_t bytes = i * 131; // crosses chunk borders on the way
        pieces[i] = base_arena_alloc(&arena, bytes);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t b = 0; b < bytes; b++) {
            assert_int_equal(pieces[i][b], 0);
        }
        memset(pieces[i], (int)i, bytes);
    }
    for (size_t i = 0; i < 64; i++) {
        for (size_t b = 0; b < i * 131; b++) {
            assert_int_equal(pieces[i][b], i);
        }
    }
    base_arena_fini(&arena);
    assert_null(arena.chunks);
}

static void a_piece_may_exceed_a_chunk(void **state)
{
    (void)state;
    struct base_arena arena = {0};
    size_t bytes = 1 << 20;
    char *big = base_arena_alloc(&arena, bytes);
    assert_non_null(big);
    big[bytes - 1] = 1;
    assert_null(base_arena_alloc(&arena, SIZE_MAX));
    base_arena_fini(&arena);
}

static void texts_are_copied(void **state)
{
    (void)state;
    struct base_arena arena = {0};
    char source[] = "cat";
    char *copy = base_arena_strdup(&arena, source);
    source[0] = 'r';
    assert_string_equal(copy, "cat");
    assert_string_equal(base_arena_printf(&arena, "%s/%d", copy, 7), "cat/7");
    base_arena_fini(&arena);
}

static void pages_are_zeroed_and_page_aligned(void **state)
{
    (void)state;
    size_t bytes = 3 << 20;
    unsigned char *pages = base_pages_alloc(bytes);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % 4096, 0);
    assert_int_equal(pages[0] | pages[bytes / 2] | pages[bytes - 1], 0);
    base_pages_free(pages, bytes);
    base_pages_free(NULL, bytes);
    assert_null(base_pages_alloc(0));
    assert_null(base_pages_alloc(SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(a_piece_may_exceed_a_chunk),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(pages_are_zeroed_and_page_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
