// SPDX-License-Identifier: Apache-2.0
// Descriptors are watched edge by edge and, but for a client's first message, never read: an
// eventfd tells by being written, a socket by its end. So nothing that a client leaves in them can
// keep the thread awake.
#include "csd/server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "csd/server/connection.h"

enum {
    CONNECTIONS_MAX = 64,
    SHARED_BYTES_MAX = 1 << 30, // of all clients together
    EVENTS_MAX = 64,
    BUSY_ROUNDS = 16, // between two looks at the descriptors
};

enum watched { WATCH_LISTENER, WATCH_WAKE, WATCH_SOCKET, WATCH_DOORBELL };

struct csd_server {
    struct nvme_subsystem *subsystem;
    int listener, epoll, wake;
    pthread_t thread;
    uint64_t greeted;
    struct connection connections[CONNECTIONS_MAX];

    pthread_mutex_t lock; // of what follows
    bool stopping;
    int arriving_count;
    struct {
        int socket;
        uint16_t controller;
    } arriving[CONNECTIONS_MAX]; // of csd_server_connect
};

static bool watch(struct csd_server *s, int fd, enum watched what, uint32_t events, int index)
{
    struct epoll_event event = {.events = events | EPOLLET,
                                .data = {.u64 = (uint64_t)what | (uint64_t)index << 8}};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// ---- Connections come and go --------------------------------------------------------------------

static void begin_to_end(struct connection *c)
{
    if (c->state == CONNECTION_SERVING) {
        nvme_session_close(c->session);
        c->state = CONNECTION_ENDING;
    } else if (c->state == CONNECTION_GREETING) {
        connection_end(c);
    }
}

// A free place. When all are taken, the oldest client that never said what it wants makes room.
static struct connection *make_room(struct csd_server *s)
{
    struct connection *silent = NULL;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = &s->connections[i];
        if (c->state == CONNECTION_FREE) {
            return c;
        }
        if (c->state == CONNECTION_GREETING && (!silent || c->since < silent->since)) {
            silent = c;
        }
    }
    if (silent) {
        connection_end(silent);
    }
    return silent;
}

static void admit(struct csd_server *s, int socket, uint16_t controller)
{
    struct connection *c = make_room(s);
    struct connection turned_away = {.socket = socket};
    if (!c) {
        connection_refuse(&turned_away, "the device has as many clients as it can serve");
        close(socket);
        return;
    }
    *c = (struct connection){.state = CONNECTION_GREETING,
                             .controller = controller,
                             .since = s->greeted++,
                             .socket = socket,
                             .doorbell = -1,
                             .interrupt = -1,
                             .completions = -1,
                             .wake = s->wake};
    if (!watch(s, socket, WATCH_SOCKET, EPOLLIN | EPOLLRDHUP, (int)(c - s->connections))) {
        connection_end(c);
    }
}

static bool is_trusted(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static void accept_all(struct csd_server *s)
{
    for (;;) {
        int socket = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) {
            continue;
        }
        if (socket < 0) {
            return;
        }
        if (is_trusted(socket)) {
            admit(s, socket, NVME_CONTROLLER_HOST);
        } else {
            struct connection stranger = {.socket = socket};
            connection_refuse(&stranger,
                              "only root and the user who started the device may use it");
            close(socket);
        }
    }
}

static void admit_arriving(struct csd_server *s)
{
    pthread_mutex_lock(&s->lock);
    int count = s->arriving_count;
    s->arriving_count = 0;
    for (int i = 0; i < count; i++) {
        admit(s, s->arriving[i].socket, s->arriving[i].controller);
    }
    pthread_mutex_unlock(&s->lock);
}

static uint64_t shared_bytes(const struct csd_server *s)
{
    uint64_t bytes = 0;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        bytes += s->connections[i].memory.bytes;
    }
    return bytes;
}

static void greet(struct csd_server *s, struct connection *c)
{
    struct hello_request request;
    if (!connection_read_request(c->socket, &request)) {
        connection_end(c);
        return;
    }
    if (shared_bytes(s) + request.memory_bytes > SHARED_BYTES_MAX) {
        connection_refuse(c, "the device's clients share 1 GiB with it already");
        connection_end(c);
        return;
    }
    if (connection_serve(c, s->subsystem, &request) != STN_OK ||
        !watch(s, c->doorbell, WATCH_DOORBELL, EPOLLIN, (int)(c - s->connections))) {
        begin_to_end(c);
    }
    if (c->state == CONNECTION_GREETING) {
        connection_end(c);
    }
}

// ---- The thread ---------------------------------------------------------------------------------

