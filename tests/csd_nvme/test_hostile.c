// SPDX-License-Identifier: Apache-2.0
// Clients that do not keep to the rules: their own session ends or gets an error, another client's
// goes on.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture.h"
#include "csd/client/state.h"
#include "csd/nvme/hello.h"
#include "fixture.h"
#include "rig.h"

static struct rig rig;
static struct csd_client *bad, *good;
static struct csd_queue *bad_queue, *good_queue;
static uint8_t *bad_data, *good_data;
static uint32_t nsid;

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig);
    bad = rig_client(&rig, NVME_CONTROLLER_HOST);
    good = rig_client(&rig, NVME_CONTROLLER_HOST);
    bad_queue = rig_queue(bad, 4);
    good_queue = rig_queue(good, 4);
    bad_data = csd_client_allocate(bad, 1 << 20);
    good_data = csd_client_allocate(good, 1 << 20);
    nsid = rig_namespace(good, "set", 512, true);
    return 0;
}

static void expect_good_works(void)
{
    memset(good_data, 0x3c, 4096);
    assert_int_equal(rig_call(good_queue, csd_command(NVME_IO_WRITE, nsid, 5, 1), good_data, 4096),
                     NVME_SUCCESS);
    memset(good_data, 0, 4096);
    assert_int_equal(rig_call(good_queue, csd_command(NVME_IO_READ, nsid, 5, 1), good_data, 4096),
                     NVME_SUCCESS);
    assert_int_equal(good_data[77], 0x3c);
}

static int tear_down(void **state)
{
    (void)state;
    expect_good_works();
    csd_client_close(bad);
    csd_client_close(good);
    rig_stop(&rig);
    return 0;
}

static void expect_fatal(void)
{
    struct csd_outcome outcome;
    struct capture capture;
    int count;
    capture_start(&capture);
    assert_int_equal(csd_queue_reap(bad_queue, true, 1, &outcome, &count), STN_ERR_IO);
    capture_stop();
    assert_non_null(strstr(capture.last, "stopped serving"));
    assert_int_equal(ring_registers(bad->memory)->csts, RING_CSTS_READY | RING_CSTS_FATAL);
}

static void wake(const struct csd_client *client)
{
    const uint64_t one = 1;
    assert_int_equal(write(client->doorbell, &one, sizeof(one)), sizeof(one));
}

static void test_tail_beyond_the_queue(void **state)
{
    (void)state;
    RING_STORE(ring_doorbells(bad->memory, bad_queue->id)->sq_tail, 5u);
    wake(bad);
    expect_fatal();
}

static void test_tail_of_the_admin_queue(void **state)
{
    (void)state;
    RING_STORE(ring_doorbells(bad->memory, 0)->sq_tail, UINT32_MAX);
    wake(bad);
    expect_fatal();
}

static void test_head_that_was_never_posted(void **state)
{
    (void)state;
    struct nvme_sqe read = csd_command(NVME_IO_READ, nsid, 0, 1);
    RING_STORE(ring_doorbells(bad->memory, bad_queue->id)->cq_head, 3u);
    assert_true(csd_queue_submit(bad_queue, &read, bad_data, 4096, NULL));
    csd_queue_ring(bad_queue);
    expect_fatal();
}

// Descriptors that the test makes: where they point, and what comes of it.
static void test_prps(void **state)
{
    (void)state;
    uint64_t at = (uint64_t)(bad_data - bad->memory), end = bad->bytes;
    uint64_t *list = (uint64_t *)(void *)(bad_data + 4096);
    const struct {
        uint64_t prp1, prp2;
        uint32_t blocks;
        enum nvme_status status;
    } cases[] = {
        {at, 0, 1, NVME_SUCCESS},
        {at + 1, 0, 1, NVME_PRP_OFFSET},
        {0, 0, 1, NVME_DATA_TRANSFER}, // the registers
        {RING_DOORBELLS_AT, 0, 1, NVME_DATA_TRANSFER},
        {RING_ADMIN_CQ_AT, 0, 1, NVME_DATA_TRANSFER},
        {end, 0, 1, NVME_DATA_TRANSFER},
        {end - 4, at, 1, NVME_SUCCESS},
        {UINT64_MAX - 3, 0, 1, NVME_DATA_TRANSFER},
        {UINT64_MAX - 4095, 0, 1, NVME_DATA_TRANSFER},
        {at, at + 4, 2, NVME_PRP_OFFSET},
        {at, end, 2, NVME_DATA_TRANSFER},
        {at, at + 4096 + 4, 3, NVME_PRP_OFFSET}, // a list must lie at multiples of 8
        {at, end - 8, 3, NVME_DATA_TRANSFER},
        {at, UINT64_MAX - 7, 256, NVME_DATA_TRANSFER},
        {at, at + 4096, 3, NVME_DATA_TRANSFER},  // list[1] points to nowhere
        {at, at + 4096 + 8, 3, NVME_PRP_OFFSET}, // list[2] is no page
    };
    list[0] = at;
    list[1] = 1ull << 40;
    list[2] = at + 8;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nvme_sqe read = csd_command(NVME_IO_READ, nsid, 0, cases[i].blocks);
        read.prp1 = cases[i].prp1;
        read.prp2 = cases[i].prp2;
        enum nvme_status status = rig_call(bad_queue, read, NULL, 0);
        assert_int_equal(status, cases[i].status);
    }
}

