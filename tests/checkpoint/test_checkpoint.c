// SPDX-License-Identifier: Apache-2.0
// Checkpoints: nothing is lost on the way to the disk and back, and nothing damaged or foreign gets
// in.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "cmocka_all.h"
#include "optim/support.h"
#include "train/small_run.h"
#include "train/support.h"

static struct checkpoint_meta sample_meta(void)
{
    static struct settings settings;
    settings = small_settings(NULL);
    struct checkpoint_meta meta = {
        .settings = &settings,
        .train_samples = 200,
        .channels = 3,
        .classes = 4,
        .class_list = "[\"a\",\"b\",\"ü\",\"d \\\"x\\\"\"]",
        .mean = {0.1f, 0.2f, 0.3f},
        .std = {0.4f, 0.5f, 0.6f},
        .progress = {.epoch = 3,
                     .position = 64,
                     .samples_seen = INT64_C(1) << 40,
                     .step = 12345678901,
                     .totals = {.loss_sum = 1.0 / 3.0, .correct = 17, .count = 64},
                     .last_loss = 0x1.fffffffffffffp-3,
                     .last_accuracy = 0.1,
                     .best_accuracy = -1.0,
                     .batch = 32,
                     .lr = 0.1},
    };
    settings.lr = 0.1;
    settings.seed = UINT64_MAX;
    settings.nesterov = true;
    return meta;
}

// A checkpoint with all its metadata, but a single tensor of eight bytes.
static struct bytes small_checkpoint(const char *path)
{
    static const float values[2] = {1.0f, -2.0f};
    const struct safetensors_tensor tensor = {"w", SAFETENSORS_F32, 1, {2}, sizeof(values), values};
    const struct checkpoint_meta meta = sample_meta();
    struct base_arena arena = {0};
    int count;
    struct safetensors_pair *pairs = checkpoint_meta_encode(&meta, &arena, &count);
    assert_non_null(pairs);
    assert_int_equal(safetensors_write(path, pairs, count, &tensor, 1), STN_OK);
    base_arena_fini(&arena);
    return file_load(path);
}

static void assert_same_progress(const struct checkpoint_progress *a,
                                 const struct checkpoint_progress *b)
{
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->position, b->position);
    assert_int_equal(a->samples_seen, b->samples_seen);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->totals.correct, b->totals.correct);
    assert_int_equal(a->totals.count, b->totals.count);
    assert_memory_equal(&a->totals.loss_sum, &b->totals.loss_sum, sizeof(double));
    assert_memory_equal(&a->last_loss, &b->last_loss, sizeof(double));
    assert_memory_equal(&a->last_accuracy, &b->last_accuracy, sizeof(double));
    assert_memory_equal(&a->best_accuracy, &b->best_accuracy, sizeof(double));
}

static void metadata_round_trip(void **state)
{
    (void)state;
    const char *path = in(scratch, "small.safetensors");
    struct bytes b = small_checkpoint(path);
    const struct checkpoint_meta meta = sample_meta();
    struct checkpoint *checkpoint;
    assert_int_equal(checkpoint_open(path, &checkpoint), STN_OK);
    const struct checkpoint_meta *read = checkpoint_meta(checkpoint);
    assert_same_progress(&read->progress, &meta.progress);
    assert_memory_equal(read->mean, meta.mean, sizeof(meta.mean));
    assert_memory_equal(read->std, meta.std, sizeof(meta.std));
    assert_string_equal(read->settings->net, "lenet");
    assert_string_equal(read->settings->data, "synthetic:200");
    assert_true(read->settings->lr == 0.1 && read->settings->nesterov);
    assert_true(read->settings->seed == UINT64_MAX);
    assert_int_equal(read->settings->micro_batch, 12);
    assert_string_equal(checkpoint_class_names(checkpoint)[2], "ü");
    assert_string_equal(checkpoint_class_names(checkpoint)[3], "d \"x\"");
    checkpoint_close(checkpoint);
    free(b.data);
}

