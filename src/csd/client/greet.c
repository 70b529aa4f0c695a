// SPDX-License-Identifier: Apache-2.0
// Connecting to a device.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "csd/client/state.h"
#include "csd/nvme/hello.h"

// A unix socket's address is short; through the folder's descriptor any path will do.
static int connect_in(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket", directory);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

enum stn_status csd_client_connect(const char *folder, uint64_t memory_bytes,
                                   struct csd_client **out)
{
    int fd = connect_in(folder);
    struct stat about;
    if (fd >= 0) {
        return csd_client_adopt(fd, folder, memory_bytes, out);
    }
    int error = errno;
    if (stat(folder, &about) != 0) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: there is no such device; see \"stannis csd ls\"",
                        folder);
    }
    if (error == ENOENT || error == ECONNREFUSED) {
        return stn_fail(STN_ERR_NOT_FOUND,
                        "%s: the device is off; \"stannis csd start\" turns it on", folder);
    }
    return stn_fail(STN_ERR_IO, "%s: cannot connect to the device: %s", folder, strerror(error));
}

static enum stn_status receive(struct csd_client *c, struct hello_reply *reply, int fds[HELLO_FDS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(HELLO_FDS * sizeof(int))];
    } control = {0};
    struct iovec part = {reply, sizeof(*reply)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t got;
    do {
        got = recvmsg(c->socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(*reply) || reply->magic != HELLO_MAGIC ||
        reply->version != HELLO_VERSION) {
        return stn_fail(STN_ERR_IO, "%s: what answers there is no device of this program's version",
                        c->name);
    }
    reply->refusal[HELLO_TEXT_BYTES - 1] = '\0';
    if (reply->controller == 0) {
        return stn_fail(STN_ERR_INVALID, "%s: refused: %s", c->name, reply->refusal);
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(HELLO_FDS * sizeof(int))) {
        return stn_fail(STN_ERR_IO, "%s: the device handed over no memory", c->name);
    }
    memcpy(fds, CMSG_DATA(header), HELLO_FDS * sizeof(int));
    return STN_OK;
}

static enum stn_status adopt_memory(struct csd_client *c, const struct hello_reply *reply,
                                    const int fds[HELLO_FDS])
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLHUP, .data = {.fd = c->socket}};
    c->doorbell = fds[HELLO_FD_DOORBELL];
    c->completions = fds[HELLO_FD_COMPLETIONS];
    c->controller = reply->controller;
    c->bytes = reply->memory_bytes;
    void *memory =
        mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[HELLO_FD_MEMORY], 0);
    close(fds[HELLO_FD_MEMORY]);
    if (memory == MAP_FAILED || epoll_ctl(c->completions, EPOLL_CTL_ADD, c->socket, &event) != 0) {
        return stn_fail(STN_ERR_IO, "%s: cannot share memory with the device: %s", c->name,
                        strerror(errno));
    }
    c->memory = memory;
    return STN_OK;
}

enum stn_status client_greet(struct csd_client *client, uint64_t memory_bytes)
{
    uint64_t rounded = (memory_bytes + NVME_PAGE_BYTES - 1) / NVME_PAGE_BYTES * NVME_PAGE_BYTES;
    const struct hello_request request = {
        .magic = HELLO_MAGIC, .version = HELLO_VERSION, .memory_bytes = RING_FREE_AT + rounded};
    struct hello_reply reply;
    int fds[HELLO_FDS];
    if (send(client->socket, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request)) {
        return stn_fail(STN_ERR_IO, "%s: the device does not answer: %s", client->name,
                        strerror(errno));
    }
    enum stn_status status = receive(client, &reply, fds);
    return status == STN_OK ? adopt_memory(client, &reply, fds) : status;
}
