// SPDX-License-Identifier: Apache-2.0
// Messages as bytes: what is encoded comes back, what is damaged is noticed or harmless, and the
// hash of the layouts changes with everything that two nodes must have in common.
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "wire/wire.h"

static size_t width_of(const struct wire_field *field)
{
    switch (field->kind) {
    case WIRE_KIND_i32:
    case WIRE_KIND_u32: return 4;
    case WIRE_KIND_i64:
    case WIRE_KIND_u64:
    case WIRE_KIND_f64: return 8;
    default: return 1;
    }
}

static size_t bytes_of(const struct wire_field *field)
{
    return (size_t)field->count * width_of(field);
}

// Random bytes that wire_encode could have made.
static void make(const struct wire_layout *layout, struct base_random *random, uint8_t *bytes)
{
    for (int f = 0; f < layout->field_count; f++) {
        const struct wire_field *field = &layout->fields[f];
        size_t count = bytes_of(field), length = count;
        if (field->kind == WIRE_KIND_text) {
            length = (size_t)base_random_below(random, count);
        }
        memset(bytes, 0, count);
        for (size_t i = 0; i < length; i++) {
            uint64_t range = field->kind == WIRE_KIND_flag ? 2 : 255;
            bytes[i] = (uint8_t)(base_random_below(random, range) +
                                 (field->kind == WIRE_KIND_text ? 1 : 0));
        }
        bytes += count;
    }
}

static void every_message_comes_back(void **state)
{
    (void)state;
    struct base_random random = base_random_from(18);
    for (int m = 0; m < WIRE_MESSAGE_COUNT; m++) {
        const struct wire_layout *layout = &wire_layouts[m];
        for (int times = 0; times < 50; times++) {
            uint8_t bytes[WIRE_BYTES_MAX], again[WIRE_BYTES_MAX + 1];
            uint64_t value[2 * WIRE_BYTES_MAX / 8];
            assert_true(layout->size <= sizeof(value));
            make(layout, &random, bytes);
            memset(again, 0xa5, sizeof(again));
            assert_true(wire_decode((enum wire_message)m, bytes, value));
            wire_encode((enum wire_message)m, value, again);
            assert_memory_equal(bytes, again, layout->bytes);
            assert_int_equal(again[layout->bytes], 0xa5); // and not a byte more
        }
    }
}

// What lies in a struct between its members, or behind a text's end, does not travel.
static void garbage_stays_at_home(void **state)
{
    (void)state;
    struct wire_sign a, b;
    uint8_t bytes_a[WIRE_SIGN_BYTES], bytes_b[WIRE_SIGN_BYTES];
    memset(&a, 0xff, sizeof(a));
    memset(&b, 0x11, sizeof(b));
    struct wire_sign *both[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        both[i]->kind = 1;
        both[i]->lost = -2;
        both[i]->loss = 3;
        both[i]->reported = true;
        both[i]->step = INT64_MIN;
        strcpy(both[i]->phase, "computing");
    }
    wire_encode(WIRE_SIGN, &a, bytes_a);
    wire_encode(WIRE_SIGN, &b, bytes_b);
    assert_memory_equal(bytes_a, bytes_b, sizeof(bytes_a));
}

static void numbers_are_little_endian_and_without_gaps(void **state)
{
    (void)state;
    const struct wire_mark mark = {.planned = 0x01020304, .kept = -1, .done = 5, .seconds = 1.0};
    const uint8_t expected[] = {4, 3, 2, 1, 255, 255, 255, 255, 5,    0,
                                0, 0, 0, 0, 0,   0,   0,   0,   0xf0, 0x3f};
    uint8_t bytes[WIRE_MARK_BYTES];
    assert_int_equal(WIRE_MARK_BYTES, sizeof(expected));
    wire_encode(WIRE_MARK, &mark, bytes);
    assert_memory_equal(bytes, expected, sizeof(expected));
    struct wire_mark again;
    assert_true(wire_decode(WIRE_MARK, bytes, &again));
    assert_int_equal(again.planned, mark.planned);
    assert_int_equal(again.kept, -1);
    assert_int_equal(again.done, 5);
    assert_true(again.seconds == 1.0);
}

