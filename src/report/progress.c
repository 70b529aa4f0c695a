// SPDX-License-Identifier: Apache-2.0
#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/bar.h"
#include "report/change.h"
#include "report/format.h"
#include "report/nodes.h"
#include "report/plan.h"
#include "report/rows.h"

enum { DEFAULT_COLUMNS = 80, DEFAULT_LINES = 24, LINE_BYTES = 1024, INCIDENTS_SHOWN = 8 };
static const double redraw_seconds = 0.1, plain_seconds = 10, plain_seconds_min = 1;

// A mean that forgets: recent steps count most, and the first ones are not pulled to zero.
struct smooth {
    double sum, weight;
};

struct report_progress {
    struct report_progress_options options;
    struct smooth loss, accuracy, images, seconds;
    int epochs, micro_batch;
    int eval_percent;
    bool header_shown;
    double shown_at; // elapsed seconds when a line was last shown
    int shown_tenth; // of the epoch, PLAIN
    int shown_epoch;
    atomic_int lines_drawn; // the moving line and the rows below it that are on the screen
    struct report_crew crew;
    struct report_incident incidents[INCIDENTS_SHOWN]; // those that cost most
    int incident_count;                                // of all
    char screen[(REPORT_ROWS_MAX + 2) * REPORT_ROW_BYTES];
};

static void smooth_add(struct smooth *s, double value)
{
    const double keep = 0.95;
    if (isfinite(value)) {
        s->sum = keep * s->sum + (1 - keep) * value;
        s->weight = keep * s->weight + (1 - keep);
    }
}

static double smooth_value(const struct smooth *s)
{
    return s->weight > 0 ? s->sum / s->weight : NAN;
}

// ---- the stream --------------------------------------------------------------------------------

static bool environment_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && *value) {
            return strcmp(value, "C") != 0 && strcmp(value, "POSIX") != 0;
        }
    }
    return true;
}

struct report_progress_options report_progress_detect(FILE *stream)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    // A node's stream is a pipe to the launcher, which tells what terminal is behind it.
    const char *launcher = getenv("STANNIS_TERMINAL");
    int columns = 0, lines = 0;
    bool passed_on = launcher && sscanf(launcher, "%dx%d", &columns, &lines) == 2;
    bool terminal = (isatty(fileno(stream)) || passed_on) && term && strcmp(term, "dumb") != 0;
    return (struct report_progress_options){
        .stream = stream,
        .style = terminal ? REPORT_TERMINAL : REPORT_PLAIN,
        .colour = terminal && !(no_colour && *no_colour),
        .utf8 = environment_is_utf8(),
        .columns = columns,
        .lines = lines,
    };
}

struct size {
    int columns, lines;
};

static struct size size_of(const struct report_progress *progress)
{
    struct winsize window = {0};
    const struct report_progress_options *options = &progress->options;
    if (options->columns <= 0 || options->lines <= 0) {
        ioctl(fileno(options->stream), TIOCGWINSZ, &window);
    }
    return (struct size){.columns = options->columns > 0 ? options->columns
                                    : window.ws_col > 0  ? window.ws_col
                                                         : DEFAULT_COLUMNS,
                         .lines = options->lines > 0  ? options->lines
                                  : window.ws_row > 0 ? window.ws_row
                                                      : DEFAULT_LINES};
}

// A line that stays. One write, so that other writers do not get in between.
__attribute__((format(printf, 2, 3))) static void say(struct report_progress *progress,
                                                      const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    report_progress_clear(progress);
    fprintf(progress->options.stream, "%s\n", line);
    fflush(progress->options.stream);
}

// The moving line and a row a node below it, over what was drawn before. The last column stays
// free: writing there makes some terminals wrap. One write, as in say().
static void draw(struct report_progress *progress, const struct report_bar *bar)
{
    struct size size = size_of(progress);
    struct report_writer w = {progress->screen, sizeof(progress->screen), 0};
    struct report_rows rows = report_rows_plan(&progress->crew, size.columns - 1, size.lines - 2,
                                               progress->options.colour, progress->options.utf8);
    char line[LINE_BYTES];
    int above = atomic_load(&progress->lines_drawn) - 1;
    report_bar_render(bar, size.columns - 1, line, sizeof(line));
    report_put(&w, "\r");
    if (above > 0) {
        report_put(&w, "\033[%dA", above);
    }
    report_put(&w, "%s\033[K", line);
    for (int i = 0; i < rows.lines; i++) {
        report_rows_line(&rows, i, line);
        report_put(&w, "\n%s\033[K", line);
    }
    if (above > rows.lines) {
        report_put(&w, "\033[J");
    }
    fputs(progress->screen, progress->options.stream);
    fflush(progress->options.stream);
    atomic_store(&progress->lines_drawn, 1 + rows.lines);
}

