// SPDX-License-Identifier: Apache-2.0
#include "csd/server/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "csd/nvme/ring.h"

bool connection_read_request(int socket, struct hello_request *out)
{
    // Descriptors that come with it are dropped by the kernel: there is no room for them.
    ssize_t got = recv(socket, out, sizeof(*out), MSG_DONTWAIT | MSG_TRUNC);
    return got == (ssize_t)sizeof(*out) && out->magic == HELLO_MAGIC;
}

static void answer(const struct connection *c, const struct hello_reply *reply, const int fds[],
                   size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(HELLO_FDS * sizeof(int))];
    } control = {0};
    struct hello_reply copy = *reply;
    struct iovec part = {&copy, sizeof(copy)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS,
                                          .cmsg_len = CMSG_LEN(count * sizeof(int))};
        memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
    }
    // A client that does not take the answer is noticed by the end of its connection.
    ssize_t sent = sendmsg(c->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
}

void connection_refuse(const struct connection *c, const char *why)
{
    struct hello_reply reply = {.magic = HELLO_MAGIC, .version = HELLO_VERSION};
    snprintf(reply.refusal, sizeof(reply.refusal), "%s", why);
    answer(c, &reply, NULL, 0);
}

// Its size cannot change any more: touching it never fails, whatever the client does.
static int make_memory(struct connection *c, uint64_t bytes)
{
    int fd = memfd_create("stannis-csd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(fd);
        return -1;
    }
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        close(fd);
        return -1;
    }
    c->memory = (struct nvme_memory){base, bytes};
    return fd;
}

static bool make_events(struct connection *c)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    c->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->completions = epoll_create1(EPOLL_CLOEXEC);
    return c->doorbell >= 0 && c->interrupt >= 0 && c->completions >= 0 &&
           epoll_ctl(c->completions, EPOLL_CTL_ADD, c->interrupt, &event) == 0;
}

static void ring_eventfd(int fd)
{
    const uint64_t one = 1;
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static void interrupt(void *context)
{
    ring_eventfd(((struct connection *)context)->interrupt);
}

static void wake(void *context)
{
    ring_eventfd(((struct connection *)context)->wake);
}

static const char *check_request(const struct hello_request *request)
{
    if (request->version != HELLO_VERSION) {
        return "the client is of another version of this program";
    }
    if (request->memory_bytes < RING_BYTES_MIN || request->memory_bytes > RING_BYTES_MAX ||
        request->memory_bytes % NVME_PAGE_BYTES != 0) {
        return "shared memory is whole pages of 4 KiB, 64 KiB to 64 MiB";
    }
    return NULL;
}

enum stn_status connection_serve(struct connection *c, struct nvme_subsystem *subsystem,
                                 const struct hello_request *request)
{
    const char *wrong = check_request(request);
    if (wrong) {
        connection_refuse(c, wrong);
        return STN_ERR_INVALID;
    }
    int fd = make_memory(c, request->memory_bytes);
    if (fd < 0 || !make_events(c)) {
        connection_refuse(c, "the device has no memory for another client");
        if (fd >= 0) {
            close(fd);
        }
        return STN_ERR_NO_MEMORY;
    }
    const struct nvme_session_config config = {.subsystem = subsystem,
                                               .controller = c->controller,
                                               .memory = c->memory,
                                               .interrupt = interrupt,
                                               .wake = wake,
                                               .context = c};
    enum stn_status status = nvme_session_create(&config, &c->session);
    if (status == STN_OK) {
        const struct hello_reply reply = {.magic = HELLO_MAGIC,
                                          .version = HELLO_VERSION,
                                          .controller = c->controller,
                                          .memory_bytes = c->memory.bytes};
        const int fds[HELLO_FDS] = {fd, c->doorbell, c->completions};
        answer(c, &reply, fds, HELLO_FDS);
        c->state = CONNECTION_SERVING;
    }
    close(fd);
    return status;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

void connection_end(struct connection *c)
{
    nvme_session_destroy(c->session);
    if (c->memory.base) {
        munmap(c->memory.base, c->memory.bytes);
    }
    close_fd(c->completions);
    close_fd(c->interrupt);
    close_fd(c->doorbell);
    close_fd(c->socket);
    *c = (struct connection){.state = CONNECTION_FREE};
}
