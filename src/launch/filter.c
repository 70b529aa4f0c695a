// SPDX-License-Identifier: Apache-2.0
#include "launch/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DASHES_MIN = 60, PID_DIGITS_MIN = 5 };
static const char error_mark[] = "stannis: error: ";

// How mpirun's lines outside of its banners begin. '#' stands for a number.
static const char *const beginnings[] = {
    "mpirun: Forwarding signal ", "mpirun: killing job", "mpirun: abort is already",
    "mpirun: clean termination",  "# total process",
};

enum verdict { OF_NODE, UNDECIDED, OF_NOTICE, OF_BANNER };

// ---- what a text is ----------------------------------------------------------------------------

static enum verdict judge_dashes(const char *text, size_t length)
{
    size_t dashes = 0;
    while (dashes < length && text[dashes] == '-') {
        dashes++;
    }
    if (dashes == length) {
        return UNDECIDED;
    }
    return dashes >= DASHES_MIN && text[dashes] == '\n' ? OF_BANNER : OF_NODE;
}

// Whether a text begins with "[HOST:PID] " or "[HOST][[JOB,1],RANK]", by which Open MPI marks its
// own lines. It writes process ids with at least five digits.
static enum verdict judge_bracket(const char *text, size_t length)
{
    size_t i = 1, digits = 0;
    while (i < length && (isalnum((unsigned char)text[i]) || strchr("-._", text[i]))) {
        i++;
    }
    if (i == length) {
        return UNDECIDED;
    }
    if (text[i] == ']') {
        static const char job[] = "][[";
        size_t left = length - i, known = left < strlen(job) ? left : strlen(job);
        enum verdict like_job = left < strlen(job) ? UNDECIDED : OF_NOTICE;
        return strncmp(text + i, job, known) == 0 ? like_job : OF_NODE;
    }
    if (text[i++] != ':') {
        return OF_NODE;
    }
    for (; i < length && isdigit((unsigned char)text[i]); i++) {
        digits++;
    }
    if (i == length) {
        return UNDECIDED;
    }
    return text[i] == ']' && digits >= PID_DIGITS_MIN ? OF_NOTICE : OF_NODE;
}

static enum verdict judge_beginning(const char *text, size_t length, const char *beginning)
{
    size_t i = 0;
    for (; i < length && *beginning; beginning++) {
        if (*beginning == '#') {
            size_t first = i;
            while (i < length && isdigit((unsigned char)text[i])) {
                i++;
            }
            if (i == first) {
                return OF_NODE;
            }
        } else if (text[i++] != *beginning) {
            return OF_NODE;
        }
    }
    return *beginning ? UNDECIDED : OF_NOTICE;
}

static enum verdict judge(const char *text, size_t length)
{
    if (*text == '-') {
        return judge_dashes(text, length);
    }
    if (*text == '[') {
        return judge_bracket(text, length);
    }
    enum verdict verdict = OF_NODE;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        enum verdict one = judge_beginning(text, length, beginnings[i]);
        verdict = one > verdict ? one : verdict;
    }
    return verdict;
}

// ---- the stream --------------------------------------------------------------------------------

static void pass(struct launch_filter *filter, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes && !filter->node_failed; i++) {
        bool next = data[i] == error_mark[filter->error_matched];
        filter->error_matched = next ? filter->error_matched + 1 : data[i] == error_mark[0];
        filter->node_failed = filter->error_matched == strlen(error_mark);
    }
    if (bytes > 0) {
        filter->last = data[bytes - 1];
        filter->pass(filter->context, data, bytes);
    }
}

static void pass_held(struct launch_filter *filter, size_t bytes)
{
    pass(filter, filter->held, bytes);
    filter->held_bytes -= bytes;
    memmove(filter->held, filter->held + bytes, filter->held_bytes);
}

static void note(struct launch_filter *filter, const char *data, size_t bytes)
{
    size_t room = sizeof(filter->said) - 1 - filter->said_bytes;
    bytes = bytes < room ? bytes : room;
    memcpy(filter->said + filter->said_bytes, data, bytes);
    filter->said_bytes += bytes;
    filter->said[filter->said_bytes] = '\0';
}

static void note_held(struct launch_filter *filter)
{
    note(filter, filter->held, filter->held_bytes);
    filter->held_bytes = 0;
}

