// SPDX-License-Identifier: Apache-2.0
// Device profiles: how fast a device trains a network, what its link and its power are, and where
// that is known from. Those of the papers are built in (share/devices); more come from files.
//
//     devices:
//       - name: newport
//         title: NGD Newport, 4 Cortex-A53, 8 GB
//         power: {base: 0, idle: 0, busy: 2.7, source: …}     # watts; also can_off: true
//         link: {bytes_per_s: 537e6, latency_s: 0, through_host: true, source: …}
//         networks:
//           - net: mobilenet_v2
//             speeds:                                         # as in the papers
//               - {batch: 25, images_per_s: 3.08, source: …}
//           - net: lenet
//             fixed_s: 0.002                                  # or a line, as "stannis tune" fits
//             it: each_s: 0.0001                                  # of a step, and of an image
//             source: …
//
// A plan that "stannis tune --out" wrote is such a file too: its nodes are devices, without power
// and with links that are no bottleneck.
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "plan/curve.h"
#include "stannis/status.h"

struct sim_speed {
    int batch;
    double images_per_s;
    const char *source;
};

struct sim_device_net {
    const char *net;
    const char *source;       // of the line; NULL: it is fitted to the speeds
    struct plan_line line;    // seconds of a step with so many images
    struct sim_speed *speeds; // [speed_count] by rising batch
    int speed_count;
};

struct sim_device_power {
    double base_w; // of the box around it: fans, drives, losses
    double idle_w; // of the device alone
    double busy_w;
    bool can_off; // without work it is switched off, and draws nothing
    const char *source;
};

struct sim_device_link {
    double bytes_per_s; // 0: not known, no bottleneck
    double latency_s;   // of a message
    bool through_host;  // the host forwards everything: all such devices share bytes_per_s
    const char *source;
};

struct sim_device {
    const char *name, *title;
    struct sim_device_power power;
    struct sim_device_link link;
    struct sim_device_net *nets; // [net_count]
    int net_count;
};

// Zero-initialise.
struct sim_devices {
    struct sim_device *devices;
    int count;
    struct base_arena arena; // keeps the texts
};

void sim_devices_fini(struct sim_devices *devices);

// Each adds to what is there; a name that is there already is refused.
STN_MUST_CHECK enum stn_status sim_devices_add_builtin(struct sim_devices *devices);
STN_MUST_CHECK enum stn_status sim_devices_add_file(struct sim_devices *devices, const char *path);
// `label` stands for the file in messages.
STN_MUST_CHECK enum stn_status sim_devices_add_text(struct sim_devices *devices, const char *text,
                                                    size_t bytes, const char *label);

struct sim_device *sim_devices_find(const struct sim_devices *devices, const char *name); // or NULL
// Refused with the names there are; `where` begins the line: "--host", "rack.yaml:3: device".
STN_MUST_CHECK enum stn_status sim_devices_require(const struct sim_devices *devices,
                                                   const char *name, const char *where,
                                                   struct sim_device **out);
struct sim_device_net *sim_device_find_net(const struct sim_device *device, const char *net);
STN_MUST_CHECK enum stn_status sim_device_require_net(const struct sim_device *device,
                                                      const char *net, const char *where,
                                                      struct sim_device_net **out);
// The speed that was measured at this batch; refused if none was.
STN_MUST_CHECK enum stn_status sim_device_require_speed(const struct sim_device *device,
                                                        const char *net, int batch,
                                                        struct sim_speed **out);

#endif
