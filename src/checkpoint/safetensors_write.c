// SPDX-License-Identifier: Apache-2.0
// Writing safetensors: the header is built with the checksum's digits at zero, the file's CRC-32
// taken, the digits filled in, and everything written through an atomic file.
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "checkpoint/safetensors.h"

enum { PREFIX_BYTES = 8, ALIGNMENT = 8, DIGITS = 8 };

// What comes before the data: length and JSON.
struct head {
    char *bytes;
    size_t size;
};

// Takes `value`; false when it is NULL (no memory, or a text that is not UTF-8).
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static bool put_metadata(json_t *root, const struct safetensors_pair *metadata, int pairs)
{
    json_t *object = json_object();
    bool ok = put(root, "__metadata__", object) &&
              put(object, SAFETENSORS_CHECKSUM_KEY, json_string("00000000"));
    for (int i = 0; ok && i < pairs; i++) {
        ok = put(object, metadata[i].key, json_string(metadata[i].value));
    }
    return ok;
}

static bool put_tensor(json_t *root, const struct safetensors_tensor *t, size_t begin)
{
    json_t *shape = json_array();
    bool ok = true;
    for (int i = 0; ok && i < t->rank; i++) {
        ok = json_array_append_new(shape, json_integer((json_int_t)t->dims[i])) == 0;
    }
    if (!ok) {
        json_decref(shape);
        return false;
    }
    return put(root, t->name,
               json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(t->dtype), "shape",
                         shape, "data_offsets", (json_int_t)begin,
                         (json_int_t)begin + (json_int_t)t->bytes));
}

static json_t *describe(const struct safetensors_pair *metadata, int pairs,
                        const struct safetensors_tensor *tensors, int count)
{
    json_t *root = json_object();
    bool ok = put_metadata(root, metadata, pairs);
    size_t begin = 0;
    for (int i = 0; ok && i < count; i++) {
        ok = put_tensor(root, &tensors[i], begin);
        begin += tensors[i].bytes;
    }
    if (!ok) {
        json_decref(root);
        return NULL;
    }
    return root;
}

// Length, text, and spaces up to the alignment of the data.
static bool head_create(const json_t *root, struct head *out)
{
    size_t text = json_dumpb(root, NULL, 0, JSON_COMPACT);
    size_t padded = (text + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    out->size = PREFIX_BYTES + padded;
    out->bytes = malloc(out->size);
    if (text == 0 || !out->bytes) {
        free(out->bytes);
        return false;
    }
    for (int i = 0; i < PREFIX_BYTES; i++) {
        out->bytes[i] = (char)(padded >> (8 * i) & 0xff);
    }
    memset(out->bytes + PREFIX_BYTES, ' ', padded);
    json_dumpb(root, out->bytes + PREFIX_BYTES, padded, JSON_COMPACT);
    return true;
}

static void head_sign(struct head *head, const struct safetensors_tensor *tensors, int count)
{
    const char *found =
        safetensors_find_digits(head->bytes + PREFIX_BYTES, head->size - PREFIX_BYTES);
    char *digits = head->bytes + (found - head->bytes);
    char text[DIGITS + 1];
    snprintf(text, sizeof(text), "%08" PRIx32,
             safetensors_checksum(head->bytes, head->size, digits, tensors, count));
    memcpy(digits, text, DIGITS);
}

static enum stn_status write_pieces(const char *path, const struct head *head,
                                    const struct safetensors_tensor *tensors, int count)
{
    struct atomic_file file;
    enum stn_status status = atomic_file_open(path, &file);
    if (status) {
        return status;
    }
    status = atomic_file_write(&file, head->bytes, head->size);
    for (int i = 0; !status && i < count; i++) {
        status = atomic_file_write(&file, tensors[i].data, tensors[i].bytes);
    }
    if (status) {
        atomic_file_abort(&file);
        return status;
    }
    return atomic_file_commit(&file);
}

enum stn_status safetensors_write(const char *path, const struct safetensors_pair *metadata,
                                  int pairs, const struct safetensors_tensor *tensors, int count)
{
    json_t *root = describe(metadata, pairs, tensors, count);
    struct head head;
    bool made = root && head_create(root, &head);
    json_decref(root);
    if (!made) {
        return stn_fail(STN_ERR_INVALID,
                        "cannot write %s: a name in its header is not UTF-8 (or memory is out)",
                        path);
    }
    head_sign(&head, tensors, count);
    enum stn_status status = write_pieces(path, &head, tensors, count);
    free(head.bytes);
    return status;
}
