// SPDX-License-Identifier: Apache-2.0
// The processor's own counters, as Linux shows them: /sys/class/powercap has zones that hold one
// another. A package has its cores ("core", "uncore") and perhaps the memory at it ("dram", which
// is outside of the package); "psys" has the package and everything around it; a zone of
// intel-rapl-mmio is one of intel-rapl, read in another way. So: psys where there is one that
// counts, else all packages and their memory. Adding up everything counts most of it twice. Since
// Linux 5.10 only root may read the counters, as their exact course tells secrets (CVE-2020-8694).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/meter_kind.h"

#define FOLDER "/sys/class/powercap"

enum { ZONES_MAX = 256 };

struct zone {
    char folder[ENERGY_NAME_MAX];
    char name[48]; // "package-0", "dram", "psys"
    char label[ENERGY_NAME_MAX + 48];
    uint64_t range_uj;
};

struct powercap {
    struct zone zones[ENERGY_CHANNELS_MAX];
    int count;
};

// "intel-rapl:0" is a zone, "intel-rapl:0:1" one in it.
static int depth_of(const char *folder)
{
    int colons = 0;
    for (const char *c = folder; *c; c++) {
        colons += *c == ':';
    }
    return colons;
}

static bool zone_name(struct energy_meter *meter, const char *folder, char name[48])
{
    char path[PATH_MAX];
    return energy_meter_path(meter, path, FOLDER "/%s/name", folder) &&
           energy_read_line(path, name, 48);
}

static bool zone_counter(struct energy_meter *meter, const char *folder, uint64_t *out_uj)
{
    char path[PATH_MAX];
    if (!energy_meter_path(meter, path, FOLDER "/%s/energy_uj", folder)) {
        return false;
    }
    if (energy_read_count(path, out_uj)) {
        return true;
    }
    if (errno == EACCES || errno == EPERM) {
        return energy_meter_fail(
            meter,
            "%s may be read by root alone; permit it with: sudo chmod a+r " FOLDER
            "/*/energy_uj (until the next start of the machine)",
            path);
    }
    return energy_meter_fail(meter, "%s: %s", path,
                             errno == EILSEQ ? "no number of microjoules" : strerror(errno));
}

