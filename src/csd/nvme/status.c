// SPDX-License-Identifier: Apache-2.0
#include "csd/nvme/status.h"

const char *nvme_status_text(unsigned status)
{
    switch (status) {
#define X(name, code, text)                                                                        \
    case code: return text;
        NVME_STATUS_MAP(X)
#undef X
    default: return "unknown status";
    }
}
