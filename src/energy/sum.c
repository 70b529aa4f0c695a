// SPDX-License-Identifier: Apache-2.0
#include "energy/sum.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- who speaks for a machine ------------------------------------------------------------------

// A measurement sees all nodes of its machine. Models are of single nodes, and add up where nothing
// was measured.
bool energy_sum_is_within(const struct energy_node nodes[], int count, int node)
{
    for (int i = 0; i < count; i++) {
        bool same = i != node && nodes[i].machine == nodes[node].machine;
        bool speaks = nodes[i].source == ENERGY_MEASURED &&
                      (nodes[node].source != ENERGY_MEASURED || i < node);
        if (same && speaks) {
            return true;
        }
    }
    return false;
}

static bool is_first_of_machine(const struct energy_node nodes[], int node)
{
    for (int i = 0; i < node; i++) {
        if (nodes[i].machine == nodes[node].machine) {
            return false;
        }
    }
    return true;
}

// The machine of `node`: measured, modelled in all its nodes, or not known.
static enum energy_source machine_source(const struct energy_node nodes[], int count, int node)
{
    enum energy_source source = ENERGY_MODELLED;
    for (int i = 0; i < count; i++) {
        if (nodes[i].machine != nodes[node].machine) {
            continue;
        }
        if (nodes[i].source == ENERGY_MEASURED) {
            return ENERGY_MEASURED;
        }
        source = nodes[i].source == ENERGY_UNKNOWN ? ENERGY_UNKNOWN : source;
    }
    return source;
}

// ---- the sum -----------------------------------------------------------------------------------

static void add_node(const struct energy_node *node, struct energy_sum *sum)
{
    const struct energy_total *total = &node->total;
    sum->joules = isnan(sum->joules) ? total->joules : sum->joules + total->joules;
    sum->above_idle_j += total->joules - node->idle_w * total->known_s;
    if (node->source == ENERGY_MEASURED) {
        sum->mixed_scopes = sum->mixed_scopes || (sum->samples > 0 && node->scope != sum->scope);
        sum->scope = node->scope;
        sum->samples += total->samples;
        sum->gap_s = fmax(sum->gap_s, total->gap_s);
        sum->known_s = sum->known_s > 0.0 ? fmin(sum->known_s, total->known_s) : total->known_s;
    }
}

struct energy_sum energy_sum_of(const struct energy_node nodes[], int count)
{
    // A hundredth of the time may be missing: readings begin and end with steps as well as they
    // can.
    static const double gap_part = 0.01;
    struct energy_sum sum = {.joules = NAN};
    for (int i = 0; i < count; i++) {
        if (is_first_of_machine(nodes, i)) {
            enum energy_source source = machine_source(nodes, count, i);
            sum.machines++;
            sum.measured += source == ENERGY_MEASURED;
            sum.modelled += source == ENERGY_MODELLED;
        }
        bool counts = nodes[i].source != ENERGY_UNKNOWN && !energy_sum_is_within(nodes, count, i);
        if (counts && (nodes[i].source == ENERGY_MODELLED || nodes[i].total.known_s > 0.0)) {
            add_node(&nodes[i], &sum);
        } else if (counts) {
            sum.is_least = true;
        }
    }
    bool all = sum.measured + sum.modelled == sum.machines;
    bool gaps = sum.gap_s > gap_part * (sum.known_s + sum.gap_s);
    sum.is_least = sum.is_least || !all || sum.mixed_scopes || gaps;
    sum.above_idle_j = isnan(sum.joules) || sum.is_least ? NAN : sum.above_idle_j;
    return sum;
}

// ---- in words ----------------------------------------------------------------------------------

struct words {
    char *text;
    size_t size, used;
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *words, const char *format, ...)
{
    va_list args;
    if (words->used >= words->size) {
        return;
    }
    va_start(args, format);
    int length = vsnprintf(words->text + words->used, words->size - words->used, format, args);
    va_end(args);
    words->used += length > 0 ? (size_t)length : 0;
}

static void say_time(struct words *words, double seconds)
{
    long long whole = (long long)(seconds + 0.5);
    if (whole < 3600) {
        say(words, "%lld:%02lld", whole / 60, whole % 60);
    } else {
        say(words, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    }
}

// ", with csd.0 and 3 more that run on it".
static void say_within(struct words *words, const struct energy_node nodes[], int count, int node)
{
    int within = 0;
    const char *first = NULL;
    for (int i = 0; i < count; i++) {
        bool is = i != node && nodes[i].machine == nodes[node].machine &&
                  energy_sum_is_within(nodes, count, i);
        first = is && !first ? nodes[i].name : first;
        within += is;
    }
    if (within == 1) {
        say(words, ", with %s that runs on it", first);
    } else if (within > 1) {
        say(words, ", with %s and %d more that run on it", first, within - 1);
    }
}

enum { NAMED_MOST = 6 };

static void say_nodes(struct words *words, const struct energy_node nodes[], int count)
{
    int named = 0;
    for (int i = 0; i < count; i++) {
        if (nodes[i].source == ENERGY_UNKNOWN || energy_sum_is_within(nodes, count, i)) {
            continue;
        }
        if (named++ == NAMED_MOST) {
            say(words, "; …");
            return;
        }
        say(words, "%s%s %s", named > 1 ? "; " : "", nodes[i].name,
            nodes[i].source == ENERGY_MEASURED ? "measured" : "modelled");
        if (nodes[i].source == ENERGY_MEASURED) {
            say_within(words, nodes, count, i);
        }
    }
}

static void say_basis(struct words *words, const struct energy_sum *sum,
                      const struct energy_node nodes[], int count)
{
    say(words, " (");
    if (sum->measured > 0) {
        say(words, "%s; ", sum->mixed_scopes ? "different scopes" : energy_scope_name(sum->scope));
    }
    say_nodes(words, nodes, count);
    say(words, ")");
}

static void say_missing(struct words *words, const struct energy_sum *sum)
{
    if (sum->measured + sum->modelled < sum->machines) {
        say(words, ": %d of %d machines measured", sum->measured, sum->machines);
        if (sum->modelled > 0) {
            say(words, ", %d modelled", sum->modelled);
        }
    }
    if (sum->gap_s >= 1.0) {
        say(words, "; readings are missing for %.0f s", sum->gap_s);
    }
}

void energy_sum_text(const struct energy_sum *sum, const struct energy_node nodes[], int count,
                     double seconds, int64_t images, char *text, size_t size)
{
    struct words words = {.text = text, .size = size};
    if (isnan(sum->joules)) {
        say(&words, "unknown: none of %d machine%s has a power meter that can be read, or a model",
            sum->machines, sum->machines == 1 ? "" : "s");
        return;
    }
    say(&words, "%s%.4g J in ", sum->is_least ? "at least " : "", sum->joules);
    say_time(&words, seconds);
    if (images > 0) {
        say(&words, ", %.3g J/image gross", sum->joules / (double)images);
    }
    say_basis(&words, sum, nodes, count);
    if (images > 0 && !isnan(sum->above_idle_j)) {
        say(&words, ", %.3g above idle", sum->above_idle_j / (double)images);
    }
    say_missing(&words, sum);
}
