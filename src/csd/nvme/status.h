// SPDX-License-Identifier: Apache-2.0
// What a completion says: status code type and code as the specification numbers them, 0 for
// success. One list makes the enum and the texts.
#ifndef CSD_NVME_STATUS_H
#define CSD_NVME_STATUS_H

//        name                    code   text
#define NVME_STATUS_MAP(X)                                                                         \
    X(SUCCESS, 0x000, "success")                                                                   \
    X(INVALID_OPCODE, 0x001, "invalid command opcode")                                             \
    X(INVALID_FIELD, 0x002, "invalid field in command")                                            \
    X(CID_CONFLICT, 0x003, "command id conflict")                                                  \
    X(DATA_TRANSFER, 0x004, "data transfer error")                                                 \
    X(INTERNAL, 0x006, "internal error")                                                           \
    X(ABORTED_QUEUE_DELETED, 0x008, "aborted since its queue was deleted")                         \
    X(INVALID_NAMESPACE, 0x00b, "invalid namespace or format")                                     \
    X(SEQUENCE, 0x00c, "command sequence error")                                                   \
    X(PRP_OFFSET, 0x013, "invalid PRP offset")                                                     \
    X(OPERATION_DENIED, 0x015, "operation denied")                                                 \
    X(HOST_ID_FORMAT, 0x018, "host identifier of inconsistent format")                             \
    X(WRITE_PROTECTED, 0x020, "namespace is write protected")                                      \
    X(LBA_RANGE, 0x080, "LBA out of range")                                                        \
    X(CAPACITY, 0x081, "capacity exceeded")                                                        \
    X(NOT_READY, 0x082, "namespace not ready")                                                     \
    X(RESERVED, 0x083, "reservation conflict")                                                     \
    X(CQ_INVALID, 0x100, "completion queue invalid")                                               \
    X(QUEUE_ID, 0x101, "invalid queue identifier")                                                 \
    X(QUEUE_SIZE, 0x102, "invalid queue size")                                                     \
    X(LOG_PAGE, 0x109, "invalid log page")                                                         \
    X(QUEUE_DELETION, 0x10c, "invalid queue deletion")                                             \
    X(NOT_SAVEABLE, 0x10d, "feature identifier not saveable")                                      \
    X(NOT_CHANGEABLE, 0x10e, "feature not changeable")                                             \
    X(NAMESPACE_CAPACITY, 0x115, "namespace insufficient capacity")                                \
    X(NO_NAMESPACE_ID, 0x116, "namespace identifier unavailable")                                  \
    X(ALREADY_ATTACHED, 0x118, "namespace already attached")                                       \
    X(NAMESPACE_PRIVATE, 0x119, "namespace is private")                                            \
    X(NOT_ATTACHED, 0x11a, "namespace not attached")                                               \
    X(CONTROLLER_LIST, 0x11c, "controller list invalid")                                           \
    X(WRITE_FAULT, 0x280, "write fault")                                                           \
    X(UNRECOVERED_READ, 0x281, "unrecovered read error")

enum nvme_status {
#define X(name, code, text) NVME_##name = (code),
    NVME_STATUS_MAP(X)
#undef X
};

// "unrecovered read error"; "unknown status" for a number that is not in the list.
const char *nvme_status_text(unsigned status);

// The status in a completion's last word, without phase and flags.
static inline unsigned nvme_status_of(unsigned word)
{
    return (word >> 1) & 0x7ff;
}

#endif
