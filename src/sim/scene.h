// SPDX-License-Identifier: Apache-2.0
// A virtual cluster as people describe it: a file, or shares of one device; then what disturbs it,
// by hand or as it was recorded. For 10,000 nodes a few lines do:
//
// Keys that only a training uses (host, threads) may stand there, too: cluster/entry.h has all.
//
//     nodes:
//       - name: host
//         device: xeon-4108         # a profile (sim/device.h), or its speed:
//       - name: old-box
//         speed: {fixed_s: 0.05, each_s: 0.02}       # seconds of a step, and of an image
//       - name: csd
//         device: newport
//         count: 36                 # csd.0, csd.1, …
//         share: 0.5                # of the device's speed
//         max_batch: 64             # images a step at most
//         memory: 4G                # refused if the network does not fit
//         private: 500              # samples, each; or private: FOLDER and private_samples: 500
//         noise: 0.02               # relative; noise_memory, spikes, spike_factor: sim/sim.h
//         link: {bytes_per_s: 117e6, latency_s: 50e-6}      # by default the device's
//         per_host: 36              # devices behind one host, whose link they share
//         fails_at: 300             # in this step they stop
//         loads:
//           - {from: 100, to: 200, slowdown: 2}
//           - {from: 300, slowdown: 4, shape: on-off, period: 20, on: 5}     # steady, ramp, on-off
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "base/arena.h"
#include "sim/device.h"
#include "sim/sim.h"

enum { SIM_SCENE_NODES_MAX = 100000, SIM_SCENE_KINDS_MAX = 256 };

struct sim_scene {
    struct base_arena arena; // keeps all of it
    struct sim_node *nodes;
    const struct sim_device_power **powers; // [count] borrowed from the devices; NULL: not known
    int count, capacity;
    struct sim_load *loads;
    int load_count, load_capacity;
    int kinds[SIM_SCENE_KINDS_MAX]; // first nodes of each; others are taken for one of a kind
    int kind_count;
};

struct sim_scene_config {
    const struct sim_devices *devices;
    const char *net;
    int micro_batch;     // g, images
    size_t needed_bytes; // by a node that trains this network
    double noise;        // of nodes that do not say
    const char *device;  // of nodes that name neither a device nor a speed; NULL: refused
};

// On failure there is nothing to free.
STN_MUST_CHECK enum stn_status
sim_scene_load(const char *path, const struct sim_scene_config *config, struct sim_scene *out);
// `label` stands for the file in messages.
STN_MUST_CHECK enum stn_status sim_scene_parse(const char *text, size_t bytes, const char *label,
                                               const struct sim_scene_config *config,
                                               struct sim_scene *out);
void sim_scene_fini(struct sim_scene *scene);

// One more node that is a share of a device; `where` begins a refusal. The name is copied.
STN_MUST_CHECK enum stn_status sim_scene_add(struct sim_scene *scene,
                                             const struct sim_scene_config *config,
                                             const char *name, const char *device, double share,
                                             const char *where);
// "NODE@FROM-TO:LOAD[,…]" as for training: steps from 1, no TO: to the end. LOAD is 75% (of the
// node's processor), 2x (as slow), or busy*K or gzip*K, K processes beside one thread. "csd.*" are
// all nodes that begin with csd.
STN_MUST_CHECK enum stn_status sim_scene_interfere(struct sim_scene *scene, const char *text);
// Slowdowns as they were recorded: lines of "step,node,slowdown" below such a heading, or the
// events of a training (--events): its nodes in their order, compute time over what their speed
// here foretells.
STN_MUST_CHECK enum stn_status sim_scene_trace(struct sim_scene *scene, const char *path);
STN_MUST_CHECK enum stn_status sim_scene_trace_text(struct sim_scene *scene, char *text,
                                                    size_t bytes, const char *label);

struct sim_cluster sim_scene_cluster(const struct sim_scene *scene);
int sim_scene_find(const struct sim_scene *scene, const char *name); // −1: there is none

// For the files of this folder: room for one more, copied.
STN_MUST_CHECK enum stn_status sim_scene_add_node(struct sim_scene *scene,
                                                  const struct sim_node *node,
                                                  const struct sim_device_power *power);
STN_MUST_CHECK enum stn_status sim_scene_add_load(struct sim_scene *scene,
                                                  const struct sim_load *load);

#endif
