// SPDX-License-Identifier: Apache-2.0
#include "csd/device/profile.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "conf/conf.h"
#include "csd/device/builtin.h"

#define NS_PER_US        1000
#define MICROSECONDS     "microseconds, 0 to 1000000"
#define MICROSECONDS_MAX 1e6

struct entry {
    const char *name, *title, *ecc_kind;
    const struct conf_value *geometry, *spare, *wear, *ecc, *timing;
    size_t page_bytes;
    double read_us, program_us, erase_us;
    const char *source; // for people; each group must have one
    struct flash_profile flash;
};

#define END                                                                                        \
    {                                                                                              \
        NULL, CONF_TEXT, 0, 0, 0, NULL                                                             \
    }
#define FIELD(name) offsetof(struct entry, name)

static const struct conf_key top_keys[] = {
    {"name", CONF_TEXT, FIELD(name), 0, 0, NULL},
    {"title", CONF_TEXT, FIELD(title), 0, 0, NULL},
    {"geometry", CONF_VALUE, FIELD(geometry), 0, 0, NULL},
    {"spare", CONF_VALUE, FIELD(spare), 0, 0, NULL},
    {"wear", CONF_VALUE, FIELD(wear), 0, 0, NULL},
    {"ecc", CONF_VALUE, FIELD(ecc), 0, 0, NULL},
    {"timing", CONF_VALUE, FIELD(timing), 0, 0, NULL},
    END,
};

static const struct conf_key geometry_keys[] = {
    {"channels", CONF_WHOLE, FIELD(flash.geometry.channels), 1, 256, NULL},
    {"dies", CONF_WHOLE, FIELD(flash.geometry.dies), 1, 64, NULL},
    {"planes", CONF_WHOLE, FIELD(flash.geometry.planes), 1, 16, NULL},
    {"pages", CONF_WHOLE, FIELD(flash.geometry.pages), 2, 4096, NULL},
    {"page", CONF_BYTES, FIELD(page_bytes), 0, 0, "bytes of data as 16K"},
    {"stripe", CONF_WHOLE, FIELD(flash.stripe), 1, 64, NULL},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};

static const struct conf_key spare_keys[] = {
    {"over_provisioning", CONF_REAL, FIELD(flash.over_provisioning), 0.02, 4,
     "a part as 0.28, 0.02 to 4"},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};

static const struct conf_key wear_keys[] = {
    {"endurance", CONF_WHOLE, FIELD(flash.endurance), 1, INT_MAX, NULL},
    {"error_rate", CONF_REAL, FIELD(flash.error_rate), 0, 0.1, "wrong bits per bit, 0 to 0.1"},
    {"error_rate_worn", CONF_REAL, FIELD(flash.error_rate_worn), 0, 0.1,
     "wrong bits per bit, 0 to 0.1"},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};

static const struct conf_key ecc_keys[] = {
    {"kind", CONF_TEXT, FIELD(ecc_kind), 0, 0, NULL},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};

static const struct conf_key timing_keys[] = {
    {"read_us", CONF_REAL, FIELD(read_us), 0, MICROSECONDS_MAX, MICROSECONDS},
    {"program_us", CONF_REAL, FIELD(program_us), 0, MICROSECONDS_MAX, MICROSECONDS},
    {"erase_us", CONF_REAL, FIELD(erase_us), 0, MICROSECONDS_MAX, MICROSECONDS},
    {"channel_bytes_per_s", CONF_REAL, FIELD(flash.timing.channel_bytes_per_s), 1e3, 1e12,
     "bytes a second as 800e6"},
    {"buffer_pages", CONF_WHOLE, FIELD(flash.timing.buffer_pages), 1, 1 << 20, NULL},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};
#undef FIELD

static enum stn_status read_group(struct conf *conf, const char *name,
                                  const struct conf_value *value, const struct conf_key keys[],
                                  struct entry *e)
{
    char expected[64];
    if (!value) {
        return conf_fail(conf, "\"%s\" is missing", name);
    }
    e->source = NULL;
    snprintf(expected, sizeof(expected), "what belongs to \"%s\"", name);
    enum stn_status status = conf_read_map(conf, value, keys, expected, "", e);
    if (status == STN_OK && !e->source) {
        conf_go(conf, value);
        status = conf_fail(conf, "\"%s\" does not name its source", name);
    }
    return status;
}

