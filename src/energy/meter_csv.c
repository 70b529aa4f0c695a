// SPDX-License-Identifier: Apache-2.0
// The log of a wall meter, which is written while the training runs, by another program, perhaps on
// another machine: a time and watts a line, with ',', ';' or tabs between. A heading tells the
// columns and the unit ("time;power (kW)"); without one they are the first and the second, in
// watts. Its clock may be off: csv:FILE@SECONDS says by how much it is ahead of this machine's.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "energy/meter_kind.h"
#include "energy/power_text.h"

enum { LINE_MAX_BYTES = 1024, COLUMNS_MAX = 32, INTERVALS = 32 };

struct csv {
    FILE *file;
    char path[PATH_MAX];
    double ahead_s;       // the meter's clock is
    double steady_less_s; // what UTC less this machine's steady clock is
    char separator;
    int time_column, power_column;
    double factor; // to watts
    bool headed;   // columns are known
    int64_t line;
    double last_s;               // of the latest line
    double intervals[INTERVALS]; // between lines, the latest ones
    int interval_count;
};

// ---- a line ------------------------------------------------------------------------------------

static char separator_of(const char *line)
{
    return strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ',';
}

// Cuts the line in place; how many columns it has.
static int split_line(char *line, char separator, char *columns[COLUMNS_MAX])
{
    int count = 0;
    for (char *at = line; at && count < COLUMNS_MAX;) {
        columns[count++] = at;
        char *next = strchr(at, separator);
        if (next) {
            *next = '\0';
            next++;
        }
        at = next;
    }
    return count;
}

static bool names_power(const char *heading)
{
    static const char *const words[] = {"power", "Power", "POWER", "watt", "Watt"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strstr(heading, words[i])) {
            return true;
        }
    }
    return energy_unit_of(heading) > 0.0;
}

static bool names_time(const char *heading)
{
    return strstr(heading, "ime") || strstr(heading, "TIME") || strstr(heading, "date") ||
           strstr(heading, "Date");
}

