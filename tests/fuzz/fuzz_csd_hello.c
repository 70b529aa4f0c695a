// SPDX-License-Identifier: Apache-2.0
// Whatever a client sends first, in one message or several, and then closes or not: the server
// answers or ends the connection, and others still get in.
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "csd/nvme/hello.h"
#include "csd/ram/ram.h"
#include "csd/server/server.h"
#include "target.h"

enum { MESSAGE_MAX = 64 };

static struct nvme_subsystem subsystem;
static struct csd_server *server;

static void start(void)
{
    struct ram_backend *ram;
    fuzz_check(ram_backend_create(64, &ram) == STN_OK);
    subsystem.backend = ram_backend_base(ram);
    subsystem.blocks_total = 64;
    fuzz_check(nvme_subsystem_init(&subsystem) == STN_OK);
    fuzz_check(csd_server_start(&subsystem, -1, &server) == STN_OK);
}

static void expect_service(void)
{
    struct hello_request request = {
        .magic = HELLO_MAGIC, .version = HELLO_VERSION, .memory_bytes = 1 << 16};
    struct hello_reply reply;
    int fd;
    fuzz_check(csd_server_connect(server, NVME_CONTROLLER_HOST, &fd) == STN_OK);
    fuzz_check(send(fd, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request));
    fuzz_check(recv(fd, &reply, sizeof(reply), 0) == (ssize_t)sizeof(reply));
    fuzz_check(reply.controller == NVME_CONTROLLER_HOST);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int half_open[16], turn;
    fuzz_quiet();
    if (!server) {
        start();
        memset(half_open, -1, sizeof(half_open));
    }
    int fd;
    fuzz_check(csd_server_connect(server, NVME_CONTROLLER_HOST, &fd) == STN_OK);
    bool stays = size > 0 && (data[0] & 1);
    while (size > 0) {
        size_t bytes = 1 + data[0] % MESSAGE_MAX;
        bytes = bytes < size ? bytes : size;
        if (send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
            break;
        }
        data += bytes;
        size -= bytes;
    }
    if (stays) { // one of a few that never close
        int *place = &half_open[turn++ % 16];
        if (*place >= 0) {
            close(*place);
        }
        *place = fd;
    } else {
        close(fd);
    }
    expect_service();
    return 0;
}
