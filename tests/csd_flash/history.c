// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "csd/flash/keys.h"
#include "csd/media/faulty.h"
#include "oracle.h"

enum { SPACES = 2, CHUNK_MAX = 6, FOLLOW_UP = 12, SECOND_UNITS = 24 };

// One life of a device, and what follows when it is cut.
struct life {
    const struct history_options *options;
    struct history_result *result;
    struct media *medium;
    struct flash_keys *keys;
    struct flash *flash;
    struct oracle *oracles[SPACES];
    struct base_random random;
    uint32_t version;
    int depth;  // cuts that may still be made
    bool every; // cut at every change, or now and then
};

static void fail(struct life *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct life *l, const char *format, ...)
{
    if (!l->result->failure[0]) {
        char words[240];
        va_list args;
        va_start(args, format);
        vsnprintf(words, sizeof(words), format, args);
        va_end(args);
        snprintf(l->result->failure, sizeof(l->result->failure), "seed %llu, cut %llu: %s",
                 (unsigned long long)l->options->seed, (unsigned long long)l->result->cuts, words);
    }
}

static bool failed(const struct life *l)
{
    return l->result->failure[0];
}

struct flash_profile history_profile(const struct history_options *options)
{
    struct flash_profile p = {.geometry = {.channels = 2, .dies = 1, .planes = 1, .pages = 8},
                              .units = 2,
                              .over_provisioning = 0.02,
                              .ecc = options->ecc,
                              .endurance = 1000000,
                              .stripe = options->stripe,
                              .error_rate = options->error_rate,
                              .error_rate_worn = options->error_rate};
    if (flash_profile_fit(&p, (uint64_t)options->units * FLASH_UNIT_BYTES, "history")) {
        abort();
    }
    return p;
}

static void power_on(struct life *l)
{
    struct flash_options options = {.policy =
                                        l->options->seed & 1 ? FLASH_GREEDY : FLASH_COST_BENEFIT};
    l->flash = NULL;
    if (flash_open(l->medium, l->keys, &options, &l->flash)) {
        fail(l, "the device does not open");
        return;
    }
    struct flash_stats stats;
    flash_stats(l->flash, &stats);
    if (stats.read_only) {
        fail(l, "the device thinks that it has rotted");
    }
}

static void check_rules(struct life *l)
{
    const char *rule = media_faulty_broken_rule(l->medium);
    if (rule) {
        fail(l, "%s", rule);
    }
}

static void check_space(struct life *l, struct oracle *o, bool exact)
{
    struct flash_namespace found, all[FLASH_NAMESPACES_MAX];
    if (!o->id) {
        return;
    }
    if (o->may_exist && flash_namespaces(l->flash, all) == SPACES) {
        o->id = all[SPACES - 1].id; // when it was being made, its id was not known
    }
    if (!flash_namespace_find(l->flash, o->id, &found)) {
        if (!o->may_exist) {
            fail(l, "namespace %u is gone", o->id);
        }
        o->id = 0;
        return;
    }
    const char *wrong = oracle_check(o, l->flash, exact && !o->may_exist);
    if (wrong) {
        fail(l, "namespace %u, %s", o->id, wrong);
    }
    o->may_exist = false;
}

static void check_all(struct life *l, bool exact)
{
    for (int i = 0; i < SPACES && !failed(l); i++) {
        check_space(l, l->oracles[i], exact);
    }
}

// ---- Operations
// ----------------------------------------------------------------------------------

static uint64_t draw(struct life *l, uint64_t bound)
{
    return base_random_below(&l->random, bound);
}

// Often of few units, so that there are hot ones.
static uint64_t draw_first(struct life *l, const struct oracle *o, uint64_t count)
{
    uint64_t most = o->units - count + 1;
    return draw(l, draw(l, 2) ? most : most / 8 + 1);
}

static void do_write(struct life *l, struct oracle *o)
{
    uint8_t data[CHUNK_MAX * FLASH_UNIT_BYTES];
    uint64_t count = 1 + draw(l, draw(l, 4) ? 2 : CHUNK_MAX), first = draw_first(l, o, count);
    for (uint64_t i = 0; i < count; i++) {
        oracle_write(o, first + i, ++l->version);
        oracle_fill(o->id, first + i, l->version, data + i * FLASH_UNIT_BYTES);
    }
    enum flash_result result = flash_write(l->flash, o->id, first, (uint32_t)count, data, NULL);
    if (result) {
        fail(l, "writing: %s", flash_result_text(result));
    }
}

static void do_trim(struct life *l, struct oracle *o)
{
    uint64_t count = 1 + draw(l, draw(l, 4) ? 3 : o->units), first = draw_first(l, o, count);
    for (uint64_t i = 0; i < count; i++) {
        oracle_write(o, first + i, 0);
    }
    enum flash_result result = flash_trim(l->flash, o->id, first, count);
    if (result) {
        fail(l, "trimming: %s", flash_result_text(result));
    }
}

static void do_flush(struct life *l)
{
    enum flash_result result = flash_flush(l->flash);
    if (result) {
        fail(l, "flushing: %s", flash_result_text(result));
        return;
    }
    for (int i = 0; i < SPACES; i++) {
        oracle_flushed(l->oracles[i]);
    }
}

static void do_work(struct life *l)
{
    bool more;
    enum flash_result result = draw(l, 8) ? flash_work(l->flash, &more) : flash_scrub(l->flash);
    if (result) {
        fail(l, "working: %s", flash_result_text(result));
    }
}