void report_progress_clear(struct report_progress *progress)
{
    int lines = atomic_exchange(&progress->lines_drawn, 0);
    if (lines > 1) {
        fprintf(progress->options.stream, "\r\033[%dA\033[J", lines - 1);
    } else if (lines == 1) {
        fputs("\r\033[K", progress->options.stream);
    }
    if (lines > 0) {
        fflush(progress->options.stream);
    }
}

// ---- measuring ---------------------------------------------------------------------------------

static int nodes_done(const struct stn_tune_progress *tuning)
{
    int done = 0;
    for (int i = 0; i < tuning->nodes; i++) {
        done += tuning->node[i].done;
    }
    return done;
}

static void on_tuning(void *context, const struct stn_tune_progress *tuning)
{
    struct report_progress *progress = context;
    for (int i = 0; i < tuning->nodes; i++) {
        const struct stn_tune_node *n = &tuning->node[i];
        struct report_text fixed, each;
        if (n->news) {
            say(progress, "measured  %s: %s a step and %s for %d images, %d samples%s", n->name,
                report_seconds(&fixed, n->fixed_seconds), report_seconds(&each, n->each_seconds),
                tuning->micro_batch, n->samples, n->sure ? "" : ", unsure");
        }
    }
    int done = nodes_done(tuning);
    if (progress->options.style == REPORT_PLAIN || done == tuning->nodes) {
        return;
    }
    char nodes[48];
    snprintf(nodes, sizeof(nodes), "%d of %d nodes%s", done, tuning->nodes,
             tuning->in_turn ? ", in turn" : "");
    draw(progress, &(struct report_bar){.title = "measuring",
                                        .share = (double)done / tuning->nodes,
                                        .fields = {nodes},
                                        .field_count = 1,
                                        .colour = progress->options.colour,
                                        .utf8 = progress->options.utf8});
}

static void say_line(void *context, const char *line)
{
    say(context, "%s", line);
}

static void on_tuned(void *context, const struct stn_plan *plan)
{
    report_plan_print(plan, say_line, context);
}

// ---- the start ---------------------------------------------------------------------------------

static void say_label(struct report_progress *progress, const char *label, const char *text)
{
    bool colour = progress->options.colour;
    say(progress, "%s%-9s%s %s", colour ? "\033[2m" : "", label, colour ? "\033[0m" : "", text);
}

static void say_threads(struct report_progress *progress, const struct stn_train_start *start)
{
    char text[160], quota[32] = "none";
    if (start->cpu_quota > 0) {
        snprintf(quota, sizeof(quota), "%.2f", start->cpu_quota);
    }
    snprintf(text, sizeof(text), "%d thread%s (affinity %d, cgroup quota %s), %d for loading",
             start->threads, start->threads == 1 ? "" : "s", start->cpu_affinity, quota,
             start->loader_threads);
    say_label(progress, "cpu", text);
}

// "host 1.00 CPUs → 4, csd.0 0.25 → 1, …": as many as fit, then how many more.
static void say_nodes(struct report_progress *progress, const struct stn_train_start *start)
{
    char text[200];
    size_t used = 0;
    int shown = 0;
    while (shown < start->nodes && used < sizeof(text) - 80) {
        const struct stn_train_node *n = &start->node[shown++];
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.24s %.2f CPUs: %d",
                                 used ? ", " : "", n->name, n->cpus, n->micro_batches);
    }
    int more = start->nodes - shown;
    if (more > 0) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, ", and %d more", more);
    }
    snprintf(text + used, sizeof(text) - used, " micro-batches a step");
    say_label(progress, "nodes", text);
    if (start->private_samples > 0) {
        struct report_text count;
        snprintf(text, sizeof(text), "%s more training images that stay on their nodes",
                 report_count(&count, start->private_samples));
        say_label(progress, "private", text);
    }
}

