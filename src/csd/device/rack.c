// SPDX-License-Identifier: Apache-2.0
// The rack's folder: finding one's way in it, and reading rack.yaml.
#include "csd/device/rack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "conf/conf.h"

const char *const csd_timing_names[] = {"off", "counted", "enforced", NULL};

static const char device_prefix[] = "csd.";

enum stn_status csd_path(char out[CSD_PATH_BYTES], const char *folder, const char *name)
{
    int length = snprintf(out, CSD_PATH_BYTES, "%s/%s", folder, name);
    if (length < 0 || length >= CSD_PATH_BYTES) {
        return stn_fail(STN_ERR_INVALID, "%.64s…: the path is too long", folder);
    }
    return STN_OK;
}

int csd_open_folder(const char *folder)
{
    return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum stn_status csd_rack_folder(const struct csd_rack *rack, int index, char out[CSD_PATH_BYTES])
{
    char name[24];
    snprintf(name, sizeof(name), "%s%d", device_prefix, index);
    return csd_path(out, rack->path, name);
}

struct rack_file {
    const char *profile, *id, *timing;
    int count;
    size_t size;
};

#define FIELD(name) offsetof(struct rack_file, name)
static const struct conf_key keys[] = {
    {"id", CONF_TEXT, FIELD(id), 0, 0, NULL},
    {"profile", CONF_TEXT, FIELD(profile), 0, 0, NULL},
    {"count", CONF_WHOLE, FIELD(count), 1, CSD_RACK_DEVICES_MAX, NULL},
    {"size", CONF_BYTES, FIELD(size), 0, 0, "bytes of a device as 4G"},
    {"timing", CONF_TEXT, FIELD(timing), 0, 0, NULL},
    {NULL, CONF_TEXT, 0, 0, 0, NULL},
};
#undef FIELD

static enum stn_status complete(struct conf *conf, const struct rack_file *file,
                                struct csd_rack *out)
{
    int timing = 0;
    conf_go(conf, conf_root(conf));
    if (!file->id || !file->profile || !file->timing || !file->count || !file->size) {
        return conf_fail(conf, "id, profile, count, size and timing belong into it");
    }
    while (csd_timing_names[timing] && strcmp(csd_timing_names[timing], file->timing) != 0) {
        timing++;
    }
    if (!csd_timing_names[timing] || strlen(file->id) >= sizeof(out->id)) {
        return conf_fail(conf, "timing is off, counted or enforced; id has at most %d letters",
                         CSD_RACK_ID_BYTES - 1);
    }
    snprintf(out->id, sizeof(out->id), "%s", file->id);
    snprintf(out->profile, sizeof(out->profile), "%s", file->profile);
    out->count = file->count;
    out->size = file->size;
    out->timing = (enum flash_timing_mode)timing;
    return STN_OK;
}

enum stn_status csd_rack_open(const char *path, struct csd_rack *out)
{
    char file[CSD_PATH_BYTES];
    struct conf conf;
    struct stat about;
    struct rack_file values = {0};
    enum stn_status status = csd_path(file, path, "rack.yaml");
    if (status != STN_OK) {
        return status;
    }
    if (stat(file, &about) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND,
                        "%s: is no rack (it has no rack.yaml); \"stannis csd create\" makes one",
                        path);
    }
    *out = (struct csd_rack){.count = 0};
    snprintf(out->path, sizeof(out->path), "%s", path);
    status = conf_load(file, "rack file", &conf);
    if (status != STN_OK) {
        return status;
    }
    status = conf_read_map(&conf, conf_root(&conf), keys, "a rack", "", &values);
    if (status == STN_OK) {
        status = complete(&conf, &values, out);
    }
    conf_fini(&conf);
    return status;
}

enum stn_status csd_rack_of(const char *folder, struct csd_rack *out, int *index)
{
    char rack[CSD_PATH_BYTES];
    snprintf(rack, sizeof(rack), "%s", folder);
    for (size_t length = strlen(rack); length > 1 && rack[length - 1] == '/'; length--) {
        rack[length - 1] = '\0';
    }
    char *slash = strrchr(rack, '/'), *name = slash ? slash + 1 : rack;
    int64_t number;
    if (strncmp(name, device_prefix, strlen(device_prefix)) != 0 ||
        base_parse_int64(name + strlen(device_prefix), &number) != 0) {
        return stn_fail(STN_ERR_INVALID, "%s: is no device; devices are called as rack/csd.0",
                        folder);
    }
    if (slash == rack) {
        slash++;
    }
    if (slash) {
        *slash = '\0';
    }
    enum stn_status status = csd_rack_open(slash ? rack : ".", out);
    if (status == STN_OK && (number < 0 || number >= out->count)) {
        status =
            stn_fail(STN_ERR_NOT_FOUND, "%s: there is no such device; the rack has csd.0 to csd.%d",
                     folder, out->count - 1);
    }
    *index = (int)number;
    return status;
}