// The second namespace comes and goes.
static void do_space(struct life *l)
{
    struct oracle *o = l->oracles[1];
    if (o->id) {
        o->may_exist = true;
        if (flash_namespace_delete(l->flash, o->id)) {
            fail(l, "a namespace is not deleted");
        }
        oracle_reset(o, 0, 0);
        return;
    }
    struct flash_namespace ns = {.units = SECOND_UNITS};
    oracle_reset(o, UINT32_MAX, SECOND_UNITS);
    o->may_exist = true;
    if (flash_namespace_create(l->flash, &ns)) {
        fail(l, "a namespace is not created");
        return;
    }
    oracle_reset(o, ns.id, SECOND_UNITS);
}

static void do_restart(struct life *l)
{
    enum flash_result result = flash_close(l->flash);
    l->flash = NULL;
    if (result) {
        fail(l, "powering off: %s", flash_result_text(result));
        return;
    }
    for (int i = 0; i < SPACES; i++) {
        oracle_flushed(l->oracles[i]);
    }
    power_on(l);
    if (l->flash) {
        check_all(l, true);
    }
}

static void do_something(struct life *l)
{
    struct oracle *o = l->oracles[draw(l, 4) == 0 && l->oracles[1]->id ? 1 : 0];
    uint64_t what = draw(l, 200);
    if (what < 120) {
        do_write(l, o);
    } else if (what < 150) {
        do_trim(l, o);
    } else if (what < 180) {
        do_flush(l);
    } else if (what < 192) {
        do_work(l);
    } else if (what < 195) {
        do_space(l);
    } else if (what < 197) {
        do_restart(l);
    } else {
        check_all(l, true);
    }
}

// ---- Cuts
// ----------------------------------------------------------------------------------------

static void cut_here(void *context, enum media_change change);

static void free_life(struct life *l)
{
    flash_drop(l->flash);
    flash_keys_close(l->keys);
    media_close(l->medium);
    for (int i = 0; i < SPACES; i++) {
        free(l->oracles[i]);
    }
}

// A second device as it would be when power comes back; `killed`: only the process died.
static bool branch(struct life *from, bool killed, uint64_t seed, struct life *out)
{
    *out = *from;
    out->flash = NULL;
    out->depth--;
    out->every = false;
    out->random = base_random_from(base_key(seed, 1));
    for (int i = 0; i < SPACES; i++) {
        out->oracles[i] = malloc(sizeof(struct oracle));
        if (!out->oracles[i]) {
            abort();
        }
        oracle_copy(from->oracles[i], out->oracles[i]);
    }
    if (keys_copy(from->keys, &out->keys) ||
        (killed ? media_faulty_copy(from->medium, &out->medium)
                : media_faulty_cut(from->medium, seed, &out->medium))) {
        abort();
    }
    media_faulty_hook(out->medium, out->depth > 0 ? cut_here : NULL, out);
    return true;
}

// Recovers, compares, and sometimes lives on for a while.
static void survive(struct life *l)
{
    power_on(l);
    if (l->flash) {
        check_all(l, false);
    }
    bool live_on = draw(l, 3) == 0;
    for (int i = 0; i < FOLLOW_UP && live_on && !failed(l); i++) {
        do_something(l);
    }
    if (live_on && !failed(l) && draw(l, 4) == 0) {
        do_restart(l);
    }
    check_rules(l);
}

static void cut_once(struct life *l, uint64_t seed)
{
    struct life after;
    l->result->cuts++;
    if (branch(l, seed % 8 == 0, seed, &after)) {
        survive(&after);
        free_life(&after);
    }
}

static void cut_here(void *context, enum media_change change)
{
    struct life *l = context;
    (void)change;
    l->result->changes++;
    for (int i = 0; i < l->options->cuts_each && !failed(l); i++) {
        uint64_t seed = base_key(base_key(l->options->seed, l->result->changes), (uint64_t)i);
        if (l->every || (seed >> 32) % 12 == 0) {
            cut_once(l, seed);
        }
    }
}

static void begin(struct life *l)
{
    struct flash_profile profile = history_profile(l->options);
    if (media_faulty_create(&profile.geometry, &l->medium) ||
        flash_keys_open(NULL, true, &l->keys) || flash_format(l->medium, &profile)) {
        abort();
    }
    for (int i = 0; i < SPACES; i++) {
        l->oracles[i] = calloc(1, sizeof(struct oracle));
        if (!l->oracles[i]) {
            abort();
        }
    }
    power_on(l);
    struct flash_namespace ns = {.units = flash_units_total(l->flash) - SECOND_UNITS};
    if (flash_namespace_create(l->flash, &ns)) {
        fail(l, "the first namespace is not created");
    }
    oracle_reset(l->oracles[0], ns.id, ns.units);
}

void history_run(const struct history_options *options, struct history_result *out)
{
    struct life life = {.options = options,
                        .result = out,
                        .random = base_random_from(options->seed),
                        .depth = options->depth,
                        .every = true};
    *out = (struct history_result){0};
    begin(&life);
    for (int i = 0; i < options->quiet + options->operations && !failed(&life); i++) {
        if (i == options->quiet) {
            media_faulty_hook(life.medium, cut_here, &life);
        }
        do_something(&life);
    }
    check_rules(&life);
    free_life(&life);
}