// A list whose last entry names itself as its next page ends where the data ends.
static void test_list_in_a_ring(void **state)
{
    (void)state;
    uint64_t at = (uint64_t)(bad_data - bad->memory);
    uint64_t *last = (uint64_t *)(void *)(bad_data + 4096 - 8);
    *last = at; // the page itself, whose entries are data pages
    for (int i = 0; i < 511; i++) {
        ((uint64_t *)(void *)bad_data)[i] = at + 8192;
    }
    struct nvme_sqe read = csd_command(NVME_IO_WRITE, nsid, 0, 60);
    read.prp1 = at;
    read.prp2 = at + 4096 - 8;
    assert_int_equal(rig_call(bad_queue, read, NULL, 0), NVME_SUCCESS);
}

static void test_queues_that_cannot_be(void **state)
{
    (void)state;
    uint64_t at = (uint64_t)(bad_data - bad->memory);
    const struct {
        uint8_t opcode;
        uint32_t id, entries, word11;
        uint64_t at;
        enum nvme_status status;
    } cases[] = {
        {NVME_ADMIN_CREATE_CQ, 0, 8, 3, at, NVME_QUEUE_ID},
        {NVME_ADMIN_CREATE_CQ, 1, 8, 3, at, NVME_QUEUE_ID}, // there is one
        {NVME_ADMIN_CREATE_CQ, RING_QUEUES_MAX, 8, 3, at, NVME_QUEUE_ID},
        {NVME_ADMIN_CREATE_CQ, 2, 1, 3, at, NVME_QUEUE_SIZE},
        {NVME_ADMIN_CREATE_CQ, 2, 1025, 3, at, NVME_QUEUE_SIZE},
        {NVME_ADMIN_CREATE_CQ, 2, 8, 2, at, NVME_INVALID_FIELD},
        {NVME_ADMIN_CREATE_CQ, 2, 8, 3, at + 64, NVME_PRP_OFFSET},
        {NVME_ADMIN_CREATE_CQ, 2, 8, 3, 0, NVME_INVALID_FIELD},
        {NVME_ADMIN_CREATE_CQ, 2, 1024, 3, bad->bytes - 4096, NVME_INVALID_FIELD},
        {NVME_ADMIN_CREATE_CQ, 2, 8, 3 | 1u << 16, at, NVME_INVALID_FIELD},
        {NVME_ADMIN_CREATE_SQ, 2, 8, 1 | 7u << 16, at, NVME_CQ_INVALID},
        {NVME_ADMIN_CREATE_SQ, 2, 8, 1, at, NVME_CQ_INVALID},
        {NVME_ADMIN_DELETE_CQ, 1, 0, 0, 0, NVME_QUEUE_DELETION}, // it is in use
        {NVME_ADMIN_DELETE_CQ, 3, 0, 0, 0, NVME_QUEUE_ID},
        {NVME_ADMIN_DELETE_SQ, 0, 0, 0, 0, NVME_QUEUE_ID},
        {NVME_ADMIN_DELETE_SQ, 1, 0, 0, 0, NVME_SUCCESS},
        {NVME_ADMIN_DELETE_SQ, 1, 0, 0, 0, NVME_QUEUE_ID},
        {NVME_ADMIN_DELETE_CQ, 1, 0, 0, 0, NVME_SUCCESS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nvme_sqe command = {.opcode = cases[i].opcode,
                                   .prp1 = cases[i].at,
                                   .cdw10 = cases[i].id | (cases[i].entries - 1) << 16,
                                   .cdw11 = cases[i].word11};
        assert_int_equal(rig_admin(bad, command, CSD_NO_DATA, NULL, 0), cases[i].status);
    }
}

// Two commands with one id in flight: the client lies about its slots.
static void test_one_id_twice(void **state)
{
    (void)state;
    struct nvme_sqe read = csd_command(NVME_IO_READ, nsid, 0, 1);
    struct csd_outcome outcomes[4];
    int done = 0, count, conflicts = 0;
    for (int i = 0; i < 4; i++) {
        assert_true(csd_queue_submit(bad_queue, &read, bad_data, 4096, NULL));
        bad_queue->sq[i].cid = 0;
    }
    csd_queue_ring(bad_queue);
    while (done < 4) {
        assert_int_equal(csd_queue_reap(bad_queue, true, 4, outcomes, &count), STN_OK);
        for (int i = 0; i < count; i++) {
            assert_true(outcomes[i].status == NVME_SUCCESS ||
                        outcomes[i].status == NVME_CID_CONFLICT);
            conflicts += outcomes[i].status == NVME_CID_CONFLICT;
        }
        done += count;
    }
    assert_int_equal(conflicts, 0); // memory is done with one before it takes the next
}

// The client's memory cannot be taken away under the device, and what the client holds of it does
// not reach the device's own eventfd.
static void test_sealed_memory(void **state)
{
    (void)state;
    int fd;
    struct hello_request request = {
        .magic = HELLO_MAGIC, .version = HELLO_VERSION, .memory_bytes = RING_BYTES_MIN};
    struct hello_reply reply;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(HELLO_FDS * sizeof(int))];
    } control;
    struct iovec part = {&reply, sizeof(reply)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    assert_int_equal(csd_server_connect(rig.server, NVME_CONTROLLER_HOST, &fd), STN_OK);
    assert_int_equal(send(fd, &request, sizeof(request), 0), sizeof(request));
    assert_int_equal(recvmsg(fd, &message, MSG_CMSG_CLOEXEC), sizeof(reply));
    int fds[HELLO_FDS];
    const struct cmsghdr *first = CMSG_FIRSTHDR(&message);
    if (!first) {
        fail_msg("no descriptors came with the greeting");
        return;
    }
    memcpy(fds, CMSG_DATA(first), sizeof(fds));
    assert_int_equal(ftruncate(fds[HELLO_FD_MEMORY], 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fds[HELLO_FD_MEMORY], 1 << 30), -1);
    assert_int_equal(fcntl(fds[HELLO_FD_MEMORY], F_ADD_SEALS, F_SEAL_WRITE), -1);
    uint64_t value = 1; // an epoll instance can be neither read nor written
    assert_int_equal(write(fds[HELLO_FD_COMPLETIONS], &value, sizeof(value)), -1);
    assert_int_equal(read(fds[HELLO_FD_COMPLETIONS], &value, sizeof(value)), -1);
    // The doorbell is the client's to fill; the device never reads or writes it.
    value = UINT64_MAX - 1;
    assert_int_equal(write(fds[HELLO_FD_DOORBELL], &value, sizeof(value)), sizeof(value));
    expect_good_works();
    // Holes punched into the memory are zeros, not faults.
    assert_int_equal(fallocate(fds[HELLO_FD_MEMORY], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                               RING_BYTES_MIN),
                     0);
    expect_good_works();
    for (int i = 0; i < HELLO_FDS; i++) {
        close(fds[i]);
    }
    close(fd);
}

