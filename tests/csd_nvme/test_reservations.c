// SPDX-License-Identifier: Apache-2.0
// Reservations: two hosts by their identifiers, over the two controllers, and one without.
#include <string.h>

#include "fixture.h"
#include "rig.h"

static struct rig rig;
static struct csd_client *clients[3]; // a, b, and one without a name
static struct csd_queue *queues[3];
static uint8_t *data[3];
static uint32_t nsid;

enum { KEY_A = 0xa, KEY_B = 0xb };

static void name_host(struct csd_client *client, uint8_t first)
{
    uint8_t id[16] = {first, 1, 2, 3};
    struct nvme_sqe command = {
        .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_FEATURE_HOST_ID, .cdw11 = 1};
    assert_int_equal(rig_admin(client, command, CSD_TO_DEVICE, id, 16), NVME_SUCCESS);
    id[0]++; // a name is given once
    assert_int_equal(rig_admin(client, command, CSD_TO_DEVICE, id, 16), NVME_SEQUENCE);
}

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig);
    for (int i = 0; i < 3; i++) {
        clients[i] = rig_client(&rig, i == 1 ? NVME_CONTROLLER_ENGINE : NVME_CONTROLLER_HOST);
        queues[i] = rig_queue(clients[i], 4);
        data[i] = csd_client_allocate(clients[i], 8192);
    }
    name_host(clients[0], 'a');
    name_host(clients[1], 'n');
    nsid = rig_namespace(clients[0], "set", 16, true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        csd_client_close(clients[i]);
    }
    rig_stop(&rig);
    return 0;
}

static enum nvme_status reserve(int who, uint8_t opcode, uint32_t action, uint32_t type,
                                uint64_t current, uint64_t other)
{
    uint64_t *keys = (uint64_t *)(void *)data[who];
    struct nvme_sqe command = {.opcode = opcode, .nsid = nsid, .cdw10 = action | type << 8};
    keys[0] = current;
    keys[1] = other;
    return rig_call(queues[who], command, keys, 16);
}

static enum nvme_status enlist(int who, uint64_t key)
{
    return reserve(who, NVME_IO_RESERVATION_REGISTER, 0, 0, 0, key);
}

static enum nvme_status acquire(int who, uint32_t type, uint64_t key)
{
    return reserve(who, NVME_IO_RESERVATION_ACQUIRE, 0, type, key, 0);
}

static enum nvme_status access_it(int who, enum nvme_io_opcode opcode)
{
    return rig_call(queues[who], csd_command(opcode, nsid, 0, 1), data[who], 4096);
}

// What each of the six types lets holder, registrant and stranger do.
static void test_types(void **state)
{
    (void)state;
    static const bool registrants_write[] = {false, false, false, true, true, true, true};
    static const bool registrants_read[] = {true, true, false, true, true, true, true};
    static const bool strangers_read[] = {true, true, false, true, false, true, false};
    assert_int_equal(enlist(0, KEY_A), NVME_SUCCESS);
    assert_int_equal(enlist(1, KEY_B), NVME_SUCCESS);
    for (uint32_t type = 1; type <= 6; type++) {
        assert_int_equal(acquire(0, type, KEY_A), NVME_SUCCESS);
        assert_int_equal(access_it(0, NVME_IO_WRITE), NVME_SUCCESS);
        assert_int_equal(access_it(1, NVME_IO_WRITE),
                         registrants_write[type] ? NVME_SUCCESS : NVME_RESERVED);
        assert_int_equal(access_it(1, NVME_IO_READ),
                         registrants_read[type] ? NVME_SUCCESS : NVME_RESERVED);
        assert_int_equal(access_it(2, NVME_IO_WRITE), NVME_RESERVED);
        assert_int_equal(access_it(2, NVME_IO_READ),
                         strangers_read[type] ? NVME_SUCCESS : NVME_RESERVED);
        assert_int_equal(acquire(1, type % 6 + 1, KEY_B), NVME_RESERVED);
        assert_int_equal(reserve(0, NVME_IO_RESERVATION_RELEASE, 0, type % 6 + 1, KEY_A, 0),
                         NVME_INVALID_FIELD);
        assert_int_equal(reserve(0, NVME_IO_RESERVATION_RELEASE, 0, type, KEY_A, 0), NVME_SUCCESS);
        assert_int_equal(access_it(2, NVME_IO_WRITE), NVME_SUCCESS);
    }
    assert_int_equal(acquire(0, 0, KEY_A), NVME_INVALID_FIELD);
    assert_int_equal(acquire(0, 7, KEY_A), NVME_INVALID_FIELD);
}