static void feed_node(struct launch_filter *filter, char c)
{
    filter->held[filter->held_bytes++] = c;
    while (filter->held_bytes > 0) {
        bool escape =
            filter->last == '\033'; // then a bracket belongs to a control sequence of the terminal
        enum verdict verdict = escape ? OF_NODE : judge(filter->held, filter->held_bytes);
        if (verdict == OF_NODE ||
            (verdict == UNDECIDED && filter->held_bytes == sizeof(filter->held))) {
            pass_held(filter, 1);
            continue;
        }
        if (verdict == OF_NOTICE) {
            note_held(filter);
            filter->state = LAUNCH_FILTER_NOTICE;
        } else if (verdict == OF_BANNER) {
            filter->held_bytes = 0;
            filter->state = LAUNCH_FILTER_BANNER;
        }
        return;
    }
}

static void feed_notice(struct launch_filter *filter, char c)
{
    note(filter, &c, 1);
    if (c == '\n') {
        note(filter, "\f", 1);
        filter->state = LAUNCH_FILTER_NODE;
    }
}

// Takes a byte of a banner, which ends with its second line of dashes. Form feeds part its texts.
static void feed_banner(struct launch_filter *filter, char c)
{
    filter->held[filter->held_bytes++] = c;
    if (c == '\n' && judge_dashes(filter->held, filter->held_bytes) == OF_BANNER) {
        filter->held_bytes = 0;
        note(filter, "\f", 1);
        filter->state = LAUNCH_FILTER_NODE;
    } else if (c == '\n' || filter->held_bytes == sizeof(filter->held)) {
        note_held(filter);
    }
}

void launch_filter_feed(struct launch_filter *filter, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        switch (filter->state) {
        case LAUNCH_FILTER_NODE: feed_node(filter, data[i]); break;
        case LAUNCH_FILTER_NOTICE: feed_notice(filter, data[i]); break;
        case LAUNCH_FILTER_BANNER: feed_banner(filter, data[i]); break;
        }
    }
}

void launch_filter_settle(struct launch_filter *filter)
{
    if (filter->state == LAUNCH_FILTER_NODE) {
        pass_held(filter, filter->held_bytes);
    }
}

// ---- what mpirun said --------------------------------------------------------------------------

bool launch_filter_death(const struct launch_filter *filter, int *rank, int *signal_number)
{
    const char *notice = strstr(filter->said, "noticed that process rank ");
    const char *end = notice ? strstr(notice, "exited on signal ") : NULL;
    return end && sscanf(notice, "noticed that process rank %d", rank) == 1 &&
           sscanf(end, "exited on signal %d", signal_number) == 1;
}

bool launch_filter_exit(const struct launch_filter *filter, int *rank)
{
    const char *name = strstr(filter->said, "Process name: [[");
    return name && sscanf(name, "Process name: [[%*d,%*d],%d", rank) == 1;
}

bool launch_filter_host(const struct launch_filter *filter, char *host, size_t size)
{
    static const char mark[] = " on node ";
    const char *notice = strstr(filter->said, "lost communication with a remote daemon");
    const char *daemon = notice ? strstr(notice, "Remote daemon: ") : NULL;
    const char *name = daemon ? strstr(daemon, mark) : NULL;
    if (!name) {
        return false;
    }
    name += strlen(mark);
    size_t length = strcspn(name, " \n\f");
    snprintf(host, size, "%.*s", (int)length, name);
    return length > 0;
}

bool launch_filter_reason(const struct launch_filter *filter, char *line, size_t size)
{
    static const char *const idle[] = {"Primary job ", "mpirun: Forwarding ", "mpirun detected "};
    const char *text = filter->said;
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]);) {
        if (strncmp(text, idle[i], strlen(idle[i])) != 0) {
            i++;
            continue;
        }
        text += strcspn(text, "\f");
        text += *text == '\f';
        i = 0;
    }
    size_t used = 0;
    for (; *text && *text != '\f' && used + 1 < size; text++) {
        bool space = isspace((unsigned char)*text);
        if (!space) {
            line[used++] = *text;
        } else if (used > 0 && line[used - 1] != ' ') {
            line[used++] = ' ';
        }
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    line[used] = '\0';
    return used > 0;
}
