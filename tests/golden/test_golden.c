// SPDX-License-Identifier: Apache-2.0
// Whole networks against PyTorch: for each file that make_golden.py wrote, the same weights, images
// and labels go through Stannis; logits, loss, every gradient and every batch statistic must agree.
// The files hold exact (float64) results, so the tolerance is for our own rounding alone.
#include "cmocka_all.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "kernel/kernel.h"
#include "nn/net.h"

enum { CASES_MAX = 64, THREADS = 2, BATCH_MAX = 64 };

// One golden file on one backend.
struct scenario {
    char name[300];
    char file[256];
    const char *backend; // NULL: the best built in
};

struct fixture {
    json_t *golden;
    uint64_t seed;
    struct kernel *kernel;
    struct nn_net *net;
    float *images;
    int32_t labels[BATCH_MAX];
    int batch, classes;
    double tolerance;
    double worst; // error, relative to the scale
    int mismatches;
};

static int integer(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return (int)json_integer_value(value);
}

static double number(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    assert_non_null(value);
    return value;
}

// A tensor's fingerprint: [name, shape, norm, scale, projection, [elements…]].
enum { NAME, SHAPE, NORM, SCALE, PROJECTION, ELEMENTS };

static const char *entry_name(const json_t *entry)
{
    const char *name = json_string_value(json_array_get(entry, NAME));
    assert_non_null(name);
    return name;
}

static double entry_number(const json_t *entry, size_t field)
{
    json_t *value = json_array_get(entry, field);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

// Says what differs and goes on: the pattern of what is wrong tells where to look.
static void compare(struct fixture *f, const char *name, const char *what, double got, double want,
                    double scale)
{
    double error = fabs(got - want) / scale;
    f->worst = fmax(f->worst, error);
    if (!(error <= f->tolerance)) {
        print_error("%s: %s is %.8g, PyTorch's is %.8g, scale %.3g\n", name, what, got, want,
                    scale);
        f->mismatches++;
    }
}

static void compare_tensor(struct fixture *f, const json_t *entry, const float *values,
                           size_t count)
{
    const char *name = entry_name(entry);
    double norm = entry_number(entry, NORM), scale = entry_number(entry, SCALE);
    double whole = fmax(norm, scale);
    compare(f, name, "norm", formula_norm(values, count), norm, whole);
    compare(f, name, "projection", formula_projection(f->seed, name, values, count),
            entry_number(entry, PROJECTION), whole);

    const json_t *elements = json_array_get(entry, ELEMENTS);
    size_t samples = json_array_size(elements);
    for (size_t i = 0; i < samples; i++) {
        size_t at = formula_sample(f->seed, name, count, samples, i);
        char what[32];
        snprintf(what, sizeof what, "element %zu", at);
        compare(f, name, what, (double)values[at], json_number_value(json_array_get(elements, i)),
                scale);
    }
}

static const struct nn_tensor *find_tensor(const struct nn_net *net, const char *name)
{
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        if (strcmp(nn_net_tensor(net, i)->name, name) == 0) {
            return nn_net_tensor(net, i);
        }
    }
    fail_msg("Stannis has no tensor %s", name);
    return NULL;
}

static int count_kind(const struct nn_net *net, enum nn_tensor_kind kind)
{
    int count = 0;
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        count += nn_net_tensor(net, i)->kind == kind;
    }
    return count;
}

static void check_shape(const json_t *entry, const struct nn_tensor *tensor)
{
    const json_t *shape = json_array_get(entry, SHAPE);
    assert_int_equal(tensor->rank, json_array_size(shape));
    for (int d = 0; d < tensor->rank; d++) {
        assert_int_equal(tensor->dims[d], json_integer_value(json_array_get(shape, (size_t)d)));
    }
}

// All tensors of one kind: the same names, the same shapes, the same contents.
static void compare_kind(struct fixture *f, enum nn_tensor_kind kind, const float *flat)
{
    const json_t *list = json_object_get(f->golden, kind == NN_PARAMETER ? "gradients" : "buffers");
    assert_int_equal(json_array_size(list), count_kind(f->net, kind));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const struct nn_tensor *tensor = find_tensor(f->net, entry_name(entry));
        assert_int_equal(tensor->kind, kind);
        check_shape(entry, tensor);
        compare_tensor(f, entry, flat + tensor->offset, tensor->count);
    }
}

// Single parameters differ from the formula's: those that keep activations off the kinks.
static void nudge(struct fixture *f)
{
    const json_t *list = json_object_get(f->golden, "nudged");
    assert_true(json_is_array(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i); // [name, index, value]
        const struct nn_tensor *tensor = find_tensor(f->net, entry_name(entry));
        size_t at = (size_t)entry_number(entry, 1);
        assert_true(at < tensor->count);
        nn_net_parameters(f->net)[tensor->offset + at] = (float)entry_number(entry, 2);
    }
    nn_net_weights_changed(f->net);
}

