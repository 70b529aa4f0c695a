// SPDX-License-Identifier: Apache-2.0
// Namespaces and their controllers: a private one is, for the host's controller, as if it were not
// there.
#include <string.h>

#include "capture.h"
#include "fixture.h"
#include "rig.h"

static struct rig rig;
static struct csd_client *host, *engine;
static struct csd_queue *host_queue, *engine_queue;
static uint8_t *host_data, *engine_data;

enum { DATA_BYTES = 64 << 10 };

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig);
    host = rig_client(&rig, NVME_CONTROLLER_HOST);
    engine = rig_client(&rig, NVME_CONTROLLER_ENGINE);
    host_queue = rig_queue(host, 4);
    engine_queue = rig_queue(engine, 4);
    host_data = csd_client_allocate(host, DATA_BYTES);
    engine_data = csd_client_allocate(engine, DATA_BYTES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    csd_client_close(host);
    csd_client_close(engine);
    rig_stop(&rig);
    return 0;
}

static struct nvme_sqe identify(enum nvme_identify_cns cns, uint32_t nsid)
{
    return (struct nvme_sqe){.opcode = NVME_ADMIN_IDENTIFY, .nsid = nsid, .cdw10 = (uint32_t)cns};
}

static struct nvme_sqe attachment(uint32_t nsid, uint32_t select)
{
    return (struct nvme_sqe){
        .opcode = NVME_ADMIN_NAMESPACE_ATTACHMENT, .nsid = nsid, .cdw10 = select};
}

static void test_public_is_shared(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "shared", 16, true);
    strcpy((char *)host_data, "written by the host");
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_WRITE, nsid, 3, 1), host_data, 4096),
                     NVME_SUCCESS);
    assert_int_equal(
        rig_call(engine_queue, csd_command(NVME_IO_READ, nsid, 3, 1), engine_data, 4096),
        NVME_SUCCESS);
    assert_string_equal((char *)engine_data, "written by the host");
}

// Every command that names the private namespace gets what it gets for an id that nobody has.
static void test_private_is_not_there_for_the_host(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "secret", 16, false), nobody = nsid + 1;
    static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x08, 0x09, 0x0d, 0x0e, 0x11, 0x15};
    strcpy((char *)engine_data, "canary");
    assert_int_equal(
        rig_call(engine_queue, csd_command(NVME_IO_WRITE, nsid, 0, 1), engine_data, 4096),
        NVME_SUCCESS);
    memset(host_data, 0xa5, DATA_BYTES);
    for (size_t i = 0; i < sizeof(opcodes); i++) {
        struct nvme_sqe command = csd_command((enum nvme_io_opcode)opcodes[i], nsid, 0, 1);
        enum nvme_status status = rig_call(host_queue, command, host_data, 4096);
        assert_int_equal(status, NVME_INVALID_FIELD);
        command.nsid = nobody;
        assert_int_equal(rig_call(host_queue, command, host_data, 4096), status);
    }
    for (size_t i = 0; i < DATA_BYTES; i++) {
        assert_int_equal(host_data[i], 0xa5);
    }
    uint8_t page[4096], zeros[4096] = {0};
    assert_int_equal(
        rig_admin(host, identify(NVME_CNS_NAMESPACE, nsid), CSD_FROM_DEVICE, page, 4096),
        NVME_SUCCESS);
    assert_memory_equal(page, zeros, 4096); // as of an inactive id
    assert_int_equal(
        rig_admin(host, identify(NVME_CNS_ACTIVE_LIST, 0), CSD_FROM_DEVICE, page, 4096),
        NVME_SUCCESS);
    assert_memory_equal(page, zeros, 4096);
    assert_int_equal(
        rig_admin(host, identify(NVME_CNS_DESCRIPTORS, nsid), CSD_FROM_DEVICE, page, 4096),
        NVME_INVALID_FIELD);
    struct nvme_sqe protect = {
        .opcode = NVME_ADMIN_GET_FEATURES, .nsid = nsid, .cdw10 = NVME_FEATURE_WRITE_PROTECT};
    assert_int_equal(rig_admin(host, protect, CSD_NO_DATA, NULL, 0), NVME_INVALID_FIELD);
    assert_int_equal(
        rig_call(engine_queue, csd_command(NVME_IO_READ, nsid, 0, 1), engine_data, 4096),
        NVME_SUCCESS);
    assert_string_equal((char *)engine_data, "canary");
}

