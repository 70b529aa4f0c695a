// SPDX-License-Identifier: Apache-2.0
// The safetensors reader and writer: what is written reads back, and whatever is wrong with a file
// is noticed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/safetensors.h"
#include "cmocka_all.h"
#include "train/support.h"

static const float weights[6] = {1.5f, -2.0f, 0.0f, 3.25f, -0.0f, 1e-30f};
static const int64_t counter[1] = {-7};
static const struct safetensors_pair metadata[2] = {{"stannis.net", "lenet"},
                                                    {"note", "a \"quoted\" ü"}};
static const struct safetensors_tensor tensors[3] = {
    {"layer.weight", SAFETENSORS_F32, 2, {2, 3}, sizeof(weights), weights},
    {"nothing", SAFETENSORS_U8, 1, {0}, 0, weights},
    {"counter", SAFETENSORS_I64, 0, {0}, sizeof(counter), counter},
};

static struct bytes sample(void)
{
    const char *path = in(scratch, "sample.safetensors");
    assert_int_equal(safetensors_write(path, metadata, 2, tensors, 3), STN_OK);
    return file_load(path);
}

// A file from a header text and `data_bytes` zeros.
static struct bytes compose(const char *header, size_t data_bytes)
{
    size_t length = strlen(header);
    struct bytes b = {calloc(1, 8 + length + data_bytes), 8 + length + data_bytes};
    assert_non_null(b.data);
    b.data[0] = (unsigned char)(length & 0xff);
    b.data[1] = (unsigned char)(length >> 8);
    memcpy(b.data + 8, header, length);
    return b;
}

static enum stn_status parse(const struct bytes *b)
{
    // An exact allocation, so that a sanitizer sees a read past the end.
    unsigned char *copy = malloc(b->size ? b->size : 1);
    assert_non_null(copy);
    memcpy(copy, b->data, b->size);
    errors_reset();
    struct safetensors *file;
    enum stn_status status = safetensors_parse(copy, b->size, "some.file", &file);
    assert_int_equal(status == STN_OK, file != NULL);
    assert_int_equal(errors_count(), status ? 1 : 0);
    safetensors_close(file);
    free(copy);
    return status;
}

static void expect_refused(const char *header, size_t data_bytes, const char *reason)
{
    struct bytes b = compose(header, data_bytes);
    assert_int_equal(parse(&b), STN_ERR_CORRUPT);
    assert_non_null(strstr(errors_last(), "some.file: "));
    if (!strstr(errors_last(), reason)) {
        print_error("\"%s\" does not say \"%s\"\n", errors_last(), reason);
        fail();
    }
    free(b.data);
}

static void expect_accepted(const char *header, size_t data_bytes)
{
    struct bytes b = compose(header, data_bytes);
    assert_int_equal(parse(&b), STN_OK);
    free(b.data);
}

static void round_trip(void **state)
{
    (void)state;
    struct bytes b = sample();
    struct safetensors *file;
    assert_int_equal(safetensors_read(in(scratch, "sample.safetensors"), &file), STN_OK);
    assert_int_equal(safetensors_count(file), 3);
    assert_string_equal(safetensors_metadata(file, "note"), metadata[1].value);
    assert_null(safetensors_metadata(file, "absent"));
    assert_null(safetensors_find(file, "absent"));
    for (int i = 0; i < 3; i++) {
        const struct safetensors_tensor *t = safetensors_find(file, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->rank, tensors[i].rank);
        assert_memory_equal(t->dims, tensors[i].dims, sizeof(t->dims));
        assert_int_equal(t->bytes, tensors[i].bytes);
        assert_memory_equal(t->data, tensors[i].data, t->bytes);
    }
    safetensors_close(file);
    free(b.data);
}

static void data_is_aligned_by_spaces(void **state)
{
    (void)state;
    struct bytes b = sample();
    size_t header = (size_t)b.data[0] | (size_t)b.data[1] << 8;
    assert_int_equal(header % 8, 0);
    assert_int_equal(8 + header + sizeof(weights) + sizeof(counter), b.size);
    assert_int_equal(b.data[8], '{');
    assert_true(b.data[8 + header - 1] == '}' || b.data[8 + header - 1] == ' ');
    free(b.data);
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    struct bytes b = sample();
    for (size_t size = 0; size < b.size; size++) {
        assert_int_equal(parse(&(struct bytes){b.data, size}), STN_ERR_CORRUPT);
        assert_non_null(strstr(errors_last(), "some.file: "));
    }
    assert_int_equal(parse(&b), STN_OK);
    free(b.data);
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct bytes b = sample();
    int unchecked = 0;
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        struct safetensors *file;
        if (safetensors_parse(b.data, b.size, "some.file", &file) == STN_OK) {
            // Only a flip in the checksum's own name can pass, and then the checksum is gone.
            assert_null(safetensors_metadata(file, SAFETENSORS_CHECKSUM_KEY));
            safetensors_close(file);
            unchecked++;
        }
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(unchecked <= 8 * (int)strlen(SAFETENSORS_CHECKSUM_KEY));
    free(b.data);
}

