// SPDX-License-Identifier: Apache-2.0
// A whole device on flash in memory, with the threads of front end, back end and several clients.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "capture.h"
#include "cmocka_all.h"
#include "csd/client/namespaces.h"
#include "csd/device/device.h"
#include "csd/media/memory.h"

enum { CLIENTS = 4, BLOCKS = 256, DEPTH = 8, ROUNDS = 300, MEMORY = 1 << 20 };

static struct csd_device *device;

static void start(enum flash_timing_mode timing)
{
    struct csd_profile profile;
    struct csd_device_parts parts = {.options = {.timing = timing},
                                     .profile = "tiny",
                                     .media = "memory",
                                     .serial = "test",
                                     .listener = -1};
    assert_int_equal(csd_profile_find("tiny", &profile), STN_OK);
    profile.flash.ecc = FLASH_ECC_CRC;
    profile.flash.error_rate_worn = 0;
    assert_int_equal(flash_profile_fit(&profile.flash, 8 << 20, "tiny"), STN_OK);
    assert_int_equal(media_memory_create(&profile.flash.geometry, &parts.medium), STN_OK);
    assert_int_equal(flash_format(parts.medium, &profile.flash), STN_OK);
    assert_int_equal(flash_keys_open(NULL, true, &parts.keys), STN_OK);
    assert_int_equal(csd_device_start(&parts, &device), STN_OK);
}

static struct csd_client *connect_as(uint16_t controller)
{
    struct csd_client *client;
    int fd;
    assert_int_equal(csd_device_connect(device, controller, &fd), STN_OK);
    assert_int_equal(csd_client_adopt(fd, "test", MEMORY, &client), STN_OK);
    return client;
}

// A client of one thread, with a namespace of its own and a model of what is in it. Problems are
// counted, since cmocka's asserts are for the main thread.
struct worker {
    int index;
    uint32_t nsid;
    int problems;
};

struct slot {
    uint8_t *data;
    uint64_t block;
    bool writes;
};

static uint8_t byte_of(uint32_t version, uint64_t block)
{
    return (uint8_t)base_mix(version * 1000003u + block);
}

static void settle(struct worker *w, const struct csd_outcome *outcome, const uint32_t *versions,
                   bool *busy)
{
    const struct slot *slot = outcome->user;
    uint8_t want = versions[slot->block] ? byte_of(versions[slot->block], slot->block) : 0;
    busy[slot->block] = false;
    w->problems += outcome->status != NVME_SUCCESS;
    if (!slot->writes) {
        w->problems += slot->data[0] != want || slot->data[4095] != want;
    }
}

static void *work(void *context)
{
    struct worker *w = context;
    struct csd_client *client = connect_as(NVME_CONTROLLER_HOST);
    struct csd_queue *queue;
    static _Thread_local uint32_t versions[BLOCKS];
    static _Thread_local bool busy[BLOCKS];
    struct slot slots[DEPTH];
    struct base_random random = base_random_from((uint64_t)w->index);
    if (csd_queue_create(client, DEPTH, &queue) != STN_OK) {
        w->problems++;
        return NULL;
    }
    for (int i = 0; i < DEPTH; i++) {
        slots[i].data = csd_client_allocate(client, 4096);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct csd_outcome outcomes[DEPTH];
        int count, done = 0;
        for (int i = 0; i < DEPTH; i++) {
            struct slot *slot = &slots[i];
            slot->block = base_random_below(&random, BLOCKS);
            slot->writes = base_random_below(&random, 2);
            if (busy[slot->block]) { // its content is in the air
                done++;
                continue;
            }
            busy[slot->block] = true;
            if (slot->writes) {
                memset(slot->data, byte_of(++versions[slot->block], slot->block), 4096);
            }
            struct nvme_sqe command =
                csd_command(slot->writes ? NVME_IO_WRITE : NVME_IO_READ, w->nsid, slot->block, 1);
            w->problems += !csd_queue_submit(queue, &command, slot->data, 4096, slot);
        }
        csd_queue_ring(queue);
        while (done < DEPTH) {
            w->problems += csd_queue_reap(queue, true, DEPTH, outcomes, &count) != STN_OK;
            for (int i = 0; i < count; i++) {
                settle(w, &outcomes[i], versions, busy);
            }
            done += count;
        }
    }
    csd_client_close(client);
    return NULL;
}