static void test_private_cannot_be_attached_to_the_host(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "secret", 16, false);
    struct nvme_controller_list list = {.count = 1, .ids = {NVME_CONTROLLER_HOST}};
    static const uint16_t engine_only = NVME_CONTROLLER_ENGINE;
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_NAMESPACE_PRIVATE);
    // Not with both in one list, and not after the engine has lost it.
    list = (struct nvme_controller_list){.count = 2,
                                         .ids = {NVME_CONTROLLER_HOST, NVME_CONTROLLER_ENGINE}};
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_NAMESPACE_PRIVATE);
    list = (struct nvme_controller_list){.count = 1, .ids = {engine_only}};
    assert_int_equal(rig_admin(host, attachment(nsid, 1), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_SUCCESS);
    list.ids[0] = NVME_CONTROLLER_HOST;
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_NAMESPACE_PRIVATE);
    assert_int_equal(rig_admin(engine, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_NAMESPACE_PRIVATE);
}

static void test_attachment_is_checked(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "shared", 16, true);
    struct nvme_controller_list list = {.count = 1, .ids = {NVME_CONTROLLER_HOST}};
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_ALREADY_ATTACHED);
    assert_int_equal(rig_admin(host, attachment(nsid, 1), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_SUCCESS);
    assert_int_equal(rig_admin(host, attachment(nsid, 1), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_NOT_ATTACHED);
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_READ, nsid, 0, 1), host_data, 4096),
                     NVME_INVALID_FIELD);
    list.ids[0] = 3;
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_CONTROLLER_LIST);
    list.count = 2000;
    assert_int_equal(rig_admin(host, attachment(nsid, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_CONTROLLER_LIST);
    assert_int_equal(rig_admin(host, attachment(0, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_INVALID_NAMESPACE);
    assert_int_equal(rig_admin(host, attachment(31, 0), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_INVALID_FIELD);
}

static void test_creation_is_checked(void **state)
{
    (void)state;
    struct capture capture;
    struct csd_namespace found;
    uint32_t nsid;
    struct nvme_sqe create = {.opcode = NVME_ADMIN_NAMESPACE_MANAGEMENT};
    struct nvme_identify_namespace wish = {.nsze = 16, .ncap = 15};
    assert_int_equal(rig_admin(host, create, CSD_TO_DEVICE, &wish, sizeof(wish)),
                     NVME_INVALID_FIELD);
    wish.ncap = wish.nsze = RIG_BLOCKS + 1;
    assert_int_equal(rig_admin(host, create, CSD_TO_DEVICE, &wish, sizeof(wish)),
                     NVME_NAMESPACE_CAPACITY);
    wish.ncap = wish.nsze = 1;
    strcpy(wish.name, "line\nbreak");
    assert_int_equal(rig_admin(host, create, CSD_TO_DEVICE, &wish, sizeof(wish)),
                     NVME_INVALID_FIELD);
    memset(wish.name, 'x', sizeof(wish.name));
    assert_int_equal(rig_admin(host, create, CSD_TO_DEVICE, &wish, sizeof(wish)),
                     NVME_INVALID_FIELD);
    capture_start(&capture);
    assert_int_equal(csd_namespace_create(host, "too much", 4096, true, &nsid), STN_ERR_INVALID);
    assert_int_equal(csd_namespace_create(host, "big", 1 << 30, true, &nsid), STN_ERR_NO_SPACE);
    assert_int_equal(csd_namespace_find(host, "nobody", &found), STN_ERR_NOT_FOUND);
    assert_int_equal(capture.lines, 3);
    for (int i = 0; i < 32; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        rig_namespace(host, name, 1, i % 2);
    }
    assert_int_equal(csd_namespace_create(host, "n3", 4096, true, &nsid), STN_ERR_INVALID);
    assert_int_equal(csd_namespace_create(host, "more", 4096, true, &nsid), STN_ERR_INVALID);
    assert_non_null(strstr(capture.last, "namespace identifier unavailable"));
    assert_int_equal(csd_namespace_delete(host, "n7"), STN_OK);
    capture_stop();
    assert_int_equal(rig_namespace(host, "more", 1, true), 8); // the place that became free
}

// A back end that cannot keep a change leaves everything as it was.
static void test_failed_changes_change_nothing(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "shared", 16, true);
    struct csd_namespace all[CSD_NAMESPACES_MAX];
    int count;
    struct capture capture;
    capture_start(&capture);
    ram_backend_fail(rig.ram, NVME_OP_TAG, NVME_INTERNAL);
    assert_int_equal(csd_namespace_protect(host, nsid, true), STN_ERR_IO);
    struct nvme_controller_list list = {.count = 1, .ids = {NVME_CONTROLLER_HOST}};
    assert_int_equal(rig_admin(host, attachment(nsid, 1), CSD_TO_DEVICE, &list, sizeof(list)),
                     NVME_INTERNAL);
    ram_backend_fail(rig.ram, NVME_OP_DELETE, NVME_INTERNAL);
    assert_int_equal(csd_namespace_delete(host, "shared"), STN_ERR_IO);
    ram_backend_fail(rig.ram, NVME_OP_CREATE, NVME_INTERNAL);
    assert_int_equal(csd_namespace_create(host, "next", 4096, true, &nsid), STN_ERR_IO);
    capture_stop();
    assert_int_equal(csd_namespaces(host, all, &count), STN_OK);
    assert_int_equal(count, 1);
    assert_true(all[0].active);
    assert_false(all[0].write_protected);
    assert_int_equal(
        rig_call(host_queue, csd_command(NVME_IO_WRITE, all[0].nsid, 0, 1), host_data, 4096),
        NVME_SUCCESS);
}

static void test_write_protection(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "sealed", 16, true);
    struct capture capture;
    assert_int_equal(csd_namespace_protect(host, nsid, true), STN_OK);
    static const enum nvme_io_opcode opcodes[] = {NVME_IO_WRITE, NVME_IO_WRITE_ZEROES,
                                                  NVME_IO_DATASET_MANAGEMENT};
    for (int i = 0; i < 3; i++) {
        struct nvme_sqe command = csd_command(opcodes[i], nsid, 0, 1);
        assert_int_equal(rig_call(host_queue, command, host_data, 4096), NVME_WRITE_PROTECTED);
        assert_int_equal(rig_call(engine_queue, command, engine_data, 4096), NVME_WRITE_PROTECTED);
    }
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_READ, nsid, 0, 1), host_data, 4096),
                     NVME_SUCCESS);
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_FLUSH, nsid, 0, 0), NULL, 0),
                     NVME_SUCCESS);
    capture_start(&capture);
    assert_int_equal(csd_namespace_delete(host, "sealed"), STN_ERR_INVALID);
    capture_stop();
    struct nvme_sqe forever = {.opcode = NVME_ADMIN_SET_FEATURES,
                               .nsid = nsid,
                               .cdw10 = NVME_FEATURE_WRITE_PROTECT,
                               .cdw11 = 3};
    assert_int_equal(rig_admin(host, forever, CSD_NO_DATA, NULL, 0), NVME_INVALID_FIELD);
    forever.cdw10 |= 1u << 31;
    assert_int_equal(rig_admin(host, forever, CSD_NO_DATA, NULL, 0), NVME_NOT_SAVEABLE);
    assert_int_equal(csd_namespace_protect(host, nsid, false), STN_OK);
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_WRITE, nsid, 0, 1), host_data, 4096),
                     NVME_SUCCESS);
}

