// SPDX-License-Identifier: Apache-2.0
// The NVM command set over shared memory: what it does to data, and what it refuses.
#include <string.h>

#include "fixture.h"
#include "rig.h"

static struct rig rig;
static struct csd_client *client;
static struct csd_queue *queue;
static uint32_t nsid;
static uint8_t *data;

enum { BLOCKS = 512, DATA_BYTES = 2 << 20 };

static int set_up(void **state)
{
    (void)state;
    rig_start(&rig);
    client = rig_client(&rig, NVME_CONTROLLER_HOST);
    queue = rig_queue(client, 32);
    nsid = rig_namespace(client, "data", BLOCKS, true);
    data = csd_client_allocate(client, DATA_BYTES);
    assert_non_null(data);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    csd_client_close(client);
    rig_stop(&rig);
    return 0;
}

static enum nvme_status io(enum nvme_io_opcode opcode, uint64_t first, uint32_t blocks, void *where)
{
    return rig_call(queue, csd_command(opcode, nsid, first, blocks), where,
                    blocks * NVME_BLOCK_BYTES);
}

static void fill(uint8_t *at, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        at[i] = (uint8_t)(seed >> 24);
    }
}

// One page, two pages, a list; at a page's beginning and within one.
static void test_reads_what_was_written(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 64, 256};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (uint32_t offset = 0; offset < NVME_PAGE_BYTES; offset += 1364) {
            size_t bytes = (size_t)counts[i] * NVME_BLOCK_BYTES;
            static uint8_t before[256 * NVME_BLOCK_BYTES];
            fill(data + offset, bytes, counts[i] + offset);
            memcpy(before, data + offset, bytes);
            assert_int_equal(io(NVME_IO_WRITE, 7, counts[i], data + offset), NVME_SUCCESS);
            memset(data, 0, DATA_BYTES);
            assert_int_equal(io(NVME_IO_READ, 7, counts[i], data + 4 * (i + 1)), NVME_SUCCESS);
            assert_memory_equal(data + 4 * (i + 1), before, bytes);
        }
    }
}

static void test_range_is_checked(void **state)
{
    (void)state;
    assert_int_equal(io(NVME_IO_READ, BLOCKS - 1, 1, data), NVME_SUCCESS);
    assert_int_equal(io(NVME_IO_READ, BLOCKS - 1, 2, data), NVME_LBA_RANGE);
    assert_int_equal(io(NVME_IO_WRITE, BLOCKS, 1, data), NVME_LBA_RANGE);
    assert_int_equal(io(NVME_IO_READ, UINT64_MAX, 1, data), NVME_LBA_RANGE);
    assert_int_equal(io(NVME_IO_READ, UINT64_MAX - 1, 4, data), NVME_LBA_RANGE);
    assert_int_equal(io(NVME_IO_WRITE_ZEROES, BLOCKS - 1, 2, NULL), NVME_LBA_RANGE);
    // More than the controller transfers at once (MDTS).
    assert_int_equal(io(NVME_IO_READ, 0, 257, data), NVME_INVALID_FIELD);
}

static void test_trim_and_zeroes_read_as_zeros(void **state)
{
    (void)state;
    static const uint8_t zeros[NVME_BLOCK_BYTES];
    fill(data, 8 * NVME_BLOCK_BYTES, 5);
    assert_int_equal(io(NVME_IO_WRITE, 0, 8, data), NVME_SUCCESS);
    struct nvme_dataset_range *ranges = (void *)(data + (1 << 20));
    memset(ranges, 0, 2 * sizeof(*ranges));
    ranges[0] = (struct nvme_dataset_range){.first = 1, .blocks = 2};
    ranges[1] = (struct nvme_dataset_range){.first = 5, .blocks = 1};
    struct nvme_sqe command = {
        .opcode = NVME_IO_DATASET_MANAGEMENT, .nsid = nsid, .cdw10 = 1, .cdw11 = 4};
    assert_int_equal(rig_call(queue, command, ranges, 32), NVME_SUCCESS);
    assert_int_equal(io(NVME_IO_WRITE_ZEROES, 7, 1, NULL), NVME_SUCCESS);
    uint8_t *back = data + (1 << 16);
    assert_int_equal(io(NVME_IO_READ, 0, 8, back), NVME_SUCCESS);
    for (int i = 0; i < 8; i++) {
        bool gone = i == 1 || i == 2 || i == 5 || i == 7;
        assert_memory_equal(back + i * NVME_BLOCK_BYTES, gone ? zeros : data + i * NVME_BLOCK_BYTES,
                            NVME_BLOCK_BYTES);
    }
    ranges[1].blocks = BLOCKS; // one bad range, and none is trimmed
    ranges[0].first = 6;
    assert_int_equal(rig_call(queue, command, ranges, 32), NVME_LBA_RANGE);
    assert_int_equal(io(NVME_IO_READ, 6, 1, back), NVME_SUCCESS);
    assert_memory_equal(back, data + 6 * NVME_BLOCK_BYTES, NVME_BLOCK_BYTES);
    // Without the attribute "deallocate" it is a hint, which changes nothing.
    ranges[1].blocks = 1;
    command.cdw11 = 0;
    assert_int_equal(rig_call(queue, command, ranges, 32), NVME_SUCCESS);
    assert_int_equal(io(NVME_IO_READ, 6, 1, back), NVME_SUCCESS);
    assert_memory_equal(back, data + 6 * NVME_BLOCK_BYTES, NVME_BLOCK_BYTES);
}

