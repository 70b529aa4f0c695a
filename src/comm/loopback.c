// SPDX-License-Identifier: Apache-2.0
// Messages between threads of one process, for tests. As with MPI, a long message counts as sent
// only when it has been received, and short ones are kept. All nodes share one list of the sends
// that have not met their receive yet, and of receives without their send, in the order in which
// they were posted.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "comm/backend.h"
#include "comm/node.h"

enum { POSTS = 16384, SHORT_BYTES = 256 };

enum post_state { POST_FREE, POST_OPEN, POST_DONE, POST_ORPHAN };

// A send or a receive.
struct post {
    enum post_state state;
    bool is_send;
    int from, to, tag;
    const void *data; // to send
    void *buffer;     // to receive into
    size_t bytes;
    struct post *next; // in the list of the open, or of the free
    char text[SHORT_BYTES];
};

struct world {
    pthread_mutex_t mutex;
    int open_nodes;
    bool stopped[COMM_LOOPBACK_MAX], gone[COMM_LOOPBACK_MAX];
    struct post *first, **last; // open
    struct post *free;
    struct post posts[POSTS];
};

struct loopback {
    struct comm_transport transport; // first: cast back
    struct world *world;
};

static struct world *world_of(struct comm_transport *transport)
{
    return ((struct loopback *)transport)->world;
}

static void recycle(struct world *world, struct post *post)
{
    post->state = POST_FREE;
    post->next = world->free;
    world->free = post;
}

// The oldest open post that is the other half of `post`, taken off the list; NULL: none yet.
static struct post *meet(struct world *world, const struct post *post)
{
    for (struct post **link = &world->first; *link; link = &(*link)->next) {
        struct post *other = *link;
        if (other->is_send != post->is_send && other->from == post->from && other->to == post->to &&
            other->tag == post->tag) {
            *link = other->next;
            if (world->last == &other->next) {
                world->last = link;
            }
            return other;
        }
    }
    return NULL;
}

static void deliver(struct world *world, struct post *send, struct post *receive)
{
    assert(send->bytes == receive->bytes);
    if (send->bytes > 0) {
        memcpy(receive->buffer, send->data, send->bytes);
    }
    receive->state = POST_DONE;
    if (send->state == POST_ORPHAN) {
        recycle(world, send); // its sender has been told already
    } else {
        send->state = POST_DONE;
    }
}

static enum stn_status post_add(struct world *world, struct post what, void **request)
{
    pthread_mutex_lock(&world->mutex);
    struct post *post = world->free;
    if (!post) {
        pthread_mutex_unlock(&world->mutex);
        return stn_fail(STN_ERR_INTERNAL, "loopback: more than %d open messages", POSTS);
    }
    world->free = post->next;
    *post = what;
    post->state = POST_OPEN;
    if (post->is_send && post->bytes <= SHORT_BYTES && post->bytes > 0) {
        memcpy(post->text, post->data, post->bytes);
        post->data = post->text;
    }
    *request = post;
    bool cut = world->stopped[what.from] || world->stopped[what.to];
    struct post *other = cut ? NULL : meet(world, post);
    if (other) {
        deliver(world, post->is_send ? post : other, post->is_send ? other : post);
    } else if (!cut) {
        post->next = NULL;
        *world->last = post;
        world->last = &post->next;
    }
    pthread_mutex_unlock(&world->mutex);
    return STN_OK;
}

static enum stn_status send_begin(struct comm_transport *transport, int peer, int tag,
                                  const void *data, size_t bytes, void **request)
{
    struct post post = {.is_send = true,
                        .from = transport->rank,
                        .to = peer,
                        .tag = tag,
                        .data = data,
                        .bytes = bytes};
    return post_add(world_of(transport), post, request);
}

static enum stn_status receive_begin(struct comm_transport *transport, int peer, int tag,
                                     void *data, size_t bytes, void **request)
{
    struct post post = {
        .from = peer, .to = transport->rank, .tag = tag, .buffer = data, .bytes = bytes};
    return post_add(world_of(transport), post, request);
}

