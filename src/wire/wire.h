// SPDX-License-Identifier: Apache-2.0
// What travels between the processes of a training: messages of fixed width, as little-endian bytes
// without gaps. Each message is a list of fields (wire/messages.h); its struct here, its bytes and
// the code that encodes and decodes it all come from that list. No struct and no pointer travels.
//
// Two programs understand each other if they speak the same protocol and hash their layouts to the
// same number: nodes compare both first of all (comm/process.c), and so does the launcher.
// Pure: no memory, no input or output.
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/messages.h"

// Rises with every change of wire/messages.h that is released. (A test builds a node of another.)
#ifndef WIRE_PROTOCOL
#define WIRE_PROTOCOL 2
#endif

// ---- structs -----------------------------------------------------------------------------------

#define WIRE_C_flag bool
#define WIRE_C_i32  int32_t
#define WIRE_C_u32  uint32_t
#define WIRE_C_i64  int64_t
#define WIRE_C_u64  uint64_t
#define WIRE_C_f64  double
#define WIRE_C_text char
#define WIRE_C_raw  uint8_t

#define WIRE_MEMBER(of, type, name)         WIRE_C_##type name;
#define WIRE_MEMBERS(of, type, name, count) WIRE_C_##type name[count];
#define WIRE_STRUCT(NAME, word)                                                                    \
    struct wire_##word {                                                                           \
        WIRE_##NAME(wire_##word, WIRE_MEMBER, WIRE_MEMBERS)                                        \
    };
WIRE_MESSAGES(WIRE_STRUCT)

// ---- bytes -------------------------------------------------------------------------------------

enum wire_kind {
    WIRE_KIND_flag,
    WIRE_KIND_i32,
    WIRE_KIND_u32,
    WIRE_KIND_i64,
    WIRE_KIND_u64,
    WIRE_KIND_f64,
    WIRE_KIND_text,
    WIRE_KIND_raw,
};

#define WIRE_WIDTH(of, type, name)         +(int)sizeof(WIRE_C_##type)
#define WIRE_WIDTHS(of, type, name, count) +(int)(sizeof(WIRE_C_##type) * (count))
#define WIRE_SIZE(NAME, word)                                                                      \
    WIRE_##NAME##_BYTES = 0 WIRE_##NAME(wire_##word, WIRE_WIDTH, WIRE_WIDTHS),
// WIRE_HELLO_BYTES and so on: of a message as it travels.
enum { WIRE_MESSAGES(WIRE_SIZE) };

#define WIRE_NUMBER(NAME, word) WIRE_##NAME,
enum wire_message { WIRE_MESSAGES(WIRE_NUMBER) WIRE_MESSAGE_COUNT };

// More than any message has.
enum { WIRE_BYTES_MAX = 512 };

struct wire_field {
    const char *name;
    enum wire_kind kind;
    int count;
    size_t offset; // in the struct
};

struct wire_layout {
    const char *name;
    const struct wire_field *fields; // [field_count]
    int field_count;
    size_t bytes; // as it travels
    size_t size;  // of the struct
};

extern const struct wire_layout wire_layouts[WIRE_MESSAGE_COUNT];

// `value` is a message's struct, bytes[] has room for it: wire_layouts[message].bytes.
void wire_encode(enum wire_message message, const void *value, uint8_t bytes[]);
// False: these bytes are none that wire_encode makes, a flag of 2 or a text without an end.
bool wire_decode(enum wire_message message, const uint8_t bytes[], void *value);

// Numbers that follow a message: 4 bytes each.
enum { WIRE_INT_BYTES = 4 };
void wire_put_ints(const int values[], int count, uint8_t bytes[]);
void wire_get_ints(const uint8_t bytes[], int count, int values[]);

// ---- the protocol ------------------------------------------------------------------------------

// Of one layout, continued from `hash`: names, kinds and counts of its fields, in order.
uint64_t wire_layout_hash(uint64_t hash, const struct wire_layout *layout);
// Of all layouts and arrays: what two programs must have in common.
uint64_t wire_hash(void);

#endif