static void odd_values_come_back(void **state)
{
    (void)state;
    const double values[] = {NAN, -0.0, INFINITY, 5e-324, -1.7976931348623157e308};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const struct wire_trial_step out = {.seconds = values[i]};
        struct wire_trial_step in;
        uint8_t bytes[WIRE_TRIAL_STEP_BYTES];
        wire_encode(WIRE_TRIAL_STEP, &out, bytes);
        assert_true(wire_decode(WIRE_TRIAL_STEP, bytes, &in));
        assert_memory_equal(&in, &out, sizeof(in));
    }
    const int ints[] = {0, -1, INT32_MAX, INT32_MIN, 258};
    int back[5];
    uint8_t bytes[5 * WIRE_INT_BYTES];
    wire_put_ints(ints, 5, bytes);
    assert_int_equal(bytes[16], 2);
    assert_int_equal(bytes[17], 1);
    wire_get_ints(bytes, 5, back);
    assert_memory_equal(back, ints, sizeof(ints));
}

static void what_no_node_sends_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_answer answer;
    bytes[0] = 2; // neither yes nor no
    assert_false(wire_decode(WIRE_ANSWER, bytes, &answer));
    struct wire_hello hello = {.host = "server"};
    wire_encode(WIRE_HELLO, &hello, bytes);
    assert_true(wire_decode(WIRE_HELLO, bytes, &hello));
    const size_t host = 4 + 8 + 16;
    assert_int_equal(bytes[host], 's');
    bytes[host + 10] = 'x'; // behind the text's end
    assert_false(wire_decode(WIRE_HELLO, bytes, &hello));
    memset(bytes + host, 'x', WIRE_NAME_BYTES); // a text without an end
    assert_false(wire_decode(WIRE_HELLO, bytes, &hello));
    assert_int_equal(strlen(hello.host), WIRE_NAME_BYTES - 1); // safe to look at all the same
}

// ---- the hash ----------------------------------------------------------------------------------

// Each layout with a field renamed, of another kind, longer, moved or missing.
static void hash_changes_with_every_field(void **state)
{
    (void)state;
    for (int m = 0; m < WIRE_MESSAGE_COUNT; m++) {
        const struct wire_layout *layout = &wire_layouts[m];
        const uint64_t before = wire_layout_hash(7, layout);
        struct wire_field fields[32];
        assert_true(layout->field_count <= 32);
        struct wire_layout changed = *layout;
        changed.fields = fields;
        for (int f = 0; f < layout->field_count; f++) {
            const size_t all = (size_t)layout->field_count * sizeof(fields[0]);
            memcpy(fields, layout->fields, all);
            fields[f].name = "another";
            assert_true(wire_layout_hash(7, &changed) != before);
            memcpy(fields, layout->fields, all);
            fields[f].kind = fields[f].kind == WIRE_KIND_i64 ? WIRE_KIND_u64 : WIRE_KIND_i64;
            assert_true(wire_layout_hash(7, &changed) != before);
            memcpy(fields, layout->fields, all);
            fields[f].count++;
            assert_true(wire_layout_hash(7, &changed) != before);
            if (f > 0) {
                memcpy(fields, layout->fields, all);
                fields[f] = layout->fields[f - 1];
                fields[f - 1] = layout->fields[f];
                assert_true(wire_layout_hash(7, &changed) != before);
            }
        }
        memcpy(fields, layout->fields, (size_t)layout->field_count * sizeof(fields[0]));
        changed.field_count--;
        assert_true(wire_layout_hash(7, &changed) != before);
        assert_true(wire_layout_hash(8, layout) != before);
    }
}

// Every field is somewhere in its struct, and no two are in the same place.
static void fields_do_not_overlap(void **state)
{
    (void)state;
    for (int m = 0; m < WIRE_MESSAGE_COUNT; m++) {
        const struct wire_layout *layout = &wire_layouts[m];
        size_t end = 0, bytes = 0;
        for (int f = 0; f < layout->field_count; f++) {
            const struct wire_field *field = &layout->fields[f];
            assert_true(field->offset >= end);
            end = field->offset + bytes_of(field);
            bytes += bytes_of(field);
        }
        assert_true(end <= layout->size);
        assert_int_equal(bytes, layout->bytes);
    }
}

// If this fails, wire/messages.h has changed: raise WIRE_PROTOCOL and write the new hash here, so
// that nodes of before and after refuse each other by number.
static void a_protocol_has_one_hash(void **state)
{
    (void)state;
    assert_int_equal(WIRE_PROTOCOL, 2);
    assert_int_equal(wire_hash(), UINT64_C(0x9ab62ebebcbb4e55));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_comes_back),
        cmocka_unit_test(garbage_stays_at_home),
        cmocka_unit_test(numbers_are_little_endian_and_without_gaps),
        cmocka_unit_test(odd_values_come_back),
        cmocka_unit_test(what_no_node_sends_is_refused),
        cmocka_unit_test(hash_changes_with_every_field),
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(a_protocol_has_one_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