static void test_flush_cache_and_unit_access(void **state)
{
    (void)state;
    struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, 0, 1);
    uint64_t before = ram_backend_flushes(rig.ram);
    assert_int_equal(rig_call(queue, write, data, NVME_BLOCK_BYTES), NVME_SUCCESS);
    assert_int_equal(ram_backend_flushes(rig.ram), before);
    write.cdw12 |= 1u << 30; // force unit access
    assert_int_equal(rig_call(queue, write, data, NVME_BLOCK_BYTES), NVME_SUCCESS);
    assert_int_equal(ram_backend_flushes(rig.ram), before + 1);
    assert_int_equal(io(NVME_IO_FLUSH, 0, 0, NULL), NVME_SUCCESS);
    struct nvme_sqe all = {.opcode = NVME_IO_FLUSH, .nsid = UINT32_MAX};
    assert_int_equal(rig_call(queue, all, NULL, 0), NVME_SUCCESS);
    assert_int_equal(ram_backend_flushes(rig.ram), before + 3);
    // Without its write cache every write is flushed; turning it off flushes what it held.
    struct nvme_sqe cache = {.opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_FEATURE_WRITE_CACHE};
    assert_int_equal(rig_admin(client, cache, CSD_NO_DATA, NULL, 0), NVME_SUCCESS);
    assert_int_equal(ram_backend_flushes(rig.ram), before + 4);
    assert_int_equal(io(NVME_IO_WRITE, 0, 1, data), NVME_SUCCESS);
    assert_int_equal(ram_backend_flushes(rig.ram), before + 5);
    struct nvme_sqe ask = {.opcode = NVME_ADMIN_GET_FEATURES, .cdw10 = NVME_FEATURE_WRITE_CACHE};
    assert_int_equal(rig_result(client, ask), 0);
}

static void test_many_in_flight(void **state)
{
    (void)state;
    struct csd_outcome outcomes[32];
    int done = 0, sent = 0, counts[64] = {0};
    while (done < 64) {
        while (sent < 64) {
            uint8_t *at = data + (size_t)sent * NVME_BLOCK_BYTES;
            struct nvme_sqe write = csd_command(NVME_IO_WRITE, nsid, (uint64_t)sent, 1);
            memset(at, sent, NVME_BLOCK_BYTES);
            if (!csd_queue_submit(queue, &write, at, NVME_BLOCK_BYTES, &counts[sent])) {
                break;
            }
            sent++;
        }
        csd_queue_ring(queue);
        int count;
        assert_int_equal(csd_queue_reap(queue, true, 32, outcomes, &count), STN_OK);
        for (int i = 0; i < count; i++) {
            assert_int_equal(outcomes[i].status, NVME_SUCCESS);
            ++*(int *)outcomes[i].user;
        }
        done += count;
    }
    assert_int_equal(csd_queue_in_flight(queue), 0);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(counts[i], 1);
        assert_int_equal(io(NVME_IO_READ, (uint64_t)i, 1, data), NVME_SUCCESS);
        assert_int_equal(data[i], i);
    }
}