static void trailing_bytes_are_noticed(void **state)
{
    (void)state;
    struct bytes b = sample();
    b.data[b.size] = 0; // file_load leaves room for one byte
    b.size++;
    assert_int_equal(parse(&b), STN_ERR_CORRUPT);
    free(b.data);
}

static void foreign_files_are_read(void **state)
{
    (void)state;
    expect_accepted("{}", 0);
    expect_accepted("{}      ", 0);
    expect_accepted("{\"__metadata__\":{}}", 0);
    expect_accepted("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_offsets\":[0,4]}}", 4);
    // Any order in the header; empty tensors anywhere.
    expect_accepted("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[1,4]},"
                    "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]},"
                    "\"c\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[0,1]}}",
                    4);
}

static void bad_layouts_are_refused(void **state)
{
    (void)state;
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "hole");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
                   12, "overlaps");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
                   "4 bytes belong to no tensor");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
                   "truncated");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "shape does not match");
    expect_refused(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
        "shape does not match");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,0]}}", 0,
                   "data_offsets");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}", 0,
                   "data_offsets");
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    expect_refused("", 0, "does not begin with '{'");
    expect_refused("[]", 0, "does not begin with '{'");
    expect_refused(" {}", 0, "does not begin with '{'");
    expect_refused("{} x", 0, "damaged header");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                   0, "duplicate");
    expect_refused("{\"a\":7}", 0, "dtype");
    expect_refused("{\"a\":{\"dtype\":\"F31\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "dtype");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "shape");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "shape");
    expect_refused(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
        "shape");
    expect_refused("{\"__metadata__\":[]}", 0, "not an object");
    expect_refused("{\"__metadata__\":{\"a\":1}}", 0, "not a text");
    expect_refused("{\"__metadata__\":{\"stannis.crc32\":\"12345678\"}}", 0, "checksum");
    expect_refused("{\"__metadata__\":{\"stannis.crc32\" :\"12345678\"}}", 0, "checksum");
    expect_refused("{\"__metadata__\":{\"stannis.crc32\":\"1\"}}", 0, "checksum");
}

static void huge_header_lengths_are_refused(void **state)
{
    (void)state;
    for (int i = 2; i < 8; i++) {
        struct bytes b = compose("{}", 0);
        b.data[i] = 0xff;
        assert_int_equal(parse(&b), STN_ERR_CORRUPT);
        assert_non_null(strstr(errors_last(), "does not fit"));
        free(b.data);
    }
}

static void missing_files_are_named(void **state)
{
    (void)state;
    struct safetensors *file;
    errors_reset();
    assert_int_equal(safetensors_read("/nonexistent/x.safetensors", &file), STN_ERR_NOT_FOUND);
    assert_non_null(strstr(errors_last(), "/nonexistent/x.safetensors"));
    assert_int_equal(safetensors_read(scratch, &file), STN_ERR_INVALID);
    assert_int_equal(safetensors_write("/nonexistent/x", NULL, 0, NULL, 0), STN_ERR_IO);
    assert_int_equal(errors_count(), 3);
}

static void texts_must_be_utf8(void **state)
{
    (void)state;
    const struct safetensors_pair bad = {"note", "\xff\xfe"};
    const char *path = in(scratch, "bad.safetensors");
    assert_int_equal(safetensors_write(path, &bad, 1, NULL, 0), STN_ERR_INVALID);
    assert_false(file_exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(data_is_aligned_by_spaces),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(trailing_bytes_are_noticed),
        cmocka_unit_test(foreign_files_are_read),
        cmocka_unit_test(bad_layouts_are_refused),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(huge_header_lengths_are_refused),
        cmocka_unit_test(missing_files_are_named),
        cmocka_unit_test(texts_must_be_utf8),
    };
    return cmocka_run_group_tests_name("safetensors", tests, scratch_set_up, scratch_tear_down);
}