static void test_deleted_is_gone_for_all(void **state)
{
    (void)state;
    uint32_t nsid = rig_namespace(host, "short", 16, true);
    assert_int_equal(csd_namespace_delete(engine, "short"), STN_OK);
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_READ, nsid, 0, 1), host_data, 4096),
                     NVME_INVALID_FIELD);
    // The next with this id begins with zeros.
    memset(host_data, 1, 4096);
    assert_int_equal(rig_namespace(host, "next", 16, true), nsid);
    assert_int_equal(rig_call(host_queue, csd_command(NVME_IO_READ, nsid, 0, 1), host_data, 4096),
                     NVME_SUCCESS);
    assert_int_equal(host_data[0], 0);
}

static void test_controllers(void **state)
{
    (void)state;
    struct nvme_identify_controller about;
    struct nvme_controller_list list;
    uint32_t nsid = rig_namespace(host, "secret", 16, false);
    assert_int_equal(
        rig_admin(engine, identify(NVME_CNS_CONTROLLER, 0), CSD_FROM_DEVICE, &about, sizeof(about)),
        NVME_SUCCESS);
    assert_int_equal(about.cntlid, NVME_CONTROLLER_ENGINE);
    assert_int_equal(about.sqes, 0x66);
    assert_int_equal(about.cqes, 0x44);
    assert_int_equal(about.tnvmcap[0], (uint64_t)RIG_BLOCKS * 4096);
    assert_int_equal(about.unvmcap[0], (uint64_t)(RIG_BLOCKS - 16) * 4096);
    assert_int_equal(rig_admin(host, identify(NVME_CNS_ATTACHED_CONTROLLERS, nsid), CSD_FROM_DEVICE,
                               &list, sizeof(list)),
                     NVME_SUCCESS);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.ids[0], NVME_CONTROLLER_ENGINE);
    assert_int_equal(rig_admin(host, identify(0x7f, 0), CSD_FROM_DEVICE, &list, sizeof(list)),
                     NVME_INVALID_FIELD);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_is_shared),
        cmocka_unit_test(test_private_is_not_there_for_the_host),
        cmocka_unit_test(test_private_cannot_be_attached_to_the_host),
        cmocka_unit_test(test_attachment_is_checked),
        cmocka_unit_test(test_creation_is_checked),
        cmocka_unit_test(test_failed_changes_change_nothing),
        cmocka_unit_test(test_write_protection),
        cmocka_unit_test(test_deleted_is_gone_for_all),
        cmocka_unit_test(test_controllers),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
