// SPDX-License-Identifier: Apache-2.0
#include "energy/power_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const struct {
    const char *word;
    double factor;
} units[] = {{"uW", 1e-6}, {"µW", 1e-6},   {"mW", 1e-3},         {"W", 1.0},
             {"kW", 1e3},  {"watts", 1.0}, {"milliwatts", 1e-3}, {"watt", 1.0}};
enum { UNITS = sizeof(units) / sizeof(*units) };

// Whole words alone: the W of "When" is none, that of "power_W" is.
double energy_unit_of(const char *text)
{
    for (int i = 0; i < UNITS; i++) {
        size_t length = strlen(units[i].word);
        for (const char *at = text; (at = strstr(at, units[i].word)); at++) {
            bool begins = at == text || !is_letter(at[-1]);
            if (begins && !is_letter(at[length])) {
                return units[i].factor;
            }
        }
    }
    return 0.0;
}

// A number with a point or a comma; where it ends. NULL: none.
static const char *parse_number(const char *text, double *out)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", text);
    char *comma = strchr(copy, ',');
    if (comma) {
        *comma = '.';
    }
    char *end;
    *out = strtod(copy, &end);
    bool hex = strpbrk(copy, "xXnN") && strpbrk(copy, "xXnN") < end; // 0x10, nan, inf
    return end == copy || hex || !isfinite(*out) ? NULL : text + (end - copy);
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\"");
}

bool energy_parse_watts(const char *text, double *out)
{
    double factor = 1.0;
    const char *end = parse_number(skip_blanks(text), out);
    if (!end) {
        return false;
    }
    end = skip_blanks(end);
    if (*end != '\0') {
        factor = energy_unit_of(end);
        end += strspn(end, "uµmkWwatsil");
        end = skip_blanks(end);
    }
    *out *= factor;
    return factor > 0.0 && *end == '\0' && *out >= 0.0;
}

// ---- times -------------------------------------------------------------------------------------

// "Z", "+01:00", "-0530" or nothing.
static bool parse_zone(const char *text, double *seconds)
{
    int hours = 0, minutes = 0, length = 0;
    *seconds = 0.0;
    text = skip_blanks(text);
    if (*text == '\0' || strcmp(text, "Z") == 0) {
        return true;
    }
    double sign = *text == '-' ? -1.0 : 1.0;
    if (*text != '+' && *text != '-') {
        return false;
    }
    if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &length) != 2 &&
        sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &length) != 2) {
        return false;
    }
    *seconds = sign * (3600.0 * hours + 60.0 * minutes);
    return text[1 + length] == '\0' && hours < 24 && minutes < 60;
}

static bool parse_date(const char *text, double *out)
{
    struct tm date = {0};
    int length = 0;
    char between;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &date.tm_year, &date.tm_mon, &date.tm_mday,
               &between, &date.tm_hour, &date.tm_min, &date.tm_sec, &length) != 7 ||
        (between != ' ' && between != 'T') || date.tm_mon < 1 || date.tm_mon > 12) {
        return false;
    }
    const char *rest = text + length;
    double part = 0.0, zone_s;
    if (*rest == '.') {
        char *end;
        part = strtod(rest, &end);
        rest = end;
    }
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    if (!parse_zone(rest, &zone_s)) {
        return false;
    }
    *out = (double)timegm(&date) + part - zone_s;
    return true;
}

bool energy_parse_time(const char *text, double *out)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", skip_blanks(text));
    copy[strcspn(copy, "\"\r\n")] = '\0';
    size_t length = strlen(copy);
    while (length > 0 && copy[length - 1] == ' ') {
        copy[--length] = '\0';
    }
    if (parse_date(copy, out)) {
        return true;
    }
    const char *end = parse_number(copy, out);
    if (!end || *end != '\0' || *out < 0.0) {
        return false;
    }
    *out *= *out > 1e11 ? 1e-3 : 1.0; // milliseconds: as seconds it would be the year 5138
    return true;
}
