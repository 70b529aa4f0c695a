// SPDX-License-Identifier: Apache-2.0
#include "emulate/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"

static const char *const kinds[] = {[EMULATE_LOAD_GZIP] = "gzip", [EMULATE_LOAD_BUSY] = "busy"};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

// Cuts `text` at `mark` and returns what was behind it. NULL: there is no such mark.
static char *cut(char *text, char mark)
{
    char *at = text ? strchr(text, mark) : NULL;
    if (at) {
        *at++ = '\0';
    }
    return at;
}

static bool read_steps(const char *first, const char *last, struct emulate_load *load)
{
    return base_parse_int64(first, &load->from) == 0 && base_parse_int64(last, &load->to) == 0 &&
           load->from >= 1 && load->to >= load->from && load->to < INT64_MAX;
}

static bool read_load(const char *name, const char *processes, struct emulate_load *load)
{
    int kind = 0;
    while (kind < KIND_COUNT && strcmp(name, kinds[kind]) != 0) {
        kind++;
    }
    load->kind = (enum emulate_load_kind)kind;
    return kind < KIND_COUNT && base_parse_real(processes, &load->processes) == 0 &&
           load->processes >= 0.01 && load->processes <= EMULATE_PROCESSES_MAX &&
           (kind == EMULATE_LOAD_BUSY || floor(load->processes) == load->processes);
}

// Cuts `item` to pieces; `whole` is a copy for messages.
static enum stn_status read_item(char *item, const char *whole, struct emulate_load *load)
{
    int length = (int)strcspn(whole, ",");
    char *first = cut(item, '@'), *name = cut(first, ':'), *processes = cut(name, '*');
    char *last = cut(first, '-');
    if (!processes || !last || !*item) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': expected NODE@FROM-TO:LOAD, as csd.0@20-40:busy*1",
                        length < 80 ? length : 80, whole);
    }
    if (!read_steps(first, last, load)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': %.20s-%.20s are no steps; they count from 1, the "
                        "first one first",
                        length < 80 ? length : 80, whole, first, last);
    }
    if (!read_load(name, processes, load)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': a load is gzip*K or busy*K, for K processes, 1 to %d; "
                        "for busy also a fraction, as busy*0.5",
                        length < 80 ? length : 80, whole, EMULATE_PROCESSES_MAX);
    }
    load->node = item;
    return STN_OK;
}

static int count_items(const char *text)
{
    int count = 1;
    for (; *text; text++) {
        count += *text == ',';
    }
    return count;
}

enum stn_status emulate_schedule_parse(const char *text, struct emulate_schedule *out)
{
    int count = count_items(text);
    *out = (struct emulate_schedule){.text = strdup(text),
                                     .loads = calloc((size_t)count, sizeof(*out->loads))};
    enum stn_status status = STN_OK;
    if (!out->text || !out->loads) {
        status =
            stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "interfere: no memory for %d loads", count);
    }
    char *rest = out->text;
    for (char *item; !status && (item = strsep(&rest, ","));) {
        status = read_item(item, text + (item - out->text), &out->loads[out->count++]);
    }
    if (status) {
        emulate_schedule_fini(out);
    }
    return status;
}

void emulate_schedule_fini(struct emulate_schedule *schedule)
{
    free(schedule->loads);
    free(schedule->text);
    *schedule = (struct emulate_schedule){0};
}