// Clients come and go, and namespaces are made and deleted, while others read and write.
static void test_many_threads(void **state)
{
    (void)state;
    struct worker workers[CLIENTS] = {{0}};
    pthread_t threads[CLIENTS];
    start(FLASH_TIMING_COUNTED);
    struct csd_client *admin = connect_as(NVME_CONTROLLER_HOST);
    for (int i = 0; i < CLIENTS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        workers[i].index = i;
        assert_int_equal(csd_namespace_create(admin, name, BLOCKS * 4096, true, &workers[i].nsid),
                         STN_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        struct nvme_health health;
        uint32_t nsid;
        struct csd_client *passer =
            connect_as(i % 2 ? NVME_CONTROLLER_HOST : NVME_CONTROLLER_ENGINE);
        assert_int_equal(csd_namespace_create(passer, "passing", 64 * 4096, i % 3, &nsid), STN_OK);
        assert_int_equal(csd_health(admin, &health), STN_OK);
        assert_int_equal(csd_namespace_delete(passer, "passing"), STN_OK);
        csd_client_close(passer);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].problems, 0);
    }
    csd_client_close(admin);
    assert_int_equal(csd_device_close(device), STN_OK);
}

// The device is turned off while clients have commands in flight: they hear of it.
static void test_power_off_under_clients(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        uint32_t nsid;
        struct csd_queue *queue;
        start(FLASH_TIMING_OFF);
        struct csd_client *client = connect_as(NVME_CONTROLLER_HOST);
        assert_int_equal(csd_namespace_create(client, "n", BLOCKS * 4096, true, &nsid), STN_OK);
        assert_int_equal(csd_queue_create(client, DEPTH, &queue), STN_OK);
        uint8_t *data = csd_client_allocate(client, 4096);
        struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, 0, 1);
        while (csd_queue_submit(queue, &write, data, 4096, NULL)) {
        }
        csd_queue_ring(queue);
        assert_int_equal(csd_device_close(device), STN_OK);
        struct capture capture;
        struct csd_outcome outcomes[DEPTH];
        int count;
        enum stn_status status = STN_OK;
        capture_start(&capture);
        while (status == STN_OK) { // those that were taken are complete
            status = csd_queue_reap(queue, true, DEPTH, outcomes, &count);
        }
        capture_stop();
        assert_int_equal(status, STN_ERR_IO);
        assert_non_null(strstr(capture.last, "the device is gone"));
        csd_client_close(client);
    }
}

// With the timing model enforced a completion does not come before real flash would have it.
static void test_enforced_timing(void **state)
{
    (void)state;
    uint32_t nsid;
    struct csd_queue *queue;
    struct nvme_health health;
    start(FLASH_TIMING_ENFORCED);
    struct csd_client *client = connect_as(NVME_CONTROLLER_HOST);
    assert_int_equal(csd_namespace_create(client, "n", BLOCKS * 4096, true, &nsid), STN_OK);
    assert_int_equal(csd_queue_create(client, DEPTH, &queue), STN_OK);
    uint8_t *data = csd_client_allocate(client, 4096);
    for (uint64_t i = 0; i < 64; i++) {
        struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, i, 1);
        struct csd_outcome outcome;
        assert_int_equal(csd_queue_call(queue, &write, data, 4096, &outcome), STN_OK);
        assert_int_equal(outcome.status, NVME_SUCCESS);
    }
    struct csd_outcome outcome;
    struct nvme_sqe flush = csd_command(NVME_IO_FLUSH, nsid, 0, 0);
    assert_int_equal(csd_queue_call(queue, &flush, NULL, 0, &outcome), STN_OK);
    assert_int_equal(csd_health(client, &health), STN_OK);
    assert_true(health.modelled_program_ns >= 64 * UINT64_C(500000));
    csd_client_close(client);
    assert_int_equal(csd_device_close(device), STN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_power_off_under_clients),
        cmocka_unit_test(test_enforced_timing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
