// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { NAME_MAX_BYTES = 512 };

struct checkpoint {
    char *path;
    struct safetensors *file;
    struct settings settings;
    struct checkpoint_meta meta; // its settings are these
    json_t *class_array;
    const char **class_names;
};

static const float *tensor_values(struct nn_net *net, const struct nn_tensor *t)
{
    return (t->kind == NN_PARAMETER ? nn_net_parameters(net) : nn_net_buffers(net)) + t->offset;
}

// ---- saving ------------------------------------------------------------------------------------

static struct safetensors_tensor describe(const char *name, const struct nn_tensor *t,
                                          const float *values)
{
    struct safetensors_tensor s = {.name = name,
                                   .dtype = SAFETENSORS_F32,
                                   .rank = t->rank,
                                   .bytes = t->count * sizeof(float),
                                   .data = values};
    for (int i = 0; i < t->rank; i++) {
        s.dims[i] = (uint64_t)t->dims[i];
    }
    return s;
}

// What goes before a tensor's name in that of one of the optimizer's states.
static void state_prefix(const struct optim *optim, int state, char out[static NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "optimizer.%s.", optim_rule(optim)->does->state_names[state]);
}

// One state of every parameter. False: memory is out.
static bool list_state(struct nn_net *net, struct optim *optim, int state, struct base_arena *arena,
                       struct safetensors_tensor *list, int *count)
{
    char prefix[NAME_MAX_BYTES];
    state_prefix(optim, state, prefix);
    for (int i = 0; i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *t = nn_net_tensor(net, i);
        if (t->kind != NN_PARAMETER) {
            continue;
        }
        const char *name = base_arena_printf(arena, "%s%s", prefix, t->name);
        if (!name) {
            return false;
        }
        list[(*count)++] = describe(name, t, optim_state(optim, state) + t->offset);
    }
    return true;
}

// Weights and statistics in the net's order, then the optimizer's states, each of all parameters.
// NULL when memory is out.
static struct safetensors_tensor *list_tensors(struct nn_net *net, struct optim *optim,
                                               struct base_arena *arena, int *count)
{
    int total = nn_net_tensor_count(net), states = optim_rule(optim)->does->states, n = 0;
    struct safetensors_tensor *list =
        base_arena_alloc(arena, (size_t)(1 + states) * (size_t)total * sizeof(*list));
    for (int i = 0; list && i < total; i++) {
        const struct nn_tensor *t = nn_net_tensor(net, i);
        list[n++] = describe(t->name, t, tensor_values(net, t));
    }
    bool ok = list != NULL;
    for (int state = 0; ok && state < states; state++) {
        ok = list_state(net, optim, state, arena, list, &n);
    }
    *count = n;
    return ok ? list : NULL;
}

enum stn_status checkpoint_save(const char *path, const struct checkpoint_meta *meta,
                                struct nn_net *net, struct optim *optim)
{
    struct base_arena arena = {0};
    int pair_count = 0, tensor_count = 0;
    struct safetensors_pair *pairs = checkpoint_meta_encode(meta, &arena, &pair_count);
    struct safetensors_tensor *tensors = list_tensors(net, optim, &arena, &tensor_count);
    enum stn_status status =
        pairs && tensors ? safetensors_write(path, pairs, pair_count, tensors, tensor_count)
                         : stn_fail(STN_ERR_NO_MEMORY, "cannot write %s: out of memory", path);
    base_arena_fini(&arena);
    return status;
}

enum stn_status checkpoint_class_list(const char *const *names, int count, char **out)
{
    *out = NULL;
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        if (json_array_append_new(array, json_string(names[i])) != 0) {
            json_decref(array);
            return stn_fail(STN_ERR_INVALID, "class name '%.80s' is not UTF-8: rename it",
                            names[i]);
        }
    }
    *out = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return *out ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "out of memory for %d class names", count);
}

// ---- opening -----------------------------------------------------------------------------------

static enum stn_status decode_class_names(struct checkpoint *c)
{
    c->class_array = json_loads(c->meta.class_list, 0, NULL);
    if (!json_is_array(c->class_array) ||
        json_array_size(c->class_array) != (size_t)c->meta.classes) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: not a list of %d class names", c->path,
                        c->meta.classes);
    }
    c->class_names = calloc((size_t)c->meta.classes, sizeof(*c->class_names));
    if (!c->class_names) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: out of memory", c->path);
    }
    for (int i = 0; i < c->meta.classes; i++) {
        c->class_names[i] = json_string_value(json_array_get(c->class_array, (size_t)i));
        if (!c->class_names[i]) {
            return stn_fail(STN_ERR_CORRUPT, "%s: damaged: class name %d is not a text", c->path,
                            i);
        }
    }
    return STN_OK;
}

