// SPDX-License-Identifier: Apache-2.0
// Any messages at all to the launcher's witness from a process that claims to be a node: a byte
// says how long the next message is. Only what a node said of itself is believed, and a node that
// was never introduced is not one that was killed.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/witness.h"
#include "target.h"

enum { MESSAGE_BYTES_MAX = 8, MESSAGES_MAX = 16 };

static int stranger(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "stannis-launcher-%s", name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    fuzz_check(fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct launch_witness witness;
    char name[32];
    bool spoke = false;
    fuzz_quiet();
    snprintf(name, sizeof(name), "fuzz-%d", getpid());
    fuzz_check(launch_witness_begin(&witness, name) == STN_OK);
    int fd = stranger(name);
    for (int i = 0; size > 0 && i < MESSAGES_MAX; i++) {
        size_t bytes = *data % (MESSAGE_BYTES_MAX + 1);
        data++;
        size--;
        bytes = bytes < size ? bytes : size;
        spoke = send(fd, data, bytes, MSG_NOSIGNAL) > 0 || spoke;
        launch_witness_take(&witness);
        data += bytes;
        size -= bytes;
    }
    close(fd);
    launch_witness_take(&witness);
    if (!spoke) {
        fuzz_check(witness.killed_rank == -1 && witness.failed_rank == -1 && witness.code == 0);
    }
    fuzz_check(witness.failed_rank < 0 || witness.code != 0);
    launch_witness_end(&witness);
    return 0;
}
