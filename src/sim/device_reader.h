// SPDX-License-Identifier: Apache-2.0
// Device files while they are read, of either format. For the files device_*.c.
#ifndef SIM_DEVICE_READER_H
#define SIM_DEVICE_READER_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sim/device.h"
#include "stannis/plan.h"

struct sim_reader {
    struct conf conf;
    struct sim_devices *devices;
};

enum stn_status sim_reader_fail_memory(const struct sim_reader *reader);
// Copies a text that would go with the document; NULL stays. False: no memory.
bool sim_reader_keep(struct sim_reader *reader, const char **text);
// Room for so many devices behind those there are.
STN_MUST_CHECK enum stn_status sim_reader_reserve(struct sim_reader *reader, int count);

// The nodes of a plan that "stannis tune --out" wrote are devices.
STN_MUST_CHECK enum stn_status sim_reader_add_plan(struct sim_reader *reader,
                                                   const struct stn_plan *plan);

#endif