static void test_wrong_commands(void **state)
{
    (void)state;
    struct nvme_sqe command = {.opcode = 0x7f, .nsid = nsid};
    assert_int_equal(rig_call(queue, command, NULL, 0), NVME_INVALID_OPCODE);
    assert_int_equal(rig_admin(client, command, CSD_NO_DATA, NULL, 0), NVME_INVALID_OPCODE);
    command = csd_command(NVME_IO_READ, nsid, 0, 1);
    command.flags = 1; // fused
    assert_int_equal(rig_call(queue, command, data, NVME_BLOCK_BYTES), NVME_INVALID_FIELD);
    command.flags = 0x40; // a scatter-gather list
    assert_int_equal(rig_call(queue, command, data, NVME_BLOCK_BYTES), NVME_INVALID_FIELD);
    command = csd_command(NVME_IO_READ, 0, 0, 1);
    assert_int_equal(rig_call(queue, command, data, NVME_BLOCK_BYTES), NVME_INVALID_NAMESPACE);
    command.nsid = 33;
    assert_int_equal(rig_call(queue, command, data, NVME_BLOCK_BYTES), NVME_INVALID_NAMESPACE);
    command.nsid = nsid + 1; // valid, but not active
    assert_int_equal(rig_call(queue, command, data, NVME_BLOCK_BYTES), NVME_INVALID_FIELD);
}

static void test_failures_of_the_back_end(void **state)
{
    (void)state;
    struct nvme_error_entry entries[64];
    ram_backend_fail(rig.ram, NVME_OP_READ, NVME_UNRECOVERED_READ);
    assert_int_equal(io(NVME_IO_READ, 9, 1, data), NVME_UNRECOVERED_READ);
    ram_backend_fail(rig.ram, NVME_OP_READ, NVME_SUCCESS);
    assert_int_equal(io(NVME_IO_READ, 9, 1, data), NVME_SUCCESS);
    struct nvme_sqe command = {.opcode = NVME_ADMIN_GET_LOG,
                               .nsid = UINT32_MAX,
                               .cdw10 = NVME_LOG_ERROR | (sizeof(entries) / 4 - 1) << 16};
    assert_int_equal(rig_admin(client, command, CSD_FROM_DEVICE, entries, sizeof(entries)),
                     NVME_SUCCESS);
    assert_int_equal(entries[0].count, 1);
    assert_int_equal(entries[0].status >> 1, NVME_UNRECOVERED_READ);
    assert_int_equal(entries[0].lba, 9);
    assert_int_equal(entries[0].nsid, nsid);
    assert_int_equal(entries[1].count, 0);
}

static void test_logs(void **state)
{
    (void)state;
    struct nvme_smart_log smart;
    struct nvme_health health;
    assert_int_equal(io(NVME_IO_WRITE, 0, 250, data), NVME_SUCCESS);
    assert_int_equal(io(NVME_IO_READ, 0, 1, data), NVME_SUCCESS);
    assert_int_equal(csd_smart(client, &smart), STN_OK);
    assert_int_equal(smart.units_written[0], 2); // thousands of 512 bytes
    assert_int_equal(smart.units_read[0], 1);
    assert_int_equal(smart.writes[0], 1);
    assert_int_equal(smart.reads[0], 1);
    assert_int_equal(csd_health(client, &health), STN_OK);
    assert_int_equal(health.units_written, 250);
    struct nvme_sqe command = {.opcode = NVME_ADMIN_GET_LOG, .cdw10 = 0x7f | 1023u << 16};
    uint8_t page[4096];
    assert_int_equal(rig_admin(client, command, CSD_FROM_DEVICE, page, 4096), NVME_LOG_PAGE);
    // Offsets: the second half of a page, and the zeros behind its end.
    command.cdw10 = NVME_LOG_SMART | 255u << 16;
    command.cdw12 = 256;
    memset(page, 0xee, sizeof(page));
    assert_int_equal(rig_admin(client, command, CSD_FROM_DEVICE, page, 1024), NVME_SUCCESS);
    static const uint8_t zeros[1024];
    assert_memory_equal(page, (uint8_t *)&smart + 256, 256);
    assert_memory_equal(page + 256, zeros, 768);
    command.cdw12 = 257;
    assert_int_equal(rig_admin(client, command, CSD_FROM_DEVICE, page, 1024), NVME_INVALID_FIELD);
    command.cdw12 = 516;
    assert_int_equal(rig_admin(client, command, CSD_FROM_DEVICE, page, 1024), NVME_INVALID_FIELD);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_was_written),
        cmocka_unit_test(test_range_is_checked),
        cmocka_unit_test(test_trim_and_zeroes_read_as_zeros),
        cmocka_unit_test(test_flush_cache_and_unit_access),
        cmocka_unit_test(test_many_in_flight),
        cmocka_unit_test(test_wrong_commands),
        cmocka_unit_test(test_failures_of_the_back_end),
        cmocka_unit_test(test_logs),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