// The same zone by another way: "package-0" of intel-rapl and of intel-rapl-mmio.
static bool is_known(const struct powercap *powercap, const char *label)
{
    for (int i = 0; i < powercap->count; i++) {
        if (strcmp(powercap->zones[i].label, label) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_zone(struct energy_meter *meter, struct powercap *powercap, const char *folder,
                     const char *label)
{
    char path[PATH_MAX];
    uint64_t now_uj;
    struct zone *zone = &powercap->zones[powercap->count];
    if (is_known(powercap, label)) {
        return true;
    }
    if (powercap->count == ENERGY_CHANNELS_MAX) {
        return energy_meter_fail(meter, FOLDER ": more than %d zones", ENERGY_CHANNELS_MAX);
    }
    if (!zone_counter(meter, folder, &now_uj) ||
        !energy_meter_path(meter, path, FOLDER "/%s/max_energy_range_uj", folder)) {
        return false;
    }
    if (!energy_read_count(path, &zone->range_uj) || zone->range_uj == 0) {
        return energy_meter_fail(meter, "%s: does not say where the counter begins anew", path);
    }
    snprintf(zone->folder, sizeof(zone->folder), "%s", folder);
    snprintf(zone->label, sizeof(zone->label), "%s", label);
    powercap->count++;
    return true;
}

// ---- which zones -------------------------------------------------------------------------------

struct listing {
    char folders[ZONES_MAX][ENERGY_NAME_MAX];
    int count;
};

// A psys that stands still counts nothing: some machines have one in name only.
static bool add_platform(struct energy_meter *meter, const struct listing *list,
                         struct powercap *powercap)
{
    for (int i = 0; i < list->count; i++) {
        char name[48];
        uint64_t now_uj;
        bool is_psys = depth_of(list->folders[i]) == 1 &&
                       zone_name(meter, list->folders[i], name) && strcmp(name, "psys") == 0;
        if (is_psys && zone_counter(meter, list->folders[i], &now_uj) && now_uj > 0) {
            return add_zone(meter, powercap, list->folders[i], name);
        }
    }
    return false;
}

// Memory is told apart by the name of its package.
static bool add_memory(struct energy_meter *meter, const struct listing *list, const char *package,
                       const char *package_name, struct powercap *powercap)
{
    size_t length = strlen(package);
    for (int i = 0; i < list->count; i++) {
        char name[48], label[ENERGY_NAME_MAX + 48];
        const char *folder = list->folders[i];
        if (depth_of(folder) != 2 || strncmp(folder, package, length) != 0 ||
            folder[length] != ':' || !zone_name(meter, folder, name) || strcmp(name, "dram") != 0) {
            continue;
        }
        snprintf(label, sizeof(label), "dram of %s", package_name);
        if (!add_zone(meter, powercap, folder, label)) {
            return false;
        }
    }
    return true;
}

// intel-rapl sorts before intel-rapl-mmio only by its colon, which comes after '-'; so the twins
// are looked at in a second round.
static bool add_packages(struct energy_meter *meter, const struct listing *list, bool twins,
                         struct powercap *powercap)
{
    for (int i = 0; i < list->count; i++) {
        char name[48];
        const char *folder = list->folders[i];
        bool is_twin = strstr(folder, "mmio") != NULL;
        if (depth_of(folder) != 1 || is_twin != twins || !zone_name(meter, folder, name) ||
            strncmp(name, "package", strlen("package")) != 0) {
            continue;
        }
        if (!add_zone(meter, powercap, folder, name) ||
            !add_memory(meter, list, folder, name, powercap)) {
            return false;
        }
    }
    return true;
}

static void describe(struct energy_meter *meter, const struct powercap *powercap)
{
    size_t used = 0;
    for (int i = 0; i < powercap->count && used < sizeof(meter->what); i++) {
        used += (size_t)snprintf(meter->what + used, sizeof(meter->what) - used, "%s%s",
                                 i ? ", " : "", powercap->zones[i].label);
    }
}

static bool choose(struct energy_meter *meter, struct powercap *powercap)
{
    struct listing list;
    char path[PATH_MAX];
    if (!energy_meter_path(meter, path, FOLDER)) {
        return false;
    }
    list.count = energy_list_folder(path, "", list.folders, ZONES_MAX);
    if (list.count < 0) {
        return energy_meter_fail(meter,
                                 "%s is not there: this kernel or processor shows no energy "
                                 "counters (in a virtual machine they are hidden)",
                                 path);
    }
    if (add_platform(meter, &list, powercap)) {
        meter->scope = ENERGY_BOARD;
        return true;
    }
    powercap->count = 0;
    meter->scope = ENERGY_CPU;
    if (!add_packages(meter, &list, false, powercap) ||
        !add_packages(meter, &list, true, powercap)) {
        return false;
    }
    return powercap->count > 0 ||
           energy_meter_fail(meter,
                             "%s has no zone of a processor: this kernel or processor shows no "
                             "energy counters (in a virtual machine they are hidden)",
                             path);
}

// ---- the kind ----------------------------------------------------------------------------------

static bool powercap_open(struct energy_meter *meter, const char *argument)
{
    (void)argument;
    struct powercap *powercap = calloc(1, sizeof(*powercap));
    if (!powercap) {
        return energy_meter_fail(meter, "no memory");
    }
    if (!choose(meter, powercap)) {
        free(powercap);
        return false;
    }
    describe(meter, powercap);
    meter->state = powercap;
    return true;
}

static bool powercap_read(struct energy_meter *meter, struct energy_account *account)
{
    const struct powercap *powercap = meter->state;
    uint64_t now_uj[ENERGY_CHANNELS_MAX], range_uj[ENERGY_CHANNELS_MAX];
    for (int i = 0; i < powercap->count; i++) {
        range_uj[i] = powercap->zones[i].range_uj;
        if (!zone_counter(meter, powercap->zones[i].folder, &now_uj[i])) {
            return false;
        }
    }
    energy_account_counters(account, energy_meter_now_s(meter), now_uj, range_uj, powercap->count);
    return true;
}

const struct energy_meter_kind energy_meter_powercap = {
    .name = "powercap",
    .help = "the energy counters of the processor, and of the memory where it has them",
    .open = powercap_open,
    .read = powercap_read,
    .period_s = 1.0,
};