static enum stn_status read_groups(struct conf *conf, struct entry *e)
{
    enum stn_status status = read_group(conf, "geometry", e->geometry, geometry_keys, e);
    if (status == STN_OK) {
        status = read_group(conf, "spare", e->spare, spare_keys, e);
    }
    if (status == STN_OK) {
        status = read_group(conf, "wear", e->wear, wear_keys, e);
    }
    if (status == STN_OK) {
        status = read_group(conf, "ecc", e->ecc, ecc_keys, e);
    }
    if (status == STN_OK) {
        status = read_group(conf, "timing", e->timing, timing_keys, e);
    }
    return status;
}

static enum stn_status complete(struct conf *conf, struct entry *e, struct csd_profile *out)
{
    struct flash_profile *flash = &e->flash;
    conf_go(conf, conf_root(conf));
    if (!e->name || !e->title) {
        return conf_fail(conf, "a device profile needs a name and a title");
    }
    if (e->page_bytes % FLASH_UNIT_BYTES != 0 || e->page_bytes > (size_t)16 * FLASH_UNIT_BYTES) {
        return conf_fail(conf, "a page is a multiple of 4K, up to 64K");
    }
    if (!e->ecc_kind || (strcmp(e->ecc_kind, "bch") != 0 && strcmp(e->ecc_kind, "crc") != 0)) {
        return conf_fail(conf, "the kind of ecc is bch or crc");
    }
    flash->units = (int)(e->page_bytes / FLASH_UNIT_BYTES);
    flash->ecc = strcmp(e->ecc_kind, "bch") == 0 ? FLASH_ECC_BCH : FLASH_ECC_CRC;
    flash->timing.read_ns = (int64_t)(e->read_us * NS_PER_US);
    flash->timing.program_ns = (int64_t)(e->program_us * NS_PER_US);
    flash->timing.erase_ns = (int64_t)(e->erase_us * NS_PER_US);
    snprintf(out->name, sizeof(out->name), "%s", e->name);
    snprintf(out->title, sizeof(out->title), "%s", e->title);
    out->flash = *flash;
    return STN_OK;
}

// Takes the document.
static enum stn_status read_document(struct conf *conf, struct csd_profile *out)
{
    struct entry e = {0};
    enum stn_status status =
        conf_read_map(conf, conf_root(conf), top_keys, "a device profile", "", &e);
    if (status == STN_OK) {
        status = read_groups(conf, &e);
    }
    if (status == STN_OK) {
        status = complete(conf, &e, out);
    }
    conf_fini(conf);
    return status;
}

static size_t stem_length(const char *file)
{
    const char *dot = strrchr(file, '.');
    return dot ? (size_t)(dot - file) : strlen(file);
}

void csd_profile_names(const char *out[CSD_PROFILES_MAX + 1])
{
    static char names[CSD_PROFILES_MAX][32];
    int count = 0;
    for (; count < csd_builtin_count && count < CSD_PROFILES_MAX; count++) {
        const char *file = csd_builtins[count].name;
        snprintf(names[count], sizeof(names[count]), "%.*s", (int)stem_length(file), file);
        out[count] = names[count];
    }
    out[count] = NULL;
}

static enum stn_status fail_unknown(const char *name)
{
    const char *names[CSD_PROFILES_MAX + 1];
    char list[256] = "";
    csd_profile_names(names);
    for (int i = 0; names[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *meant = base_did_you_mean(name, names);
    return stn_fail(STN_ERR_NOT_FOUND, "unknown device profile %s%s%s%s; there are %s, or a file",
                    name, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "",
                    list);
}

enum stn_status csd_profile_find(const char *name, struct csd_profile *out)
{
    struct conf conf;
    size_t length = strlen(name);
    bool is_file = strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
    if (is_file) {
        enum stn_status status = conf_load(name, "device profile", &conf);
        return status == STN_OK ? read_document(&conf, out) : status;
    }
    for (int i = 0; i < csd_builtin_count; i++) {
        const struct csd_builtin *builtin = &csd_builtins[i];
        if (stem_length(builtin->name) == length && strncmp(builtin->name, name, length) == 0) {
            enum stn_status status = conf_parse(builtin->text, builtin->bytes, name, &conf);
            return status == STN_OK ? read_document(&conf, out) : status;
        }
    }
    return fail_unknown(name);
}
