// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/random.h"

// A double travels as its 64 bits.
static_assert(sizeof(double) == sizeof(uint64_t), "double is not of 64 bits");
// Arrays (WIRE_ARRAYS) travel as they lie in memory, so all machines must lay them out alike.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && CHAR_BIT == 8,
              "arrays travel as they lie in memory: little-endian");

// ---- layouts -----------------------------------------------------------------------------------

#define FIELD(of, type, name)         {#name, WIRE_KIND_##type, 1, offsetof(struct of, name)},
#define FIELDS(of, type, name, count) {#name, WIRE_KIND_##type, count, offsetof(struct of, name)},
#define TABLE(NAME, word)                                                                          \
    static const struct wire_field word##_fields[] = {WIRE_##NAME(wire_##word, FIELD, FIELDS)};
WIRE_MESSAGES(TABLE)

#define FITS(NAME, word)                                                                           \
    static_assert((int)WIRE_##NAME##_BYTES <= (int)WIRE_BYTES_MAX &&                               \
                      (size_t)WIRE_##NAME##_BYTES <= sizeof(struct wire_##word),                   \
                  "wire_" #word ": its bytes do not fit");
WIRE_MESSAGES(FITS)

#define LAYOUT(NAME, word)                                                                         \
    [WIRE_##NAME] = {.name = #word,                                                                \
                     .fields = word##_fields,                                                      \
                     .field_count = (int)(sizeof(word##_fields) / sizeof(word##_fields[0])),       \
                     .bytes = WIRE_##NAME##_BYTES,                                                 \
                     .size = sizeof(struct wire_##word)},
const struct wire_layout wire_layouts[WIRE_MESSAGE_COUNT] = {WIRE_MESSAGES(LAYOUT)};

static size_t width_of(enum wire_kind kind)
{
    switch (kind) {
    case WIRE_KIND_flag:
    case WIRE_KIND_text:
    case WIRE_KIND_raw: return 1;
    case WIRE_KIND_i32:
    case WIRE_KIND_u32: return 4;
    case WIRE_KIND_i64:
    case WIRE_KIND_u64:
    case WIRE_KIND_f64: return 8;
    }
    return 0;
}

// ---- numbers -----------------------------------------------------------------------------------

static void put_number(const uint8_t *value, size_t width, uint8_t *bytes)
{
    uint64_t bits = 0;
    if (width == 4) {
        uint32_t half;
        memcpy(&half, value, sizeof(half));
        bits = half;
    } else {
        memcpy(&bits, value, sizeof(bits));
    }
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(bits >> 8 * i);
    }
}

static void get_number(const uint8_t *bytes, size_t width, uint8_t *value)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < width; i++) {
        bits |= (uint64_t)bytes[i] << 8 * i;
    }
    if (width == 4) {
        uint32_t half = (uint32_t)bits;
        memcpy(value, &half, sizeof(half));
    } else {
        memcpy(value, &bits, sizeof(bits));
    }
}

void wire_put_ints(const int values[], int count, uint8_t bytes[])
{
    for (int i = 0; i < count; i++) {
        int32_t value = values[i];
        put_number((const uint8_t *)&value, WIRE_INT_BYTES, bytes + (size_t)i * WIRE_INT_BYTES);
    }
}

void wire_get_ints(const uint8_t bytes[], int count, int values[])
{
    for (int i = 0; i < count; i++) {
        int32_t value;
        get_number(bytes + (size_t)i * WIRE_INT_BYTES, WIRE_INT_BYTES, (uint8_t *)&value);
        values[i] = value;
    }
}

// ---- texts -------------------------------------------------------------------------------------

// What is behind a text's end is none of it: zeros travel.
static void put_text(const uint8_t *text, size_t count, uint8_t *bytes)
{
    size_t length = strnlen((const char *)text, count - 1);
    memcpy(bytes, text, length);
    memset(bytes + length, 0, count - length);
}

static bool get_text(const uint8_t *bytes, size_t count, uint8_t *text)
{
    size_t length = strnlen((const char *)bytes, count);
    bool good = length < count;
    for (size_t i = length; i < count && good; i++) {
        good = bytes[i] == 0;
    }
    memcpy(text, bytes, count);
    text[count - 1] = 0;
    return good;
}

// ---- messages ----------------------------------------------------------------------------------

static void put_field(const struct wire_field *field, const uint8_t *from, uint8_t *bytes)
{
    size_t count = (size_t)field->count, width = width_of(field->kind);
    if (field->kind == WIRE_KIND_text) {
        put_text(from, count, bytes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (field->kind == WIRE_KIND_flag) {
            bytes[i] = ((const bool *)from)[i];
        } else if (width == 1) {
            bytes[i] = from[i];
        } else {
            put_number(from + i * width, width, bytes + i * width);
        }
    }
}

static bool get_field(const struct wire_field *field, const uint8_t *bytes, uint8_t *to)
{
    size_t count = (size_t)field->count, width = width_of(field->kind);
    bool good = true;
    if (field->kind == WIRE_KIND_text) {
        return get_text(bytes, count, to);
    }
    for (size_t i = 0; i < count; i++) {
        if (field->kind == WIRE_KIND_flag) {
            good = good && bytes[i] <= 1;
            ((bool *)to)[i] = bytes[i] != 0;
        } else if (width == 1) {
            to[i] = bytes[i];
        } else {
            get_number(bytes + i * width, width, to + i * width);
        }
    }
    return good;
}

void wire_encode(enum wire_message message, const void *value, uint8_t bytes[])
{
    const struct wire_layout *layout = &wire_layouts[message];
    for (int i = 0; i < layout->field_count; i++) {
        const struct wire_field *field = &layout->fields[i];
        put_field(field, (const uint8_t *)value + field->offset, bytes);
        bytes += (size_t)field->count * width_of(field->kind);
    }
}

bool wire_decode(enum wire_message message, const uint8_t bytes[], void *value)
{
    const struct wire_layout *layout = &wire_layouts[message];
    bool good = true;
    memset(value, 0, layout->size);
    for (int i = 0; i < layout->field_count; i++) {
        const struct wire_field *field = &layout->fields[i];
        good = get_field(field, bytes, (uint8_t *)value + field->offset) && good;
        bytes += (size_t)field->count * width_of(field->kind);
    }
    return good;
}

// ---- the protocol ------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        hash = base_key(hash, *c);
    }
    return base_key(hash, 256); // "a", "b" is not "ab"
}

uint64_t wire_layout_hash(uint64_t hash, const struct wire_layout *layout)
{
    hash = mix(hash, layout->name);
    for (int i = 0; i < layout->field_count; i++) {
        const struct wire_field *field = &layout->fields[i];
        hash = mix(hash, field->name);
        hash = base_key(hash, (uint64_t)field->kind);
        hash = base_key(hash, (uint64_t)field->count);
    }
    return base_key(hash, 257); // fields of one message are not of the next
}

#define ARRAY(name, element) #name " " #element,
static const char *const arrays[] = {WIRE_ARRAYS(ARRAY)};

uint64_t wire_hash(void)
{
    uint64_t hash = 0;
    for (int i = 0; i < WIRE_MESSAGE_COUNT; i++) {
        hash = wire_layout_hash(hash, &wire_layouts[i]);
    }
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        hash = mix(hash, arrays[i]);
    }
    return hash;
}