static void on_start(void *context, const struct stn_train_start *start)
{
    struct report_progress *progress = context;
    const struct stn_dataset_info *data = start->data;
    struct report_text a, b, c;
    char text[320];
    report_crew_start(&progress->crew, start); // without memory there are no rows
    progress->epochs = start->epochs;
    progress->micro_batch = start->micro_batch;
    snprintf(text, sizeof(text), "%s, %s parameters, %s MACs an image", start->net,
             report_count(&a, start->parameters), report_magnitude(&b, (double)start->macs));
    say_label(progress, "net", text);
    snprintf(text, sizeof(text), "%s, %s training and %s validation images, %d classes, %d×%d×%d",
             data->kind, report_count(&a, data->count[STN_SUBSET_TRAIN]),
             report_count(&b, data->count[STN_SUBSET_VAL]), data->classes, data->image_size,
             data->image_size, data->channels);
    say_label(progress, "data", text);
    snprintf(text, sizeof(text),
             "%d epoch%s, %s steps of %d images (micro-batches of %d), seed %" PRIu64,
             start->epochs, start->epochs == 1 ? "" : "s", report_count(&a, start->steps_total),
             start->batch, start->micro_batch, start->seed);
    say_label(progress, "run", text);
    if (start->nodes > 1) {
        say_nodes(progress, start);
    } else {
        say_threads(progress, start);
    }
    snprintf(text, sizeof(text), "%s, %s planned", start->backend_version,
             report_bytes(&c, start->planned_bytes));
    say_label(progress, "engine", text);
    if (start->first_step > 0) {
        snprintf(text, sizeof(text), "after step %s", report_count(&a, start->first_step));
        say_label(progress, "resumed", text);
    }
}

// ---- steps -------------------------------------------------------------------------------------

static bool is_due(struct report_progress *progress, const struct stn_train_step *step,
                   double share)
{
    double since = step->elapsed_seconds - progress->shown_at;
    if (progress->options.style == REPORT_TERMINAL) {
        bool epoch_ends = step->epoch_position >= step->epoch_samples;
        return since >= redraw_seconds || step->epoch != progress->shown_epoch || epoch_ends;
    }
    int tenth = (int)(share * 10);
    bool moved = tenth != progress->shown_tenth || step->epoch != progress->shown_epoch;
    return since >= plain_seconds || (moved && since >= plain_seconds_min);
}

static void on_step(void *context, const struct stn_train_step *step)
{
    struct report_progress *progress = context;
    smooth_add(&progress->loss, step->loss);
    smooth_add(&progress->accuracy, step->accuracy);
    smooth_add(&progress->images, step->images);
    smooth_add(&progress->seconds, step->seconds);
    report_crew_step(&progress->crew, step);
    progress->eval_percent = -1;
    double share =
        step->epoch_samples > 0 ? (double)step->epoch_position / (double)step->epoch_samples : 1;
    if (!is_due(progress, step, share)) {
        return;
    }
    progress->shown_at = step->elapsed_seconds;
    progress->shown_tenth = (int)(share * 10);
    progress->shown_epoch = step->epoch;

    struct report_text number;
    char title[48], percent[16], loss[32], accuracy[48], speed[48], eta[48];
    double per_second = smooth_value(&progress->images) / smooth_value(&progress->seconds);
    snprintf(title, sizeof(title), "epoch %d/%d", step->epoch, progress->epochs);
    snprintf(percent, sizeof(percent), "%3.0f %%", floor(100 * share));
    snprintf(loss, sizeof(loss), "loss %.4f", smooth_value(&progress->loss));
    snprintf(accuracy, sizeof(accuracy), "acc %s",
             report_percent(&number, smooth_value(&progress->accuracy)));
    snprintf(speed, sizeof(speed), "%s img/s", report_speed(&number, per_second));
    snprintf(eta, sizeof(eta), "ETA %s", report_duration(&number, step->eta_seconds));
    if (progress->options.style == REPORT_PLAIN) {
        say(progress, "%s  %s  %s  %s  %s  %s", title, percent, loss, accuracy, speed, eta);
        return;
    }
    draw(progress, &(struct report_bar){.title = title,
                                        .share = share,
                                        .fields = {percent, loss, accuracy, speed, eta},
                                        .field_count = 5,
                                        .colour = progress->options.colour,
                                        .utf8 = progress->options.utf8});
}

static void on_eval(void *context, int64_t done, int64_t total)
{
    struct report_progress *progress = context;
    int percent = total > 0 ? (int)(done * 100 / total) : 100;
    if (progress->options.style == REPORT_PLAIN || percent == progress->eval_percent) {
        return;
    }
    progress->eval_percent = percent;
    char text[16];
    snprintf(text, sizeof(text), "%3d %%", percent);
    draw(progress, &(struct report_bar){.title = "evaluating",
                                        .share = percent / 100.0,
                                        .fields = {text},
                                        .field_count = 1,
                                        .colour = progress->options.colour,
                                        .utf8 = progress->options.utf8});
}

// ---- epochs ------------------------------------------------------------------------------------

