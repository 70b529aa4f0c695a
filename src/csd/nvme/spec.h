// SPDX-License-Identifier: Apache-2.0
// Structures and numbers of the NVM Express base specification (2.0) and its NVM command set, as
// far as the device has them. Little-endian, as every machine that Stannis runs on.
#ifndef CSD_NVME_SPEC_H
#define CSD_NVME_SPEC_H

#include <stddef.h>
#include <stdint.h>

enum {
    NVME_PAGE_BYTES = 4096,  // CC.MPS: the one size of memory pages
    NVME_BLOCK_BYTES = 4096, // the one LBA format
    NVME_BLOCK_SHIFT = 12,
    NVME_TRANSFER_PAGES = 256, // MDTS: most of a command's data, in pages
    NVME_TRANSFER_SHIFT = 8,
    NVME_NSID_ALL = -1, // FFFFFFFFh
};

// Controllers of a device.
enum { NVME_CONTROLLER_HOST = 1, NVME_CONTROLLER_ENGINE = 2 };

enum nvme_admin_opcode {
    NVME_ADMIN_DELETE_SQ = 0x00,
    NVME_ADMIN_CREATE_SQ = 0x01,
    NVME_ADMIN_GET_LOG = 0x02,
    NVME_ADMIN_DELETE_CQ = 0x04,
    NVME_ADMIN_CREATE_CQ = 0x05,
    NVME_ADMIN_IDENTIFY = 0x06,
    NVME_ADMIN_ABORT = 0x08,
    NVME_ADMIN_SET_FEATURES = 0x09,
    NVME_ADMIN_GET_FEATURES = 0x0a,
    NVME_ADMIN_NAMESPACE_MANAGEMENT = 0x0d,
    NVME_ADMIN_NAMESPACE_ATTACHMENT = 0x15,
};

enum nvme_io_opcode {
    NVME_IO_FLUSH = 0x00,
    NVME_IO_WRITE = 0x01,
    NVME_IO_READ = 0x02,
    NVME_IO_WRITE_ZEROES = 0x08,
    NVME_IO_DATASET_MANAGEMENT = 0x09,
    NVME_IO_RESERVATION_REGISTER = 0x0d,
    NVME_IO_RESERVATION_REPORT = 0x0e,
    NVME_IO_RESERVATION_ACQUIRE = 0x11,
    NVME_IO_RESERVATION_RELEASE = 0x15,
};

enum nvme_identify_cns {
    NVME_CNS_NAMESPACE = 0x00,
    NVME_CNS_CONTROLLER = 0x01,
    NVME_CNS_ACTIVE_LIST = 0x02,
    NVME_CNS_DESCRIPTORS = 0x03,
    NVME_CNS_ALLOCATED_LIST = 0x10,
    NVME_CNS_ALLOCATED_NAMESPACE = 0x11,
    NVME_CNS_ATTACHED_CONTROLLERS = 0x12,
    NVME_CNS_CONTROLLERS = 0x13,
};

enum nvme_log_page { NVME_LOG_ERROR = 0x01, NVME_LOG_SMART = 0x02, NVME_LOG_VENDOR = 0xc0 };

enum nvme_feature {
    NVME_FEATURE_WRITE_CACHE = 0x06,
    NVME_FEATURE_QUEUES = 0x07,
    NVME_FEATURE_HOST_ID = 0x81,
    NVME_FEATURE_WRITE_PROTECT = 0x84,
};

// Submission queue entry.
struct nvme_sqe {
    uint8_t opcode;
    uint8_t flags; // FUSE, PSDT: both 0 here
    uint16_t cid;
    uint32_t nsid;
    uint32_t cdw2, cdw3;
    uint64_t mptr;
    uint64_t prp1, prp2;
    uint32_t cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};

// Completion queue entry. `status` holds the phase in its lowest bit.
struct nvme_cqe {
    uint32_t result, result_high;
    uint16_t sq_head, sq_id;
    uint16_t cid, status;
};

struct nvme_dataset_range {
    uint32_t attributes, blocks;
    uint64_t first;
};

struct nvme_identify_controller {
    uint16_t vid, ssvid;
    char serial[20], model[40], firmware[8];
    uint8_t rab, ieee[3], cmic, mdts;
    uint16_t cntlid;
    uint32_t version, rtd3r, rtd3e, oaes, ctratt;
    uint16_t rrls;
    uint8_t reserved102[9], cntrltype, fguid[16], reserved128[128];
    uint16_t oacs;
    uint8_t acl, aerl, frmw, lpa, elpe, npss, avscc, apsta;
    uint16_t wctemp, cctemp, mtfa;
    uint32_t hmpre, hmmin;
    uint64_t tnvmcap[2], unvmcap[2];
    uint8_t reserved312[200], sqes, cqes;
    uint16_t maxcmd;
    uint32_t nn;
    uint16_t oncs, fuses;
    uint8_t fna, vwc;
    uint16_t awun, awupf;
    uint8_t icsvscc, nwpc;
    uint16_t acwu, reserved534;
    uint32_t sgls, mnan;
    uint8_t reserved544[224];
    char subnqn[256];
    uint8_t reserved1024[3072];
};

