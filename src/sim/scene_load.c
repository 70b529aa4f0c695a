// SPDX-License-Identifier: Apache-2.0
// --interfere for virtual nodes.
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"
#include "sim/scene.h"

static const double slowdown_most = 1e6;

// What is before `mark` stays in `text`; what is behind it is returned. NULL: there is no such
// mark.
static char *cut(char *text, char mark)
{
    char *at = text ? strchr(text, mark) : NULL;
    if (at != NULL) {
        *at++ = '\0';
    }
    return at;
}

// Removes `end` from the end of the text; false: it is not there.
static bool cut_end(char *text, char end)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != end) {
        return false;
    }
    text[length - 1] = '\0';
    return true;
}

static bool read_strength(char *text, double *slowdown)
{
    double value;
    if (strncmp(text, "busy*", 5) == 0 || strncmp(text, "gzip*", 5) == 0) {
        if (base_parse_real(text + 5, &value) != 0 || value < 0.0) {
            return false;
        }
        *slowdown = 1.0 + value;
    } else if (cut_end(text, '%')) {
        if (base_parse_real(text, &value) != 0 || value < 0.0 || value > 99.9) {
            return false;
        }
        *slowdown = 100.0 / (100.0 - value);
    } else if (!cut_end(text, 'x') || base_parse_real(text, slowdown) != 0) {
        return false;
    }
    return *slowdown >= 1.0 && *slowdown <= slowdown_most;
}

static bool read_steps(const char *from, const char *to, struct sim_load *load)
{
    load->to = INT64_MAX;
    return base_parse_int64(from, &load->from) == 0 && load->from >= 1 &&
           (*to == '\0' || base_parse_int64(to, &load->to) == 0) && load->to >= load->from;
}

static bool matches(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*') {
        return strncmp(name, pattern, length - 1) == 0;
    }
    return strcmp(name, pattern) == 0;
}

static enum stn_status add_to(struct sim_scene *scene, const char *pattern, struct sim_load *load)
{
    bool found = false;
    enum stn_status status = STN_OK;
    for (int i = 0; i < scene->count && status == STN_OK; i++) {
        if (matches(scene->nodes[i].name, pattern)) {
            load->node = i;
            found = true;
            status = sim_scene_add_load(scene, load);
        }
    }
    if (!found) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "interfere: there is no node '%.80s'; the first is %s",
                        pattern, scene->nodes[0].name);
    }
    return status;
}

// `item` is cut to pieces; `whole` is the same, for messages.
static enum stn_status read_item(struct sim_scene *scene, char *item, const char *whole)
{
    size_t length = strcspn(whole, ",");
    int shown = length < 80 ? (int)length : 80;
    char *from = cut(item, '@'), *strength = cut(from, ':'), *to = cut(from, '-');
    struct sim_load load = {.shape = SIM_LOAD_STEADY};
    if (strength == NULL || to == NULL || *item == '\0') {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': expected NODE@FROM-TO:LOAD, as csd.0@20-40:50%%",
                        shown, whole);
    }
    if (!read_steps(from, to, &load)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': %.20s-%.20s are no steps; they count from 1, the "
                        "first one first",
                        shown, whole, from, to);
    }
    if (!read_strength(strength, &load.slowdown)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "interfere '%.*s': a load is 75%% (below 100), 4x (1 or more) or busy*3",
                        shown, whole);
    }
    return add_to(scene, item, &load);
}

enum stn_status sim_scene_interfere(struct sim_scene *scene, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    if (copy == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "interfere: no memory");
    }
    enum stn_status status = STN_OK;
    for (char *item; status == STN_OK && (item = strsep(&rest, ",")) != NULL;) {
        status = read_item(scene, item, text + (item - copy));
    }
    free(copy);
    return status;
}
