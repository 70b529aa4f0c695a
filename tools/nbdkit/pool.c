// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 8, SLACK_BYTES = 1 << 18 };

struct pool {
    char *device;
    struct csd_namespace ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pool_member members[MEMBERS_MAX];
    struct pool_member *free;
    int count;
};

static enum stn_status connect_member(const char *device, struct pool_member *m)
{
    enum stn_status status = csd_client_connect(device, POOL_DATA_BYTES + SLACK_BYTES, &m->client);
    if (status != STN_OK) {
        return status;
    }
    status = csd_queue_create(m->client, 1, &m->queue);
    m->data = status == STN_OK ? csd_client_allocate(m->client, POOL_DATA_BYTES) : NULL;
    if (!m->data) {
        csd_client_close(m->client);
        return status == STN_OK ? stn_fail(STN_ERR_NO_MEMORY, "no shared memory") : status;
    }
    return STN_OK;
}

enum stn_status pool_create(const char *device, const char *name, struct pool **out)
{
    struct pool *p = calloc(1, sizeof(*p));
    char *copy = strdup(device);
    if (!p || !copy) {
        free(p);
        free(copy);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for connections to a device");
    }
    p->device = copy;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    enum stn_status status = connect_member(device, &p->members[0]);
    if (status == STN_OK) {
        p->count = 1;
        p->free = &p->members[0];
        status = csd_namespace_find(p->members[0].client, name, &p->ns);
    }
    if (status == STN_OK && !p->ns.active) {
        status = stn_fail(STN_ERR_NOT_FOUND, "%s: %s is not for the host", device, name);
    }
    if (status != STN_OK) {
        pool_destroy(p);
        return status;
    }
    *out = p;
    return STN_OK;
}

void pool_destroy(struct pool *pool)
{
    if (!pool) {
        return;
    }
    for (int i = 0; i < pool->count; i++) {
        csd_client_close(pool->members[i].client);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    free(pool->device);
    free(pool);
}

const struct csd_namespace *pool_namespace(const struct pool *pool)
{
    return &pool->ns;
}

struct pool_member *pool_take(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->free && pool->count == MEMBERS_MAX) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    struct pool_member *m = pool->free;
    if (m) {
        pool->free = m->next;
    } else if (connect_member(pool->device, &pool->members[pool->count]) == STN_OK) {
        m = &pool->members[pool->count++];
    }
    pthread_mutex_unlock(&pool->lock);
    return m;
}

void pool_put(struct pool *pool, struct pool_member *member)
{
    pthread_mutex_lock(&pool->lock);
    member->next = pool->free;
    pool->free = member;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_signal(&pool->changed);
}