static bool ended(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&wait, 1, 10000), 1);
    return recv(fd, &byte, 1, 0) <= 0;
}

static void test_greetings(void **state)
{
    (void)state;
    const struct {
        struct hello_request request;
        size_t bytes;
        bool refusal; // or just an end
    } cases[] = {
        {{HELLO_MAGIC, HELLO_VERSION, 0, RING_BYTES_MIN}, 15, false},
        {{1, HELLO_VERSION, 0, RING_BYTES_MIN}, 16, false},
        {{HELLO_MAGIC, 9, 0, RING_BYTES_MIN}, 16, true},
        {{HELLO_MAGIC, HELLO_VERSION, 0, 4096}, 16, true},
        {{HELLO_MAGIC, HELLO_VERSION, 0, RING_BYTES_MIN + 1}, 16, true},
        {{HELLO_MAGIC, HELLO_VERSION, 0, UINT64_MAX}, 16, true},
        {{HELLO_MAGIC, HELLO_VERSION, 0, 1ull << 40}, 16, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd;
        struct hello_reply reply;
        assert_int_equal(csd_server_connect(rig.server, NVME_CONTROLLER_HOST, &fd), STN_OK);
        assert_int_equal(send(fd, &cases[i].request, cases[i].bytes, 0), cases[i].bytes);
        if (cases[i].refusal) {
            assert_int_equal(recv(fd, &reply, sizeof(reply), 0), sizeof(reply));
            assert_int_equal(reply.controller, 0);
            assert_true(reply.refusal[0] != '\0');
        }
        assert_true(ended(fd));
        close(fd);
    }
}

// More silent connections than there are places: the oldest make room, and clients still get in.
static void test_half_open_sockets(void **state)
{
    (void)state;
    enum { SILENT = 200 };
    int fds[SILENT];
    for (int i = 0; i < SILENT; i++) {
        assert_int_equal(csd_server_connect(rig.server, NVME_CONTROLLER_HOST, &fds[i]), STN_OK);
        if (i % 32 == 31) {
            struct csd_client *late = rig_client(&rig, NVME_CONTROLLER_HOST);
            struct csd_capacity capacity;
            assert_int_equal(csd_capacity(late, &capacity), STN_OK);
            csd_client_close(late);
        }
    }
    assert_true(ended(fds[0]));
    expect_good_works();
    for (int i = 0; i < SILENT; i++) {
        close(fds[i]);
    }
}

// A client that goes away with commands under way, again and again.
static void test_clients_that_leave(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct csd_client *client = rig_client(&rig, NVME_CONTROLLER_HOST);
        struct csd_queue *queue = rig_queue(client, 32);
        uint8_t *data = csd_client_allocate(client, 4096);
        struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, 9, 1);
        while (csd_queue_submit(queue, &write, data, 4096, NULL)) {
        }
        csd_queue_ring(queue);
        csd_client_close(client);
    }
}