static void on_epoch(void *context, const struct stn_train_epoch *epoch)
{
    struct report_progress *progress = context;
    struct report_text train, val, speed, time;
    if (!progress->header_shown) {
        say(progress, "%-9s %10s %8s %10s %8s %10s %8s", "", "train loss", "acc", "val loss", "acc",
            "img/s", "time");
        progress->header_shown = true;
    }
    const char *mark = !epoch->best                              ? ""
                       : progress->options.style == REPORT_PLAIN ? "  best"
                       : progress->options.utf8                  ? "  ★ best"
                                                                 : "  * best";
    bool colour = progress->options.colour && epoch->best;
    char title[32];
    snprintf(title, sizeof(title), "epoch %d/%d", epoch->epoch, progress->epochs);
    say(progress, "%-9s %10.4f %8s %10.4f %8s %10s %8s%s%s%s", title, epoch->train_loss,
        report_percent(&train, epoch->train_accuracy), epoch->val_loss,
        report_percent(&val, epoch->val_accuracy), report_speed(&speed, epoch->images_per_second),
        report_duration(&time, epoch->seconds + epoch->eval_seconds), colour ? "\033[33m" : "",
        mark, colour ? "\033[0m" : "");
}

// ---- nodes -------------------------------------------------------------------------------------

// Of more than are shown at the end the cheapest is forgotten.
static void keep_incident(struct report_progress *progress, const struct report_incident *incident)
{
    int at = progress->incident_count++;
    if (at >= INCIDENTS_SHOWN) {
        at = 0;
        for (int i = 1; i < INCIDENTS_SHOWN; i++) {
            const struct report_incident *list = progress->incidents;
            at = list[i].cost_seconds < list[at].cost_seconds ? i : at;
        }
        if (progress->incidents[at].cost_seconds >= incident->cost_seconds) {
            return;
        }
        memmove(&progress->incidents[at], &progress->incidents[at + 1],
                (size_t)(INCIDENTS_SHOWN - 1 - at) * sizeof(*incident));
        at = INCIDENTS_SHOWN - 1;
    }
    progress->incidents[at] = *incident;
}

static void on_change(void *context, const struct stn_train_change *change)
{
    struct report_progress *progress = context;
    struct report_incident incident;
    report_crew_change(&progress->crew, change);
    if (report_incident_of(&progress->crew, change, &incident)) {
        keep_incident(progress, &incident);
    }
    if (change->kind != STN_CHANGE_LASTING) { // at the end all that happened is told once more
        char text[REPORT_CHANGE_BYTES];
        report_change_text(&progress->crew, change, text);
        say(progress, "%s", text);
    }
}

static void say_incidents(struct report_progress *progress)
{
    int shown = progress->incident_count;
    if (shown == 0) {
        return;
    }
    shown = shown < INCIDENTS_SHOWN ? shown : INCIDENTS_SHOWN;
    say(progress, "what happened");
    for (int i = 0; i < shown; i++) {
        char text[REPORT_CHANGE_BYTES];
        report_incident_text(&progress->incidents[i], text);
        say(progress, "  %s", text);
    }
    if (progress->incident_count > shown) {
        say(progress, "  and %d more, which cost less", progress->incident_count - shown);
    }
}

static void on_nodes(void *context, const struct stn_train_node *nodes, int count)
{
    struct report_progress *progress = context;
    char line[REPORT_NODES_LINE_BYTES];
    for (int i = 0; i <= count; i++) {
        report_nodes_line(nodes, i, progress->micro_batch, line);
        say(progress, "%s", line);
    }
    report_nodes_exchange_line(nodes, line);
    say(progress, "%s", line);
    say_incidents(progress);
}

// Only of the whole run: epochs have their line.
static void on_energy(void *context, const struct stn_train_energy *energy)
{
    if (energy->epoch == 0) {
        say_label(context, "energy", energy->text);
    }
}

// ---- lifetime ----------------------------------------------------------------------------------

struct report_progress *report_progress_create(const struct report_progress_options *options)
{
    struct report_progress *progress = calloc(1, sizeof(*progress));
    if (progress) {
        progress->options = *options;
        progress->eval_percent = -1;
    }
    return progress;
}

void report_progress_destroy(struct report_progress *progress)
{
    if (progress) {
        report_progress_clear(progress);
        report_crew_fini(&progress->crew);
        free(progress);
    }
}

struct stn_train_observer report_progress_observer(struct report_progress *progress)
{
    return (struct stn_train_observer){.context = progress,
                                       .tuning = on_tuning,
                                       .tuned = on_tuned,
                                       .start = on_start,
                                       .step = on_step,
                                       .epoch = on_epoch,
                                       .eval = on_eval,
                                       .change = on_change,
                                       .nodes = on_nodes,
                                       .energy = on_energy};
}
