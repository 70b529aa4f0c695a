// SPDX-License-Identifier: Apache-2.0
// Reading safetensors. Nothing in the file is believed before it was checked: the header's length,
// its JSON, every tensor's shape against its bytes, and that the tensors tile the data exactly.
#include "checkpoint/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is copied as it is");

enum { PREFIX_BYTES = 8, HEADER_BYTES_MAX = 100 * 1000 * 1000, DIGITS = 8 };

static const char metadata_key[] = "__metadata__";

struct safetensors {
    const char *label;
    void *owned;                // what safetensors_read allocated, or NULL
    const unsigned char *bytes; // the whole file
    size_t size;
    size_t header_bytes;
    json_t *header;   // names and metadata live here
    json_t *metadata; // borrowed from header; NULL: none
    struct safetensors_tensor *tensors;
    int count;
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define X(name, bytes) {#name, bytes},
    SAFETENSORS_DTYPE_MAP(X)
#undef X
};

enum { DTYPE_COUNT = sizeof(dtypes) / sizeof(dtypes[0]) };

const char *safetensors_dtype_name(enum safetensors_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t safetensors_dtype_bytes(enum safetensors_dtype dtype)
{
    return dtypes[dtype].bytes;
}

// ---- header ------------------------------------------------------------------------------------

static uint64_t little_endian_u64(const unsigned char *p)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) {
        value = value << 8 | p[i];
    }
    return value;
}

static enum stn_status parse_header(struct safetensors *f)
{
    if (f->size < PREFIX_BYTES) {
        return stn_fail(STN_ERR_CORRUPT, "%s: %zu bytes are too few for a safetensors file",
                        f->label, f->size);
    }
    uint64_t length = little_endian_u64(f->bytes);
    if (length > HEADER_BYTES_MAX || length > f->size - PREFIX_BYTES) {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: a header of %" PRIu64
                        " bytes does not fit a file of %zu: truncated, or not a "
                        "safetensors file",
                        f->label, length, f->size);
    }
    f->header_bytes = (size_t)length;
    const char *text = (const char *)f->bytes + PREFIX_BYTES;
    if (length < 2 || text[0] != '{') {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: the header does not begin with '{': not a safetensors file", f->label);
    }
    json_error_t error;
    f->header = json_loadb(text, f->header_bytes, JSON_REJECT_DUPLICATES, &error);
    if (!f->header) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged header: %s", f->label, error.text);
    }
    return STN_OK;
}

static enum stn_status parse_metadata(struct safetensors *f)
{
    f->metadata = json_object_get(f->header, metadata_key);
    if (!f->metadata) {
        return STN_OK;
    }
    if (!json_is_object(f->metadata)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: %s is not an object", f->label, metadata_key);
    }
    const char *key;
    json_t *value;
    json_object_foreach(f->metadata, key, value)
    {
        if (!json_is_string(value)) {
            return stn_fail(STN_ERR_CORRUPT, "%s: metadata '%.80s' is not a text", f->label, key);
        }
    }
    return STN_OK;
}

// ---- tensors -----------------------------------------------------------------------------------

static bool parse_dtype(const json_t *value, enum safetensors_dtype *out)
{
    const char *name = json_string_value(value);
    for (int i = 0; name && i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (enum safetensors_dtype)i;
            return true;
        }
    }
    return false;
}

// False unless `array` holds only integers ≥ 0, at most `max` of them.
static bool parse_sizes(const json_t *array, size_t max, uint64_t *out, size_t *count)
{
    *count = json_array_size(array);
    if (!json_is_array(array) || *count > max) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0) {
            return false;
        }
        out[i] = (uint64_t)json_integer_value(item);
    }
    return true;
}

static bool shape_bytes(const struct safetensors_tensor *t, uint64_t *out)
{
    *out = safetensors_dtype_bytes(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(*out, t->dims[i], out)) {
            return false;
        }
    }
    return true;
}

