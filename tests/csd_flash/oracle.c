// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

void oracle_reset(struct oracle *o, uint32_t id, uint64_t units)
{
    o->id = id;
    o->may_exist = false;
    o->units = units;
    o->log_count = 0;
    memset(o->flushed, 0, sizeof(o->flushed));
    memset(o->now, 0, sizeof(o->now));
}

void oracle_copy(const struct oracle *from, struct oracle *out)
{
    out->id = from->id;
    out->may_exist = from->may_exist;
    out->units = from->units;
    out->log_count = from->log_count;
    memcpy(out->flushed, from->flushed, from->units * sizeof(*out->flushed));
    memcpy(out->now, from->now, from->units * sizeof(*out->now));
    memcpy(out->log, from->log, from->log_count * sizeof(*out->log));
}

void oracle_write(struct oracle *o, uint64_t lpn, uint32_t version)
{
    if (o->log_count == ORACLE_LOG_MAX) {
        fprintf(stderr, "the oracle's log is too short for this history\n");
        abort();
    }
    o->now[lpn] = version;
    o->log[o->log_count].lpn = (uint32_t)lpn;
    o->log[o->log_count++].version = version;
}

void oracle_flushed(struct oracle *o)
{
    memcpy(o->flushed, o->now, o->units * sizeof(*o->now));
    o->log_count = 0;
}

void oracle_fill(uint32_t id, uint64_t lpn, uint32_t version, uint8_t out[FLASH_UNIT_BYTES])
{
    if (version == 0) {
        memset(out, 0, FLASH_UNIT_BYTES);
        return;
    }
    uint64_t key = base_key(base_key(id, lpn), version);
    uint64_t words[FLASH_UNIT_BYTES / 8];
    words[0] = version;
    for (int i = 1; i < FLASH_UNIT_BYTES / 8; i++) {
        words[i] = key + (uint64_t)i * 0x9e3779b97f4a7c15u;
    }
    memcpy(out, words, sizeof(words));
}

static bool allowed(const struct oracle *o, uint64_t lpn, uint32_t version, bool exact)
{
    if (exact) {
        return version == o->now[lpn];
    }
    bool found = version == o->flushed[lpn];
    for (uint32_t i = 0; i < o->log_count && !found; i++) {
        found = o->log[i].lpn == lpn && o->log[i].version == version;
    }
    return found;
}

const char *oracle_check(struct oracle *o, struct flash *flash, bool exact)
{
    static char words[200];
    uint8_t got[FLASH_UNIT_BYTES], want[FLASH_UNIT_BYTES];
    for (uint64_t lpn = 0; lpn < o->units; lpn++) {
        enum flash_result result = flash_read(flash, o->id, lpn, 1, got, NULL);
        if (result) {
            snprintf(words, sizeof(words), "unit %llu: %s", (unsigned long long)lpn,
                     flash_result_text(result));
            return words;
        }
        uint64_t version;
        memcpy(&version, got, 8);
        oracle_fill(o->id, lpn, (uint32_t)version, want);
        if (memcmp(got, want, sizeof(got)) != 0) {
            snprintf(words, sizeof(words), "unit %llu: bytes that were never written",
                     (unsigned long long)lpn);
            return words;
        }
        if (!allowed(o, lpn, (uint32_t)version, exact)) {
            snprintf(words, sizeof(words), "unit %llu: version %u, flushed %u, written last %u",
                     (unsigned long long)lpn, (unsigned)version, o->flushed[lpn], o->now[lpn]);
            return words;
        }
        if (!exact) {
            o->flushed[lpn] = o->now[lpn] = (uint32_t)version;
        }
    }
    if (!exact) {
        o->log_count = 0;
    }
    return NULL;
}