// A file from before there was a choice of optimizers: what has a default has it, what has none is
// missing.
static void younger_settings_have_their_defaults(void **state)
{
    (void)state;
    const char *path = in(scratch, "older.safetensors");
    static const char *const left_out[] = {"stannis.optimizer", "stannis.seed", "stannis.net"};
    struct checkpoint_meta meta = sample_meta();
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        struct base_arena arena = {0};
        int count, kept = 0;
        struct safetensors_pair *pairs = checkpoint_meta_encode(&meta, &arena, &count);
        assert_non_null(pairs);
        for (int p = 0; p < count; p++) {
            pairs[kept] = pairs[p];
            kept += strcmp(pairs[p].key, left_out[i]) != 0;
        }
        assert_int_equal(kept, count - 1);
        assert_int_equal(safetensors_write(path, pairs, kept, NULL, 0), STN_OK);
        base_arena_fini(&arena);
        struct checkpoint *checkpoint;
        bool has_default = i < 2;
        assert_int_equal(checkpoint_open(path, &checkpoint),
                         has_default ? STN_OK : STN_ERR_CORRUPT);
        if (has_default) {
            const struct settings *read = checkpoint_meta(checkpoint)->settings;
            assert_int_equal(read->optimizer, SETTINGS_OPTIMIZER_sgd);
            assert_true(read->seed == (i == 1 ? 1 : UINT64_MAX));
            checkpoint_close(checkpoint);
        }
    }
}

static enum stn_status decode(const unsigned char *data, size_t size)
{
    struct safetensors *file;
    enum stn_status status = safetensors_parse(data, size, "some.file", &file);
    if (!status) {
        struct settings settings;
        struct checkpoint_meta meta;
        status = checkpoint_meta_decode(file, "some.file", &settings, &meta);
        safetensors_close(file);
    }
    return status;
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct bytes b = small_checkpoint(in(scratch, "small.safetensors"));
    assert_int_equal(decode(b.data, b.size), STN_OK);
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
        errors_reset();
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(decode(b.data, b.size), STN_ERR_CORRUPT);
        assert_int_equal(errors_count(), 1);
        assert_non_null(strstr(errors_last(), "some.file"));
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(b.data);
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    struct bytes b = small_checkpoint(in(scratch, "small.safetensors"));
    for (size_t size = 0; size < b.size; size++) {
        assert_int_equal(decode(b.data, size), STN_ERR_CORRUPT);
    }
    free(b.data);
}

static void expect_not_opened(const char *path, enum stn_status expected, const char *reason)
{
    struct checkpoint *checkpoint;
    errors_reset();
    assert_int_equal(checkpoint_open(path, &checkpoint), expected);
    assert_null(checkpoint);
    assert_int_equal(errors_count(), 1);
    if (!strstr(errors_last(), path) || !strstr(errors_last(), reason)) {
        print_error("\"%s\" does not say \"%s\"\n", errors_last(), reason);
        fail();
    }
}

static void foreign_files_are_refused(void **state)
{
    (void)state;
    const char *path = in(scratch, "foreign.safetensors");
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0), STN_OK);
    expect_not_opened(path, STN_ERR_CORRUPT, "not a checkpoint of Stannis");
    static const char png[] = "\x89PNG\r\n\x1a\n and so on";
    file_store(path, png, sizeof(png));
    expect_not_opened(path, STN_ERR_CORRUPT, "not a safetensors file");
    file_store(path, "", 0);
    expect_not_opened(path, STN_ERR_CORRUPT, "too few");
    expect_not_opened(in(scratch, "absent"), STN_ERR_NOT_FOUND, "No such file");
}

