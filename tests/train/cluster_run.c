// SPDX-License-Identifier: Apache-2.0
#include "cluster_run.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/safetensors.h"
#include "cmocka_all.h"
#include "comm/comm.h"

struct node {
    struct comm *comm;
    struct settings config;
    struct stn_train_observer observer;
    const struct crew_hooks *hooks;
    struct stn_train_result result;
    enum stn_status status;
};

static void *node_run(void *context)
{
    struct node *node = context;
    node->status =
        train_run_on(node->comm, &node->config, &node->observer, node->hooks, &node->result);
    comm_close(node->comm); // the nodes leave together
    return NULL;
}

void cluster_run(int nodes, const struct settings *config,
                 void (*change)(int node, struct settings *config),
                 const struct stn_train_observer *observer, enum stn_status statuses[],
                 struct stn_train_result *result)
{
    cluster_run_hooked(nodes, config, change, observer, NULL, statuses, result);
}

void cluster_run_hooked(int nodes, const struct settings *config,
                        void (*change)(int node, struct settings *config),
                        const struct stn_train_observer *observer, const struct crew_hooks *hooks,
                        enum stn_status statuses[], struct stn_train_result *result)
{
    struct node all[CLUSTER_RUN_NODES_MAX] = {0};
    struct comm *comms[CLUSTER_RUN_NODES_MAX];
    pthread_t threads[CLUSTER_RUN_NODES_MAX];
    assert_int_equal(comm_loopback_create(nodes, config->timeout, comms), STN_OK);
    for (int i = 0; i < nodes; i++) {
        all[i] = (struct node){.comm = comms[i], .config = *config, .hooks = hooks};
        if (observer) {
            all[i].observer = *observer;
        }
        if (change) {
            change(i, &all[i].config);
        }
        assert_int_equal(pthread_create(&threads[i], NULL, node_run, &all[i]), 0);
    }
    for (int i = 0; i < nodes; i++) {
        pthread_join(threads[i], NULL);
        statuses[i] = all[i].status;
    }
    if (result) {
        *result = all[0].result;
    }
}

static double tensor_distance(const struct safetensors_tensor *a,
                              const struct safetensors_tensor *b)
{
    double difference = 0.0, scale = 0.0;
    for (size_t i = 0; i < b->bytes / sizeof(float); i++) {
        float x, y;
        memcpy(&x, (const char *)a->data + i * sizeof(x), sizeof(x));
        memcpy(&y, (const char *)b->data + i * sizeof(y), sizeof(y));
        difference = fmax(difference, fabs((double)x - (double)y));
        scale = fmax(scale, fabs((double)y));
    }
    return scale > 0.0 ? difference / scale : difference;
}

double checkpoint_distance(const char *a, const char *b)
{
    struct safetensors *left, *right;
    double worst = 0.0;
    assert_int_equal(safetensors_read(a, &left), STN_OK);
    assert_int_equal(safetensors_read(b, &right), STN_OK);
    for (int i = 0; i < safetensors_count(right); i++) {
        const struct safetensors_tensor *y = safetensors_at(right, i);
        const struct safetensors_tensor *x = safetensors_find(left, y->name);
        assert_non_null(x);
        assert_int_equal(x->bytes, y->bytes);
        if (y->dtype == SAFETENSORS_F32 && strncmp(y->name, "optimizer.", 10) != 0) {
            worst = fmax(worst, tensor_distance(x, y));
        }
    }
    safetensors_close(left);
    safetensors_close(right);
    return worst;
}
