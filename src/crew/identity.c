// SPDX-License-Identifier: Apache-2.0
#include "crew/identity.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/setting_mark.h"

enum { LINES_BYTES = 4096, VALUE_BYTES = 128 };

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        hash = base_key(hash, *c);
    }
    return base_key(hash, 256); // "a", "b" is not "ab"
}

static uint64_t mix_reals(uint64_t hash, const float *values, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        hash = base_key(hash, bits);
    }
    return hash;
}

void crew_identity_of(const struct crew_subject *subject, struct wire_identity *out)
{
    memset(out, 0, sizeof(*out));
    out->network = subject->network;
    out->classes = mix_text(0, subject->class_list);
    out->settings = mix_reals(mix_reals(0, subject->mean, 3), subject->std, 3);
    out->samples = subject->public_samples;
}

// ---- settings ----------------------------------------------------------------------------------

// The next setting that must be alike, from row *i on; NULL after the last.
static const struct settings_row *next_alike(int *i)
{
    while (*i < settings_row_count && !settings_rows[*i].alike) {
        (*i)++;
    }
    return *i < settings_row_count ? &settings_rows[(*i)++] : NULL;
}

// Their values, a line each, in the order of the table. Long ones are cut: names of networks are
// not that long.
static void write_lines(const struct settings *settings, char *lines)
{
    size_t used = 0;
    int i = 0;
    lines[0] = '\0';
    for (const struct settings_row *row; (row = next_alike(&i));) {
        char value[VALUE_BYTES];
        settings_print(row, settings, value, sizeof(value));
        assert(used + strlen(value) + 2 < LINES_BYTES);
        used += (size_t)snprintf(lines + used, LINES_BYTES - used, "%s\n", value);
    }
}

// Against node 0's lines, which are taken apart.
static enum stn_status compare_lines(const struct crew *nodes, char *own, char *root)
{
    int i = 0;
    for (const struct settings_row *row; (row = next_alike(&i));) {
        const char *mine = strsep(&own, "\n"), *first = strsep(&root, "\n");
        if (!mine || !first || strcmp(mine, first) != 0) {
            return stn_fail(STN_ERR_INVALID,
                            "node %s was started with " BASE_SETTING "%s %s, %s with %s",
                            comm_name(nodes->comm, nodes->rank), row->face.name, mine ? mine : "",
                            comm_name(nodes->comm, 0), first ? first : "");
        }
    }
    return STN_OK;
}

enum stn_status crew_compare_settings(struct crew *nodes, const struct settings *settings)
{
    if (nodes->size == 1) {
        return STN_OK;
    }
    char own[LINES_BYTES] = {0}, root[LINES_BYTES];
    write_lines(settings, own);
    memcpy(root, own, sizeof(root));
    enum stn_status status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, root, sizeof(root));
    root[sizeof(root) - 1] = '\0';
    return crew_agree(nodes, status ? status : compare_lines(nodes, own, root));
}