static void handle(struct csd_server *s, const struct epoll_event *event)
{
    struct connection *c = &s->connections[event->data.u64 >> 8];
    switch ((enum watched)(event->data.u64 & 0xff)) {
    case WATCH_LISTENER: accept_all(s); break;
    case WATCH_WAKE: admit_arriving(s); break;
    case WATCH_SOCKET:
        if (event->events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
            begin_to_end(c);
        } else if (c->state == CONNECTION_GREETING) {
            greet(s, c);
        }
        break;
    case WATCH_DOORBELL: break; // sessions are looked at anyway
    }
}

// A place that becomes free here is not given away before all events of its past are handled:
// those of sockets and doorbells come before a new connection's, which is admitted last.
static void wait_for_events(struct csd_server *s, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(s->epoll, events, EVENTS_MAX, timeout_ms);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++) {
            uint64_t what = events[i].data.u64 & 0xff;
            bool admits = what == WATCH_LISTENER || what == WATCH_WAKE;
            if (admits == (turn == 1)) {
                handle(s, &events[i]);
            }
        }
    }
}

static bool run_sessions(struct csd_server *s)
{
    bool any = false;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = &s->connections[i];
        if (c->state == CONNECTION_SERVING) {
            any = nvme_session_run(c->session) || any;
        } else if (c->state == CONNECTION_ENDING && nvme_session_idle(c->session)) {
            connection_end(c);
        }
    }
    return any;
}

// False: somebody has something to do after all.
static bool doze(struct csd_server *s)
{
    bool all = true;
    for (int i = 0; i < CONNECTIONS_MAX && all; i++) {
        struct connection *c = &s->connections[i];
        all = c->state != CONNECTION_SERVING || nvme_session_doze(c->session);
    }
    return all;
}

static void awake(struct csd_server *s)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        if (s->connections[i].state == CONNECTION_SERVING) {
            nvme_session_awake(s->connections[i].session);
        }
    }
}

static bool is_stopping(struct csd_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static void drain(struct csd_server *s)
{
    bool left = true;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        begin_to_end(&s->connections[i]);
    }
    while (left) {
        left = false;
        run_sessions(s);
        for (int i = 0; i < CONNECTIONS_MAX; i++) {
            left = left || s->connections[i].state == CONNECTION_ENDING;
        }
        if (left) { // the last completion of each wakes us
            struct epoll_event event;
            epoll_wait(s->epoll, &event, 1, -1);
        }
    }
}

static void *serve(void *context)
{
    struct csd_server *s = context;
    int busy = 0;
    prctl(PR_SET_NAME, "csd-front");
    while (!is_stopping(s)) {
        if (run_sessions(s)) {
            if (++busy % BUSY_ROUNDS == 0) {
                wait_for_events(s, 0);
            }
        } else if (doze(s)) {
            wait_for_events(s, -1);
            awake(s);
        } else {
            awake(s);
        }
    }
    drain(s);
    return NULL;
}

// ---- Lifetime -----------------------------------------------------------------------------------

static void release(struct csd_server *s)
{
    for (int i = 0; i < s->arriving_count; i++) {
        close(s->arriving[i].socket);
    }
    if (s->epoll >= 0) {
        close(s->epoll);
    }
    if (s->wake >= 0) {
        close(s->wake);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

enum stn_status csd_server_start(struct nvme_subsystem *subsystem, int listener,
                                 struct csd_server **out)
{
    struct csd_server *s = calloc(1, sizeof(*s));
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a device's front end");
    }
    s->subsystem = subsystem;
    s->listener = listener;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = 0;
    if (s->epoll < 0 || s->wake < 0 || !watch(s, s->wake, WATCH_WAKE, EPOLLIN, 0) ||
        (listener >= 0 && !watch(s, listener, WATCH_LISTENER, EPOLLIN, 0))) {
        error = errno;
    } else {
        error = pthread_create(&s->thread, NULL, serve, s);
    }
    if (error != 0) {
        release(s);
        return stn_fail(STN_ERR_IO, "cannot start a device's front end: %s", strerror(error));
    }
    *out = s;
    return STN_OK;
}

static void wake_up(struct csd_server *s)
{
    const uint64_t one = 1;
    while (write(s->wake, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

void csd_server_stop(struct csd_server *server)
{
    if (!server) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_mutex_unlock(&server->lock);
    wake_up(server);
    pthread_join(server->thread, NULL);
    release(server);
}

enum stn_status csd_server_connect(struct csd_server *server, uint16_t controller, int *fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return stn_fail(STN_ERR_IO, "cannot connect to the device: %s", strerror(errno));
    }
    pthread_mutex_lock(&server->lock);
    bool room = server->arriving_count < CONNECTIONS_MAX;
    if (room) {
        server->arriving[server->arriving_count].socket = ends[0];
        server->arriving[server->arriving_count++].controller = controller;
    }
    pthread_mutex_unlock(&server->lock);
    if (!room) {
        close(ends[0]);
        close(ends[1]);
        return stn_fail(STN_ERR_IO, "the device has too many clients that it has not greeted yet");
    }
    wake_up(server);
    *fd = ends[1];
    return STN_OK;
}