// A client that never takes its completions is served until its completion queue is full.
static void test_full_completion_queue(void **state)
{
    (void)state;
    struct nvme_sqe read = csd_command(NVME_IO_READ, nsid, 0, 1);
    struct csd_outcome outcomes[4];
    int count, done = 0;
    for (int i = 0; i < 4; i++) {
        assert_true(csd_queue_submit(bad_queue, &read, bad_data, 4096, NULL));
    }
    csd_queue_ring(bad_queue);
    while ((RING_LOAD(bad_queue->cq[3 * 4 + 3]) >> 16 & 1) == 0) { // the fourth is not posted yet
        expect_good_works();
    }
    // The queue of five entries is full with four. The tail goes on all the same.
    for (int i = 0; i < 3; i++) {
        bad_queue->sq[(4 + i) % 5] = read;
        bad_queue->sq[(4 + i) % 5].prp1 = (uint64_t)(bad_data - bad->memory);
        bad_queue->sq[(4 + i) % 5].cid = (uint16_t)(100 + i);
    }
    RING_STORE(ring_doorbells(bad->memory, bad_queue->id)->sq_tail, 2u);
    wake(bad);
    expect_good_works();
    while (done < 7) {
        assert_int_equal(csd_queue_reap(bad_queue, true, 4, outcomes, &count), STN_OK);
        for (int i = 0; i < count; i++) {
            assert_int_equal(outcomes[i].status, NVME_SUCCESS);
        }
        done += count;
    }
    assert_int_equal(done, 7);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tail_beyond_the_queue),
        cmocka_unit_test(test_tail_of_the_admin_queue),
        cmocka_unit_test(test_head_that_was_never_posted),
        cmocka_unit_test(test_prps),
        cmocka_unit_test(test_list_in_a_ring),
        cmocka_unit_test(test_queues_that_cannot_be),
        cmocka_unit_test(test_one_id_twice),
        cmocka_unit_test(test_sealed_memory),
        cmocka_unit_test(test_greetings),
        cmocka_unit_test(test_half_open_sockets),
        cmocka_unit_test(test_clients_that_leave),
        cmocka_unit_test(test_full_completion_queue),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