static void test_keys(void **state)
{
    (void)state;
    assert_int_equal(enlist(2, 1), NVME_OPERATION_DENIED); // without a name
    assert_int_equal(acquire(0, 1, KEY_A), NVME_RESERVED); // not registered
    assert_int_equal(enlist(0, KEY_A), NVME_SUCCESS);
    assert_int_equal(enlist(0, KEY_A), NVME_SUCCESS);
    assert_int_equal(enlist(0, 99), NVME_RESERVED);
    assert_int_equal(acquire(0, 1, 99), NVME_RESERVED);
    assert_int_equal(reserve(0, NVME_IO_RESERVATION_REGISTER, 2, 0, 99, 7), NVME_RESERVED);
    assert_int_equal(reserve(0, NVME_IO_RESERVATION_REGISTER, 2, 0, KEY_A, 7), NVME_SUCCESS);
    assert_int_equal(acquire(0, 1, 7), NVME_SUCCESS);
    // A host that unregisters gives up what it holds.
    assert_int_equal(reserve(0, NVME_IO_RESERVATION_REGISTER, 1, 0, 7, 0), NVME_SUCCESS);
    assert_int_equal(access_it(1, NVME_IO_WRITE), NVME_SUCCESS);
}

static void test_preempting(void **state)
{
    (void)state;
    assert_int_equal(enlist(0, KEY_A), NVME_SUCCESS);
    assert_int_equal(enlist(1, KEY_B), NVME_SUCCESS);
    assert_int_equal(acquire(0, NVME_RESERVED_ACCESS, KEY_A), NVME_SUCCESS);
    assert_int_equal(reserve(1, NVME_IO_RESERVATION_ACQUIRE, 1, 1, KEY_B, 0x77), NVME_RESERVED);
    assert_int_equal(reserve(1, NVME_IO_RESERVATION_ACQUIRE, 1, 1, KEY_B, 0), NVME_INVALID_FIELD);
    assert_int_equal(reserve(1, NVME_IO_RESERVATION_ACQUIRE, 1, NVME_RESERVED_WRITE, KEY_B, KEY_A),
                     NVME_SUCCESS);
    assert_int_equal(access_it(0, NVME_IO_WRITE), NVME_RESERVED);
    assert_int_equal(access_it(0, NVME_IO_READ), NVME_SUCCESS);
    assert_int_equal(acquire(0, 1, KEY_A), NVME_RESERVED); // it is not registered any more
    assert_int_equal(reserve(1, NVME_IO_RESERVATION_RELEASE, 1, 0, KEY_B, 0), NVME_SUCCESS);
    assert_int_equal(access_it(0, NVME_IO_WRITE), NVME_SUCCESS);
}

static void test_report(void **state)
{
    (void)state;
    assert_int_equal(enlist(0, KEY_A), NVME_SUCCESS);
    assert_int_equal(enlist(1, KEY_B), NVME_SUCCESS);
    assert_int_equal(acquire(1, NVME_RESERVED_WRITE, KEY_B), NVME_SUCCESS);
    struct nvme_sqe command = {
        .opcode = NVME_IO_RESERVATION_REPORT, .nsid = nsid, .cdw10 = 192 / 4 - 1, .cdw11 = 1};
    assert_int_equal(rig_call(queues[2], command, data[2], 192), NVME_SUCCESS);
    const struct nvme_reservation_status *head = (void *)data[2];
    const struct nvme_registrant *registrants = (void *)(data[2] + sizeof(*head));
    assert_int_equal(head->generation, 2);
    assert_int_equal(head->type, NVME_RESERVED_WRITE);
    assert_int_equal(head->registrants[0], 2);
    assert_int_equal(registrants[0].key, KEY_A);
    assert_int_equal(registrants[0].holder, 0);
    assert_int_equal(registrants[1].key, KEY_B);
    assert_int_equal(registrants[1].holder, 1);
    assert_int_equal(registrants[1].cntlid, NVME_CONTROLLER_ENGINE);
    assert_int_equal(registrants[1].host_id[0], 'n');
    command.cdw11 = 0;
    assert_int_equal(rig_call(queues[2], command, data[2], 192), NVME_HOST_ID_FORMAT);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_preempting),
        cmocka_unit_test(test_report),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