static void setup_net(struct fixture *f, const struct scenario *scenario)
{
    char path[sizeof GOLDEN_FILES + sizeof scenario->file];
    snprintf(path, sizeof path, "%s/%s", GOLDEN_FILES, scenario->file);
    f->golden = json_load_file(path, 0, NULL);
    assert_non_null(f->golden);
    f->seed = (uint64_t)integer(f->golden, "seed");
    f->batch = integer(f->golden, "batch");
    f->classes = integer(f->golden, "classes");
    f->tolerance = number(f->golden, "tolerance");
    assert_in_range(f->batch, 1, BATCH_MAX);

    struct nn_net_config config = {
        .model = stn_model_find(text(f->golden, "net")),
        .shape = {.image_size = integer(f->golden, "image_size"),
                  .channels = integer(f->golden, "channels"),
                  .classes = f->classes},
        .micro_batch = f->batch,
        .label_smoothing = (float)number(f->golden, "label_smoothing"),
        .no_dropout = true,
    };
    assert_non_null(config.model);
    assert_int_equal(kernel_create(scenario->backend, THREADS, &f->kernel), STN_OK);
    assert_int_equal(nn_net_create(f->kernel, &config, &f->net), STN_OK);
    formula_fill_net(f->net, f->seed);
    nudge(f);

    size_t edge = (size_t)config.shape.image_size;
    size_t pixels = (size_t)f->batch * (size_t)config.shape.channels * edge * edge;
    f->images = malloc(pixels * sizeof *f->images);
    assert_non_null(f->images);
    formula_fill_images(f->seed, pixels, f->images);
    formula_fill_labels(f->seed, f->batch, f->classes, f->labels);
}

static void teardown_net(struct fixture *f)
{
    free(f->images);
    nn_net_destroy(f->net);
    kernel_destroy(f->kernel);
    json_decref(f->golden);
}

static void compare_logits(struct fixture *f)
{
    const json_t *entry = json_array_get(json_object_get(f->golden, "logits"), 0);
    assert_string_equal(entry_name(entry), "eval_logits");
    const float *logits;
    assert_int_equal(nn_net_logits(f->net, f->images, f->batch, &logits), STN_OK);
    compare_tensor(f, entry, logits, (size_t)f->batch * (size_t)f->classes);
}

// Logits of a training pass stay inside the net; the loss and the last layer's gradients show them.
static void compare_training(struct fixture *f)
{
    static const uint64_t row_keys[BATCH_MAX];
    struct kernel_loss_totals totals = {0};
    nn_net_begin_step(f->net);
    assert_int_equal(nn_net_train(f->net, f->images, f->labels, row_keys, f->batch, &totals),
                     STN_OK);
    double loss = number(f->golden, "loss_sum");
    assert_int_equal(totals.count, f->batch);
    compare(f, "loss", "sum", totals.loss_sum, loss, loss);
    compare_kind(f, NN_PARAMETER, nn_net_gradient_sums(f->net));

    // With momentum 1 the running statistics become the batch's own, as in make_golden.py.
    nn_net_merge_statistics(f->net, f->batch, 1.0);
    compare_kind(f, NN_BUFFER, nn_net_next_buffers(f->net));
}

static void test_case(void **state)
{
    const struct scenario *scenario = *state;
    struct fixture f = {0};
    setup_net(&f, scenario);
    compare_logits(&f);
    compare_training(&f);
    teardown_net(&f);
    print_message("largest error %.1e, allowed %.0e\n", f.worst, f.tolerance);
    assert_int_equal(f.mismatches, 0);
}

static void test_parameter_counts(void **state)
{
    (void)state;
    static const struct {
        const char *net;
        int64_t parameters;
    } expected[] = {
        {"densenet121", 7978856},        //
        {"inception_v3", 23834568},      //
        {"mobilenet_v2", 3504872},       //
        {"nasnet_mobile", 5289978},      //
        {"resnet18", 11689512},          //
        {"resnet50", 25557032},          //
        {"shufflenet_v1", 5450776},      //
        {"shufflenet_v2_x1_0", 2278604}, //
        {"squeezenet1_0", 1248424},      //
        {"squeezenet1_1", 1235496},      //
        {"vgg16", 138357544},            //
        {"vgg16_bn", 138365992},         //
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct stn_model_shape shape = {.channels = 3, .classes = 1000};
        struct stn_model_cost cost;
        const struct stn_model_info *model = stn_model_find(expected[i].net);
        assert_non_null(model);
        assert_int_equal(stn_model_measure(model, shape, 1, &cost), STN_OK);
        assert_int_equal(cost.parameters, expected[i].parameters);
    }
}

static int is_golden(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

// Every file on the best backend; one of them on the reference too, whose plain loops are slow.
static int list_scenarios(struct scenario *scenarios)
{
    static const char on_reference[] = "squeezenet1_1_64px_10c_b4.json";
    struct dirent **entries;
    int files = scandir(GOLDEN_FILES, &entries, is_golden, alphasort);
    int count = 0;
    for (int i = 0; i < files; i++) {
        int backends = strcmp(entries[i]->d_name, on_reference) == 0 ? 2 : 1;
        for (int slow = 0; slow < backends; slow++) {
            struct scenario *s = count < CASES_MAX ? &scenarios[count++] : NULL;
            if (s != NULL) {
                s->backend = slow ? "reference" : NULL;
                snprintf(s->file, sizeof s->file, "%s", entries[i]->d_name);
                snprintf(s->name, sizeof s->name, "%s%s", s->file, slow ? " (reference)" : "");
            }
        }
        free(entries[i]);
    }
    if (files >= 0) {
        free(entries);
    }
    return count;
}

// `test_golden [PATTERN]`: cases whose name matches, or those at small sizes, which even the
// sanitizers get through in reasonable time.
int main(int argc, char **argv)
{
    static struct scenario scenarios[CASES_MAX];
    // cmocka skips the entries that stay empty.
    struct CMUnitTest tests[CASES_MAX + 1] = {cmocka_unit_test(test_parameter_counts)};
    int count = list_scenarios(scenarios);
    if (count == 0) {
        fprintf(stderr, "no golden files in %s: run tests/golden/make_golden.py\n", GOLDEN_FILES);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        tests[i + 1] = (struct CMUnitTest){
            .name = scenarios[i].name, .test_func = test_case, .initial_state = &scenarios[i]};
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    } else {
        cmocka_set_skip_filter(DEFAULT_SIZES);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