static enum stn_status test(struct comm_transport *transport, void **request, bool *done)
{
    struct world *world = world_of(transport);
    struct post *post = *request;
    pthread_mutex_lock(&world->mutex);
    bool kept = post->is_send && post->bytes <= SHORT_BYTES && post->state == POST_OPEN;
    *done = post->state == POST_DONE || kept;
    if (kept) {
        post->state = POST_ORPHAN;
    } else if (*done) {
        recycle(world, post);
    }
    pthread_mutex_unlock(&world->mutex);
    return STN_OK;
}

static bool is_gone(struct comm_transport *transport, int peer)
{
    struct world *world = world_of(transport);
    pthread_mutex_lock(&world->mutex);
    bool gone = world->gone[peer];
    pthread_mutex_unlock(&world->mutex);
    return gone;
}

// Takes the node's open posts off the list, since its buffers are going. Short messages that were
// sent stay.
static void withdraw(struct world *world, int rank)
{
    struct post **link = &world->first;
    while (*link) {
        struct post *post = *link;
        bool own = post->is_send ? post->from == rank : post->to == rank;
        if (own && !(post->is_send && post->bytes <= SHORT_BYTES)) {
            *link = post->next;
        } else {
            link = &post->next;
        }
    }
    world->last = link;
}

static void give_up(struct comm_transport *transport)
{
    struct world *world = world_of(transport);
    pthread_mutex_lock(&world->mutex);
    withdraw(world, transport->rank);
    pthread_mutex_unlock(&world->mutex);
}

static void close_transport(struct comm_transport *transport, bool lost)
{
    (void)lost;
    struct world *world = world_of(transport);
    pthread_mutex_lock(&world->mutex);
    withdraw(world, transport->rank);
    bool last = --world->open_nodes == 0;
    pthread_mutex_unlock(&world->mutex);
    if (last) {
        pthread_mutex_destroy(&world->mutex);
        free(world);
    }
    free(transport);
}

static const struct comm_transport_ops ops = {.send = send_begin,
                                              .receive = receive_begin,
                                              .test = test,
                                              .is_gone = is_gone,
                                              .give_up = give_up,
                                              .close = close_transport};

enum stn_status comm_loopback_open(int size, struct comm_transport *out[])
{
    assert(size >= 1 && size <= COMM_LOOPBACK_MAX);
    struct world *world = calloc(1, sizeof(*world));
    struct loopback *nodes[COMM_LOOPBACK_MAX] = {NULL};
    bool complete = world != NULL;
    for (int i = 0; i < size && complete; i++) {
        nodes[i] = calloc(1, sizeof(*nodes[i]));
        complete = nodes[i] != NULL;
    }
    if (!complete) {
        for (int i = 0; i < size; i++) {
            free(nodes[i]);
        }
        free(world);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d loopback nodes", size);
    }
    pthread_mutex_init(&world->mutex, NULL);
    world->open_nodes = size;
    world->last = &world->first;
    for (int i = 0; i < POSTS; i++) {
        recycle(world, &world->posts[i]);
    }
    for (int i = 0; i < size; i++) {
        nodes[i]->transport = (struct comm_transport){.ops = &ops, .rank = i, .size = size};
        nodes[i]->world = world;
        out[i] = &nodes[i]->transport;
    }
    return STN_OK;
}

void comm_loopback_break(struct comm *node, enum comm_loopback_fault fault)
{
    struct world *world = world_of(node->transport);
    pthread_mutex_lock(&world->mutex);
    withdraw(world, node->rank);
    world->stopped[node->rank] = true;
    world->gone[node->rank] = fault == COMM_LOOPBACK_GONE;
    if (fault == COMM_LOOPBACK_BROKEN) {
        atomic_store(&node->transport->broken, true);
    } else {
        atomic_store(&node->lost, node->rank);
    }
    pthread_mutex_unlock(&world->mutex);
}