struct nvme_identify_namespace {
    uint64_t nsze, ncap, nuse;
    uint8_t nsfeat, nlbaf, flbas, mc, dpc, dps, nmic, rescap, fpi, dlfeat;
    uint16_t nawun, nawupf, nacwu, nabsn, nabo, nabspf, noiob;
    uint64_t nvmcap[2];
    uint16_t npwg, npwa, npdg, npda, nows, mssrl;
    uint32_t mcl;
    uint8_t msrc, reserved81[11];
    uint32_t anagrpid;
    uint8_t reserved96[3], nsattr;
    uint16_t nvmsetid, endgid;
    uint8_t nguid[16], eui64[8];
    uint32_t lbaf[64];
    uint8_t reserved384[640];
    char name[32]; // vendor specific: what people call it; ends with a zero
    uint8_t reserved1056[3040];
};

struct nvme_error_entry {
    uint64_t count;
    uint16_t sqid, cid, status, location;
    uint64_t lba;
    uint32_t nsid;
    uint8_t vendor, trtype, reserved30[2];
    uint64_t command_specific;
    uint8_t reserved40[24];
};

// The 128-bit counters are two words, the lower first; the upper stays 0.
struct nvme_smart_log {
    uint8_t critical_warning, temperature[2], spare, spare_threshold, percentage_used;
    uint8_t endurance_warning, reserved7[25];
    uint64_t units_read[2], units_written[2], reads[2], writes[2], busy_minutes[2];
    uint64_t power_cycles[2], power_on_hours[2], unsafe_shutdowns[2], media_errors[2];
    uint64_t error_entries[2];
    uint8_t reserved192[320];
};

struct nvme_controller_list {
    uint16_t count, ids[2047];
};

// As Reservation Report gives it with the extended data structure.
struct nvme_registrant {
    uint16_t cntlid;
    uint8_t holder, reserved3[5];
    uint64_t key;
    uint8_t host_id[16];
    uint8_t reserved32[32];
};

struct nvme_reservation_status {
    uint32_t generation;
    uint8_t type;
    uint8_t registrants[2]; // a number of two bytes
    uint8_t reserved7[2], ptpls, reserved10[54];
};

enum nvme_reservation {
    NVME_RESERVED_NOT,
    NVME_RESERVED_WRITE,             // write exclusive
    NVME_RESERVED_ACCESS,            // exclusive access
    NVME_RESERVED_WRITE_REGISTRANTS, // the same, for all but registrants
    NVME_RESERVED_ACCESS_REGISTRANTS,
    NVME_RESERVED_WRITE_ALL, // and every registrant holds it
    NVME_RESERVED_ACCESS_ALL,
};

_Static_assert(sizeof(struct nvme_sqe) == 64, "a submission queue entry");
_Static_assert(sizeof(struct nvme_cqe) == 16, "a completion queue entry");
_Static_assert(sizeof(struct nvme_dataset_range) == 16, "a range");
_Static_assert(sizeof(struct nvme_identify_controller) == 4096, "a controller");
_Static_assert(offsetof(struct nvme_identify_controller, cntlid) == 78, "CNTLID");
_Static_assert(offsetof(struct nvme_identify_controller, cntrltype) == 111, "CNTRLTYPE");
_Static_assert(offsetof(struct nvme_identify_controller, oacs) == 256, "OACS");
_Static_assert(offsetof(struct nvme_identify_controller, tnvmcap) == 280, "TNVMCAP");
_Static_assert(offsetof(struct nvme_identify_controller, sqes) == 512, "SQES");
_Static_assert(offsetof(struct nvme_identify_controller, vwc) == 525, "VWC");
_Static_assert(offsetof(struct nvme_identify_controller, mnan) == 540, "MNAN");
_Static_assert(offsetof(struct nvme_identify_controller, subnqn) == 768, "SUBNQN");
_Static_assert(sizeof(struct nvme_identify_namespace) == 4096, "a namespace");
_Static_assert(offsetof(struct nvme_identify_namespace, nvmcap) == 48, "NVMCAP");
_Static_assert(offsetof(struct nvme_identify_namespace, anagrpid) == 92, "ANAGRPID");
_Static_assert(offsetof(struct nvme_identify_namespace, nguid) == 104, "NGUID");
_Static_assert(offsetof(struct nvme_identify_namespace, name) == 1024, "the vendor's part");
_Static_assert(sizeof(struct nvme_error_entry) == 64, "an error log entry");
_Static_assert(sizeof(struct nvme_smart_log) == 512, "the SMART log");
_Static_assert(sizeof(struct nvme_registrant) == 64, "a registrant");
_Static_assert(sizeof(struct nvme_reservation_status) == 64, "the head of the registrants");

#endif