static enum stn_status parse_tensor(const struct safetensors *f, const char *name,
                                    const json_t *entry, struct safetensors_tensor *t)
{
    t->name = name;
    if (!parse_dtype(json_object_get(entry, "dtype"), &t->dtype)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: tensor '%.80s' has no dtype we know", f->label, name);
    }
    size_t rank, two;
    if (!parse_sizes(json_object_get(entry, "shape"), SAFETENSORS_RANK_MAX, t->dims, &rank)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: tensor '%.80s' has no valid shape", f->label, name);
    }
    t->rank = (int)rank;
    uint64_t offsets[2], bytes;
    if (!parse_sizes(json_object_get(entry, "data_offsets"), 2, offsets, &two) || two != 2 ||
        offsets[0] > offsets[1]) {
        return stn_fail(STN_ERR_CORRUPT, "%s: tensor '%.80s' has no valid data_offsets", f->label,
                        name);
    }
    if (!shape_bytes(t, &bytes) || bytes != offsets[1] - offsets[0]) {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: tensor '%.80s': the shape does not match its data_offsets", f->label,
                        name);
    }
    size_t data_bytes = f->size - PREFIX_BYTES - f->header_bytes;
    if (offsets[1] > data_bytes) {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: truncated: tensor '%.80s' ends at byte %" PRIu64
                        " of the data, which has %zu",
                        f->label, name, offsets[1], data_bytes);
    }
    t->bytes = (size_t)bytes;
    t->data = f->bytes + PREFIX_BYTES + f->header_bytes + offsets[0];
    return STN_OK;
}

static int compare_places(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;
    uintptr_t px = (uintptr_t)x->data, py = (uintptr_t)y->data;
    if (px != py) {
        return px < py ? -1 : 1;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); // empty ones first
}

// Every byte of the data belongs to exactly one tensor.
static enum stn_status check_tiling(const struct safetensors *f)
{
    const unsigned char *expected = f->bytes + PREFIX_BYTES + f->header_bytes;
    for (int i = 0; i < f->count; i++) {
        const struct safetensors_tensor *t = &f->tensors[i];
        const unsigned char *begin = t->data;
        if (begin != expected) {
            return stn_fail(STN_ERR_CORRUPT, "%s: tensor '%.80s' %s", f->label, t->name,
                            begin > expected ? "leaves a hole before it" : "overlaps another");
        }
        expected = begin + t->bytes;
    }
    size_t left = (size_t)(f->bytes + f->size - expected);
    if (left > 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: %zu bytes belong to no tensor", f->label, left);
    }
    return STN_OK;
}

static enum stn_status parse_tensors(struct safetensors *f)
{
    size_t entries = json_object_size(f->header);
    f->tensors = calloc(entries + 1, sizeof(*f->tensors));
    if (!f->tensors) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: out of memory", f->label);
    }
    const char *name;
    json_t *entry;
    json_object_foreach(f->header, name, entry)
    {
        if (strcmp(name, metadata_key) == 0) {
            continue;
        }
        enum stn_status status = parse_tensor(f, name, entry, &f->tensors[f->count]);
        if (status) {
            return status;
        }
        f->count++;
    }
    qsort(f->tensors, (size_t)f->count, sizeof(*f->tensors), compare_places);
    return check_tiling(f);
}

// ---- checksum ----------------------------------------------------------------------------------

const char *safetensors_find_digits(const char *header, size_t bytes)
{
    // Quotes inside JSON texts are escaped, so this can only be the key itself.
    static const char lead[] = "\"" SAFETENSORS_CHECKSUM_KEY "\":\"";
    const size_t lead_bytes = sizeof(lead) - 1;
    const char *found = memmem(header, bytes, lead, lead_bytes);
    if (!found || (size_t)(header + bytes - found) < lead_bytes + DIGITS + 1 ||
        found[lead_bytes + DIGITS] != '"') {
        return NULL;
    }
    return found + lead_bytes;
}