static enum stn_status open_all(struct checkpoint *c)
{
    enum stn_status status = safetensors_read(c->path, &c->file);
    if (!status) {
        status = checkpoint_meta_decode(c->file, c->path, &c->settings, &c->meta);
    }
    if (!status) {
        status = decode_class_names(c);
    }
    if (!status && !stn_model_find(c->meta.settings->net)) {
        status = stn_fail(STN_ERR_UNSUPPORTED,
                          "%s: its network '%.80s' is not one of ours (see stannis models)",
                          c->path, c->meta.settings->net);
    }
    return status;
}

enum stn_status checkpoint_open(const char *path, struct checkpoint **out)
{
    *out = NULL;
    struct checkpoint *c = calloc(1, sizeof(*c));
    if (c) {
        c->path = strdup(path);
    }
    if (!c || !c->path) {
        free(c);
        return stn_fail(STN_ERR_NO_MEMORY, "%s: out of memory", path);
    }
    enum stn_status status = open_all(c);
    if (status) {
        checkpoint_close(c);
        return status;
    }
    *out = c;
    return STN_OK;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    if (checkpoint) {
        free(checkpoint->class_names);
        json_decref(checkpoint->class_array);
        safetensors_close(checkpoint->file);
        free(checkpoint->path);
        free(checkpoint);
    }
}

const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *checkpoint)
{
    return &checkpoint->meta;
}

const char *const *checkpoint_class_names(const struct checkpoint *checkpoint)
{
    return checkpoint->class_names;
}

enum stn_status checkpoint_merge(const struct checkpoint *checkpoint, struct settings *settings)
{
    return checkpoint_meta_merge(&checkpoint->meta, checkpoint->path, settings);
}

// ---- loading -----------------------------------------------------------------------------------

static bool fits(const struct safetensors_tensor *stored, const struct nn_tensor *t)
{
    if (stored->dtype != SAFETENSORS_F32 || stored->rank != t->rank) {
        return false;
    }
    for (int i = 0; i < t->rank; i++) {
        if (stored->dims[i] != (uint64_t)t->dims[i]) {
            return false;
        }
    }
    return stored->bytes == t->count * sizeof(float);
}

static enum stn_status load_tensor(const struct checkpoint *c, const char *prefix,
                                   const struct nn_tensor *t, float *out)
{
    char name[2 * NAME_MAX_BYTES];
    snprintf(name, sizeof(name), "%s%s", prefix, t->name);
    const struct safetensors_tensor *stored = safetensors_find(c->file, name);
    if (!stored) {
        return stn_fail(STN_ERR_CORRUPT, "%s: tensor '%s' of network %s is missing", c->path, name,
                        c->meta.settings->net);
    }
    if (!fits(stored, t)) {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: tensor '%s' has another shape or type than network %s needs", c->path,
                        name, c->meta.settings->net);
    }
    memcpy(out, stored->data, stored->bytes);
    return STN_OK;
}

static enum stn_status check_net(const struct checkpoint *c, const struct nn_net *net)
{
    const struct nn_net_config *config = nn_net_config(net);
    if (strcmp(config->model->name, c->meta.settings->net) != 0) {
        return stn_fail(STN_ERR_INVALID, "%s holds %s, not %s", c->path, c->meta.settings->net,
                        config->model->name);
    }
    if (config->shape.classes != c->meta.classes || config->shape.channels != c->meta.channels) {
        return stn_fail(STN_ERR_INVALID,
                        "%s was trained with %d classes and %d channels, not %d and %d", c->path,
                        c->meta.classes, c->meta.channels, config->shape.classes,
                        config->shape.channels);
    }
    return STN_OK;
}

enum stn_status checkpoint_load(const struct checkpoint *checkpoint, struct nn_net *net,
                                struct optim *optim)
{
    enum stn_status status = check_net(checkpoint, net);
    int states = optim ? optim_rule(optim)->does->states : 0;
    for (int i = 0; !status && i < nn_net_tensor_count(net); i++) {
        const struct nn_tensor *t = nn_net_tensor(net, i);
        float *values = t->kind == NN_PARAMETER ? nn_net_parameters(net) : nn_net_buffers(net);
        status = load_tensor(checkpoint, "", t, values + t->offset);
        for (int s = 0; s < states && t->kind == NN_PARAMETER && !status; s++) {
            char prefix[NAME_MAX_BYTES];
            state_prefix(optim, s, prefix);
            status = load_tensor(checkpoint, prefix, t, optim_state(optim, s) + t->offset);
        }
    }
    if (!status) {
        nn_net_weights_changed(net);
    }
    return status;
}