static void other_versions_are_refused(void **state)
{
    (void)state;
    const char *path = in(scratch, "future.safetensors");
    const struct safetensors_pair future = {"stannis.format", "2"};
    assert_int_equal(safetensors_write(path, &future, 1, NULL, 0), STN_OK);
    expect_not_opened(path, STN_ERR_UNSUPPORTED, "format 2");
    const struct safetensors_pair bare = {"stannis.format", "1"};
    assert_int_equal(safetensors_write(path, &bare, 1, NULL, 0), STN_OK);
    expect_not_opened(path, STN_ERR_CORRUPT, "stannis.net");
}

static void class_names_must_be_utf8(void **state)
{
    (void)state;
    const char *const names[2] = {"fine", "\xff"};
    char *list;
    assert_int_equal(checkpoint_class_list(names, 2, &list), STN_ERR_INVALID);
    assert_null(list);
    assert_int_equal(checkpoint_class_list(names, 1, &list), STN_OK);
    assert_string_equal(list, "[\"fine\"]");
    free(list);
}

// ---- with a network ----------------------------------------------------------------------------

struct fixture {
    struct kernel *kernel;
    struct nn_net *net;
};

static struct fixture fixture_open(int classes)
{
    struct fixture f;
    assert_int_equal(kernel_create("reference", 1, &f.kernel), STN_OK);
    const struct nn_net_config config = {
        .model = stn_model_find("lenet"),
        .shape = {.image_size = 28, .channels = 3, .classes = classes},
        .micro_batch = 1,
    };
    assert_int_equal(nn_net_create(f.kernel, &config, &f.net), STN_OK);
    nn_net_init(f.net, 5);
    return f;
}

static void fixture_close(struct fixture *f)
{
    nn_net_destroy(f->net);
    kernel_destroy(f->kernel);
}

static struct optim *optim_of(const struct optim_rule *rule, const struct nn_net *net)
{
    struct optim *optim;
    const struct optim_settings settings = {.momentum = 0.9f};
    assert_int_equal(optim_create(rule, &settings, nn_net_parameter_count(net), &optim), STN_OK);
    return optim;
}

// The optimizer's states go by the names that its rule gives them.
static void check_names(const char *path, const struct optim_rule *rule, const char *tensor)
{
    struct safetensors *file;
    char name[200];
    assert_int_equal(safetensors_read(path, &file), STN_OK);
    for (int s = 0; s < rule->does->states; s++) {
        snprintf(name, sizeof(name), "optimizer.%s.%s", rule->does->state_names[s], tensor);
        assert_non_null(safetensors_find(file, name));
    }
    safetensors_close(file);
}

static void check_round_trip(const struct optim_rule *rule)
{
    struct fixture f = fixture_open(4);
    size_t count = nn_net_parameter_count(f.net);
    struct optim *optim = optim_of(rule, f.net), *read = optim_of(rule, f.net);
    float *weights = malloc(count * sizeof(float));
    assert_non_null(weights);
    optim_flip(optim); // the current copy is what is saved
    for (size_t i = 0; i < count * (size_t)rule->does->states; i++) {
        optim_state(optim, (int)(i / count))[i % count] = (float)i * 0.25f;
    }
    memcpy(weights, nn_net_parameters(f.net), count * sizeof(float));
    const struct checkpoint_meta meta = sample_meta();
    const char *path = in(scratch, "net.safetensors");
    assert_int_equal(checkpoint_save(path, &meta, f.net, optim), STN_OK);
    check_names(path, rule, nn_net_tensor(f.net, 0)->name);
    nn_net_init(f.net, 6);

    struct checkpoint *checkpoint;
    assert_int_equal(checkpoint_open(path, &checkpoint), STN_OK);
    assert_int_equal(checkpoint_load(checkpoint, f.net, read), STN_OK);
    for (int i = 0; i < nn_net_tensor_count(f.net); i++) {
        const struct nn_tensor *t = nn_net_tensor(f.net, i);
        size_t size = t->count * sizeof(float);
        if (t->kind != NN_PARAMETER) {
            continue;
        }
        assert_memory_equal(nn_net_parameters(f.net) + t->offset, weights + t->offset, size);
        for (int s = 0; s < rule->does->states; s++) {
            assert_memory_equal(optim_state(read, s) + t->offset, optim_state(optim, s) + t->offset,
                                size);
        }
    }
    checkpoint_close(checkpoint);
    optim_destroy(optim);
    optim_destroy(read);
    free(weights);
    fixture_close(&f);
}