uint32_t safetensors_checksum(const void *head, size_t head_bytes, const char *digits,
                              const struct safetensors_tensor *tensors, int count)
{
    const unsigned char *begin = head;
    uLong crc = crc32_z(0, NULL, 0);
    if (digits) {
        size_t before = (size_t)((const unsigned char *)digits - begin);
        crc = crc32_z(crc, begin, before);
        crc = crc32_z(crc, (const unsigned char *)"00000000", DIGITS);
        begin += before + DIGITS;
        head_bytes -= before + DIGITS;
    }
    crc = crc32_z(crc, begin, head_bytes);
    for (int i = 0; i < count; i++) {
        if (tensors[i].bytes > 0) {
            crc = crc32_z(crc, tensors[i].data, tensors[i].bytes);
        }
    }
    return (uint32_t)crc;
}

static enum stn_status check_checksum(const struct safetensors *f)
{
    const char *stored = safetensors_metadata(f, SAFETENSORS_CHECKSUM_KEY);
    if (!stored) {
        return STN_OK;
    }
    const char *digits =
        safetensors_find_digits((const char *)f->bytes + PREFIX_BYTES, f->header_bytes);
    if (!digits || strlen(stored) != DIGITS || memcmp(stored, digits, DIGITS) != 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: the checksum '%.20s' is not as Stannis writes it",
                        f->label, stored);
    }
    char actual[DIGITS + 1];
    snprintf(actual, sizeof(actual), "%08" PRIx32,
             safetensors_checksum(f->bytes, PREFIX_BYTES + f->header_bytes, digits, f->tensors,
                                  f->count));
    if (strcmp(stored, actual) != 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: checksum %s, expected %s", f->label, actual,
                        stored);
    }
    return STN_OK;
}

// ---- open and close ----------------------------------------------------------------------------

static enum stn_status parse_all(struct safetensors *f)
{
    enum stn_status status = parse_header(f);
    if (!status) {
        status = parse_metadata(f);
    }
    if (!status) {
        status = parse_tensors(f);
    }
    if (!status) {
        status = check_checksum(f);
    }
    return status;
}

enum stn_status safetensors_parse(const void *bytes, size_t size, const char *label,
                                  struct safetensors **out)
{
    *out = NULL;
    struct safetensors *f = calloc(1, sizeof(*f));
    if (!f) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: out of memory", label);
    }
    f->label = label;
    f->bytes = bytes;
    f->size = size;
    enum stn_status status = parse_all(f);
    f->label = NULL; // borrowed for this call only
    if (status) {
        safetensors_close(f);
        return status;
    }
    *out = f;
    return STN_OK;
}

static enum stn_status read_fully(int fd, const char *path, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return stn_fail(STN_ERR_IO, "%s: %s", path, strerror(errno));
        }
        if (n == 0) {
            return stn_fail(STN_ERR_CORRUPT, "%s: truncated while it was read", path);
        }
        done += (size_t)n;
    }
    return STN_OK;
}

static enum stn_status slurp(int fd, const char *path, unsigned char **bytes, size_t *size)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return stn_fail(STN_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return stn_fail(STN_ERR_INVALID, "%s: not a regular file", path);
    }
    *size = (size_t)info.st_size;
    *bytes = malloc(*size + 1);
    if (!*bytes) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its %zu bytes", path, *size);
    }
    enum stn_status status = read_fully(fd, path, *bytes, *size);
    if (status) {
        free(*bytes);
    }
    return status;
}

enum stn_status safetensors_read(const char *path, struct safetensors **out)
{
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", path,
                        strerror(errno));
    }
    unsigned char *bytes = NULL;
    size_t size = 0;
    enum stn_status status = slurp(fd, path, &bytes, &size);
    close(fd);
    if (status) {
        return status;
    }
    status = safetensors_parse(bytes, size, path, out);
    if (status) {
        free(bytes);
        return status;
    }
    (*out)->owned = bytes;
    return STN_OK;
}

void safetensors_close(struct safetensors *file)
{
    if (file) {
        json_decref(file->header);
        free(file->tensors);
        free(file->owned);
        free(file);
    }
}

int safetensors_count(const struct safetensors *file)
{
    return file->count;
}

const struct safetensors_tensor *safetensors_at(const struct safetensors *file, int index)
{
    return &file->tensors[index];
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    return json_string_value(json_object_get(file->metadata, key));
}