// A line without a number in the second column is a heading.
static bool read_heading(struct csv *csv, char *columns[], int count)
{
    double factor = 1.0;
    csv->time_column = -1;
    csv->power_column = -1;
    for (int i = 0; i < count; i++) {
        if (csv->time_column < 0 && names_time(columns[i])) {
            csv->time_column = i;
        } else if (csv->power_column < 0 && names_power(columns[i])) {
            csv->power_column = i;
            factor = energy_unit_of(columns[i]);
        }
    }
    csv->factor = factor > 0.0 ? factor : 1.0;
    csv->headed = csv->time_column >= 0 && csv->power_column >= 0;
    return csv->headed;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// Lines further apart than five times as usual are a gap.
static void note_interval(struct energy_meter *meter, struct csv *csv, double at_s)
{
    if (csv->interval_count > 0 || csv->last_s > 0.0) {
        double sorted[INTERVALS];
        csv->intervals[csv->interval_count++ % INTERVALS] = at_s - csv->last_s;
        int count = csv->interval_count < INTERVALS ? csv->interval_count : INTERVALS;
        memcpy(sorted, csv->intervals, (size_t)count * sizeof(*sorted));
        qsort(sorted, (size_t)count, sizeof(*sorted), by_size);
        meter->gap_most_s = 5.0 * sorted[(count - 1) / 2];
    }
    csv->last_s = at_s;
}

static bool fail_line(struct energy_meter *meter, const struct csv *csv)
{
    return energy_meter_fail(meter,
                             "%s:%lld: expected a time and watts, as 2026-01-31T12:00:00Z,85.3",
                             csv->path, (long long)csv->line);
}

static bool read_values(struct energy_meter *meter, struct csv *csv, char *columns[], int count,
                        struct energy_account *account)
{
    double utc_s, watts;
    if (csv->time_column >= count || csv->power_column >= count ||
        !energy_parse_time(columns[csv->time_column], &utc_s) ||
        !energy_parse_watts(columns[csv->power_column], &watts)) {
        return fail_line(meter, csv);
    }
    double at_s = utc_s - csv->ahead_s - csv->steady_less_s;
    note_interval(meter, csv, at_s);
    if (account) {
        account->gap_most_s = meter->gap_most_s;
        energy_account_watts(account, at_s, watts * csv->factor);
    }
    return true;
}

static bool read_one(struct energy_meter *meter, struct csv *csv, char *line,
                     struct energy_account *account)
{
    char *columns[COLUMNS_MAX];
    double ignored;
    line[strcspn(line, "\r\n")] = '\0';
    csv->line++;
    if (line[strspn(line, " \t")] == '\0' || *line == '#') {
        return true;
    }
    csv->separator = csv->separator ? csv->separator : separator_of(line);
    int count = split_line(line, csv->separator, columns);
    if (!csv->headed && count >= 2 && !energy_parse_time(columns[0], &ignored)) {
        return read_heading(csv, columns, count) || fail_line(meter, csv);
    }
    csv->headed = true;
    return read_values(meter, csv, columns, count, account);
}

// ---- the kind ----------------------------------------------------------------------------------

// "log.csv@-3600": the last @ with a number behind it.
static bool parse_argument(struct energy_meter *meter, const char *argument, struct csv *csv)
{
    const char *at = strrchr(argument, '@');
    int length = (int)strlen(argument);
    if (at && base_parse_real(at + 1, &csv->ahead_s) == 0) {
        length = (int)(at - argument);
    }
    int written = snprintf(csv->path, sizeof(csv->path), "%.*s", length, argument);
    return (written > 0 && (size_t)written < sizeof(csv->path)) ||
           energy_meter_fail(meter, "%s: no file name", argument);
}

static bool csv_open(struct energy_meter *meter, const char *argument)
{
    struct csv *csv = calloc(1, sizeof(*csv));
    if (!csv) {
        return energy_meter_fail(meter, "no memory");
    }
    csv->factor = 1.0;
    csv->power_column = 1;
    const struct energy_world *world = &meter->world;
    csv->steady_less_s = world->utc_s(world->context) - world->clock_s(world->context);
    if (!parse_argument(meter, argument, csv)) {
        free(csv);
        return false;
    }
    csv->file = fopen(csv->path, "re");
    if (!csv->file) {
        energy_meter_fail(meter, "%s: %s", csv->path, strerror(errno));
        free(csv);
        return false;
    }
    snprintf(meter->what, sizeof(meter->what), "%.200s", csv->path);
    meter->scope = ENERGY_WALL;
    meter->is_watts = true;
    meter->gap_most_s = 10.0; // until lines say how often they come
    meter->state = csv;
    return true;
}

// Lines that are not written to their end yet are read again the next time.
static bool csv_read(struct energy_meter *meter, struct energy_account *account)
{
    struct csv *csv = meter->state;
    char line[LINE_MAX_BYTES];
    clearerr(csv->file);
    for (;;) {
        long begin = ftell(csv->file);
        if (!fgets(line, sizeof(line), csv->file)) {
            return !ferror(csv->file) ||
                   energy_meter_fail(meter, "%s: %s", csv->path, strerror(errno));
        }
        if (!strchr(line, '\n')) {
            if (strlen(line) == sizeof(line) - 1) {
                return fail_line(meter, csv);
            }
            return fseek(csv->file, begin, SEEK_SET) == 0;
        }
        if (!read_one(meter, csv, line, account)) {
            return false;
        }
    }
}

static void csv_close(struct energy_meter *meter)
{
    struct csv *csv = meter->state;
    fclose(csv->file);
    free(csv);
}

const struct energy_meter_kind energy_meter_csv = {
    .name = "csv",
    .help = "the log of a wall meter, as csv:FILE; csv:FILE@SECONDS: its clock is ahead by so much",
    .needs_argument = true,
    .open = csv_open,
    .read = csv_read,
    .close = csv_close,
    .period_s = 1.0,
};