static void tensors_round_trip(void **state)
{
    (void)state;
    check_round_trip(optim_rule_find("sgd"));
    check_round_trip(optim_rule_find("adamw"));
    check_round_trip(&two_means);
}

static void other_networks_are_refused(void **state)
{
    (void)state;
    struct fixture four = fixture_open(4), five = fixture_open(5);
    struct optim *of_four = optim_of(optim_rule_find("sgd"), four.net);
    struct optim *of_five = optim_of(optim_rule_find("sgd"), five.net);
    struct checkpoint_meta meta = sample_meta();
    const char *path = in(scratch, "net.safetensors");
    struct checkpoint *checkpoint;

    assert_int_equal(checkpoint_save(path, &meta, four.net, of_four), STN_OK);
    assert_int_equal(checkpoint_open(path, &checkpoint), STN_OK);
    assert_int_equal(checkpoint_load(checkpoint, five.net, of_five), STN_ERR_INVALID);
    assert_non_null(strstr(errors_last(), "4 classes"));
    checkpoint_close(checkpoint);

    // Tensors that do not match what the metadata says.
    assert_int_equal(checkpoint_save(path, &meta, five.net, of_five), STN_OK);
    assert_int_equal(checkpoint_open(path, &checkpoint), STN_OK);
    assert_int_equal(checkpoint_load(checkpoint, four.net, of_four), STN_ERR_CORRUPT);
    assert_non_null(strstr(errors_last(), "another shape"));
    checkpoint_close(checkpoint);

    struct bytes b = small_checkpoint(path);
    assert_int_equal(checkpoint_open(path, &checkpoint), STN_OK);
    assert_int_equal(checkpoint_load(checkpoint, four.net, of_four), STN_ERR_CORRUPT);
    assert_non_null(strstr(errors_last(), "missing"));
    checkpoint_close(checkpoint);
    free(b.data);
    optim_destroy(of_four);
    optim_destroy(of_five);
    fixture_close(&four);
    fixture_close(&five);
}

static void a_full_disk_keeps_the_old(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4);
    struct optim *optim = optim_of(optim_rule_find("sgd"), f.net);
    struct checkpoint_meta meta = sample_meta();
    const char *path = in(scratch, "last.safetensors");
    assert_int_equal(checkpoint_save(path, &meta, f.net, optim), STN_OK);
    struct bytes before = file_load(path);

    struct rlimit unlimited, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = before.size - 1;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    errors_reset();
    nn_net_init(f.net, 77);
    enum stn_status status = checkpoint_save(path, &meta, f.net, optim);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    signal(SIGXFSZ, handler);

    assert_int_equal(status, STN_ERR_NO_SPACE);
    assert_int_equal(errors_count(), 1);
    assert_non_null(strstr(errors_last(), "the previous file is intact"));
    struct bytes after = file_load(path);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    assert_int_equal(directory_entries(scratch), 1);
    free(before.data);
    free(after.data);
    optim_destroy(optim);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(metadata_round_trip),
        WITH_SCRATCH(every_flipped_bit_is_noticed),
        WITH_SCRATCH(every_truncation_is_noticed),
        WITH_SCRATCH(foreign_files_are_refused),
        WITH_SCRATCH(other_versions_are_refused),
        WITH_SCRATCH(class_names_must_be_utf8),
        WITH_SCRATCH(tensors_round_trip),
        WITH_SCRATCH(other_networks_are_refused),
        WITH_SCRATCH(a_full_disk_keeps_the_old),
        WITH_SCRATCH(younger_settings_have_their_defaults),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
