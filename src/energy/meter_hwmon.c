// SPDX-License-Identifier: Apache-2.0
// Power sensors of the board, as Linux shows them in /sys/class/hwmon: a chip with some inputs, of
// watts (power1_input, in microwatts) or of joules (energy1_input, in microjoules). Which of them
// add up to what is known for the chips of the table below; of others, and of boards with several
// rails that may hold one another, the user says which one counts.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/meter_kind.h"

#define FOLDER "/sys/class/hwmon"

enum { CHIPS_MAX = 64, INPUTS_MAX = 256 };

static const struct chip {
    const char *name, *prefix, *suffix; // files that count: PREFIX…SUFFIX
    const char *label;                  // which begin with this, by their *_label; NULL: all
    enum energy_scope scope;
    bool is_sum; // several of them add up; else there must be one
} chips[] = {
    {"amd_energy", "energy", "_input", "Esocket", ENERGY_CPU, true},
    {"fam15h_power", "power", "_input", NULL, ENERGY_CPU, true},
    {"xgene", "power", "_input", "CPU power", ENERGY_CPU, true},
    {"power_meter", "power", "_average", NULL, ENERGY_WALL, false},
    {"ina209", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina219", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina220", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina226", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina230", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina231", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina238", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ina260", "power", "_input", NULL, ENERGY_BOARD, false},
    {"ltc2945", "power", "_input", NULL, ENERGY_BOARD, false},
};
enum { CHIPS = sizeof(chips) / sizeof(*chips) };

struct input {
    char path[PATH_MAX];
};

struct hwmon {
    struct input inputs[ENERGY_CHANNELS_MAX];
    int count;
    bool counts; // joules
};

struct found {
    const struct chip *chip;
    char folder[ENERGY_NAME_MAX], name[48];
};

// ---- which inputs ------------------------------------------------------------------------------

static const struct chip *chip_of(const char *name)
{
    for (int i = 0; i < CHIPS; i++) {
        if (strcmp(chips[i].name, name) == 0) {
            return &chips[i];
        }
    }
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Whether the input's label begins as the chip's table says.
static bool is_labelled(struct energy_meter *meter, const struct found *found, const char *file)
{
    char path[PATH_MAX], label[64];
    size_t stem = strlen(file) - strlen(found->chip->suffix);
    return !found->chip->label ||
           (energy_meter_path(meter, path, FOLDER "/%s/%.*s_label", found->folder, (int)stem,
                              file) &&
            energy_read_line(path, label, sizeof(label)) &&
            strncmp(label, found->chip->label, strlen(found->chip->label)) == 0);
}

static bool add_input(struct energy_meter *meter, const struct found *found, const char *file,
                      struct hwmon *hwmon)
{
    uint64_t value;
    if (hwmon->count == ENERGY_CHANNELS_MAX) {
        return energy_meter_fail(meter, "%s: more than %d inputs", found->name,
                                 ENERGY_CHANNELS_MAX);
    }
    struct input *input = &hwmon->inputs[hwmon->count];
    if (!energy_meter_path(meter, input->path, FOLDER "/%s/%s", found->folder, file)) {
        return false;
    }
    if (!energy_read_count(input->path, &value)) {
        return energy_meter_fail(meter, "%s: %s", input->path,
                                 errno == EACCES ? "may not be read; permit it with sudo chmod a+r"
                                 : errno == EILSEQ ? "no number"
                                                   : strerror(errno));
    }
    hwmon->count++;
    return true;
}

static bool add_inputs(struct energy_meter *meter, const struct found *found, struct hwmon *hwmon)
{
    char path[PATH_MAX], (*files)[ENERGY_NAME_MAX] = calloc(INPUTS_MAX, sizeof(*files));
    const struct chip *chip = found->chip;
    bool ok = files && energy_meter_path(meter, path, FOLDER "/%s", found->folder);
    int count = ok ? energy_list_folder(path, chip->prefix, files, INPUTS_MAX) : 0;
    hwmon->counts = strcmp(chip->prefix, "energy") == 0;
    for (int i = 0; i < count && ok; i++) {
        if (ends_with(files[i], chip->suffix) && is_labelled(meter, found, files[i])) {
            ok = add_input(meter, found, files[i], hwmon);
        }
    }
    free(files);
    if (!ok || hwmon->count == 0) {
        return ok ? energy_meter_fail(meter, "chip %s has no power input", found->name) : false;
    }
    return chip->is_sum || hwmon->count == 1 ||
           energy_meter_fail(meter,
                             "chip %s has %d inputs, of which one may hold others: not added up",
                             found->name, hwmon->count);
}

// ---- which chip --------------------------------------------------------------------------------

// Chips whose inputs are known; with a wish, that one, known or not.
static int find_chips(struct energy_meter *meter, const char *wanted, struct found out[])
{
    static const struct chip unknown = {NULL, "power", "_input", NULL, ENERGY_BOARD, false};
    char path[PATH_MAX], folders[CHIPS_MAX][ENERGY_NAME_MAX];
    int count = 0;
    if (!energy_meter_path(meter, path, FOLDER)) {
        return 0;
    }
    int listed = energy_list_folder(path, "hwmon", folders, CHIPS_MAX);
    for (int i = 0; i < listed; i++) {
        struct found *found = &out[count];
        if (!energy_meter_path(meter, path, FOLDER "/%s/name", folders[i]) ||
            !energy_read_line(path, found->name, sizeof(found->name))) {
            continue;
        }
        memcpy(found->folder, folders[i], sizeof(found->folder));
        found->chip = chip_of(found->name);
        bool is_wanted =
            wanted && (strcmp(wanted, found->name) == 0 || strcmp(wanted, found->folder) == 0);
        found->chip = found->chip ? found->chip : is_wanted ? &unknown : NULL;
        count += found->chip && (!wanted || is_wanted);
    }
    return count;
}

static bool choose(struct energy_meter *meter, const char *wanted, struct hwmon *hwmon)
{
    struct found found[CHIPS_MAX];
    int count = find_chips(meter, wanted, found);
    if (count == 0 && wanted) {
        return energy_meter_fail(meter, "no chip %s in " FOLDER, wanted);
    }
    if (count == 0) {
        return energy_meter_fail(meter,
                                 "no chip in " FOLDER " is known to measure the whole board or "
                                 "processor; name one with hwmon:CHIP");
    }
    if (count > 1) {
        return energy_meter_fail(meter,
                                 "%d chips measure power (%s in %s, %s in %s, …), of which one "
                                 "may hold others: name one with hwmon:%s",
                                 count, found[0].name, found[0].folder, found[1].name,
                                 found[1].folder, found[0].folder);
    }
    meter->scope = found[0].chip->scope;
    snprintf(meter->what, sizeof(meter->what), "%s (%s)", found[0].name, found[0].folder);
    return add_inputs(meter, &found[0], hwmon);
}

// ---- the kind ----------------------------------------------------------------------------------

static bool hwmon_open(struct energy_meter *meter, const char *argument)
{
    struct hwmon *hwmon = calloc(1, sizeof(*hwmon));
    if (!hwmon) {
        return energy_meter_fail(meter, "no memory");
    }
    if (!choose(meter, argument, hwmon)) {
        free(hwmon);
        return false;
    }
    meter->state = hwmon;
    meter->is_watts = !hwmon->counts;
    meter->gap_most_s = 2.0;
    return true;
}

static bool hwmon_read(struct energy_meter *meter, struct energy_account *account)
{
    const struct hwmon *hwmon = meter->state;
    uint64_t now[ENERGY_CHANNELS_MAX], range[ENERGY_CHANNELS_MAX];
    double watts = 0.0;
    for (int i = 0; i < hwmon->count; i++) {
        if (!energy_read_count(hwmon->inputs[i].path, &now[i])) {
            return energy_meter_fail(meter, "%s: %s", hwmon->inputs[i].path,
                                     errno == EILSEQ ? "no number" : strerror(errno));
        }
        range[i] = UINT64_MAX; // the driver adds up in 64 bits
        watts += 1e-6 * (double)now[i];
    }
    if (hwmon->counts) {
        energy_account_counters(account, energy_meter_now_s(meter), now, range, hwmon->count);
    } else {
        energy_account_watts(account, energy_meter_now_s(meter), watts);
    }
    return true;
}

const struct energy_meter_kind energy_meter_hwmon = {
    .name = "hwmon",
    .help = "power sensors of the board; hwmon:CHIP where there are several",
    .open = hwmon_open,
    .read = hwmon_read,
    .period_s = 0.1,
};
