// SPDX-License-Identifier: Apache-2.0
// From what the papers print of single devices and undisturbed runs to what the model needs.
#include "sim/paper.h"

const struct sim_paper_inputs sim_paper_inputs = {
    .nets =
        {
            {"mobilenet_v2", "MobileNetV2", 3.47e6, 315, 25},
            {"nasnet_mobile", "NASNet", 5.3e6, 325, 15},
            {"inception_v3", "InceptionV3", 23.83e6, 370, 16},
            {"squeezenet1_0", "SqueezeNet", 1.25e6, 850, 50},
        },
    .stannis_csds = 24,
    .public_images = 72000,
    .private_images = 12000,
    .macs = 56e6,
    .flops_per_watt = 5.87e6,
    .joules_ssd = 13.10,

    .batch_host = 180,
    .batch_csd = 15,
    .batch_half = 140,
    .batch_most = 100,
    .images = 300000,
    .three_nodes = 93.4,
    .hypertune_csds = 36,
    .rack = 99.83,
    .joules_host = 1.32,
    .joules_rack = 0.54,
    .joules_scale = 10.0,
    .parameters = 3.4e6,
    .shuffle_batch_host = 300,
    .shuffle_batch_csd = 25,
    .shuffle_parameters = 5.4e6,
};

struct speeds {
    double host;          // HyperTune's, MobileNetV2
    double stannis_host;  // Stannis', MobileNetV2
    double stannis_other; // and NASNet
};

static enum stn_status find_speeds(const struct sim_devices *devices,
                                   const struct sim_paper_inputs *in, struct speeds *out)
{
    struct sim_device *host;
    struct sim_speed *speed[3];
    enum stn_status status = sim_devices_require(devices, "xeon-4108", "device", &host);
    const struct {
        const char *net;
        int batch;
    } wanted[] = {{in->nets[0].net, in->batch_host},
                  {in->nets[0].net, in->nets[0].batch_host},
                  {in->nets[1].net, in->nets[1].batch_host}};
    for (int i = 0; i < 3 && status == STN_OK; i++) {
        status = sim_device_require_speed(host, wanted[i].net, wanted[i].batch, &speed[i]);
    }
    if (status == STN_OK) {
        *out = (struct speeds){.host = speed[0]->images_per_s,
                               .stannis_host = speed[1]->images_per_s,
                               .stannis_other = speed[2]->images_per_s};
    }
    return status;
}

// The part by which an undisturbed step is longer than its computing is the visible part of the
// exchange, in which n nodes send 2·(n − 1)/n of the gradients each.
static double exchange_s(int images, double images_per_s, double compute_s)
{
    return images / images_per_s - compute_s;
}

enum stn_status sim_paper_calibrate(const struct sim_devices *devices,
                                    const struct sim_paper_inputs *in,
                                    struct sim_paper_calibration *out)
{
    struct speeds speeds;
    enum stn_status status = find_speeds(devices, in, &speeds);
    if (status != STN_OK) {
        return status;
    }
    double bytes = 4.0 * in->parameters, compute_s = in->batch_host / speeds.host;
    int csds = in->hypertune_csds, images = in->batch_host + csds * in->batch_csd;
    double network_s = exchange_s(3 * in->batch_host, in->three_nodes, compute_s);
    double tunnel_s = exchange_s(images, in->rack, compute_s);
    if (!(network_s > 0.0 && tunnel_s > 0.0)) {
        return stn_fail(STN_ERR_INVALID,
                        "the papers' runs are faster than their nodes: three nodes %g img/s, rack "
                        "%g img/s, one host %g img/s",
                        in->three_nodes, in->rack, speeds.host);
    }
    double host_w = in->joules_scale * in->joules_host * speeds.host;
    double rack_w = in->joules_scale * in->joules_rack * in->rack;
    *out = (struct sim_paper_calibration){
        .network_bytes_per_s = 2.0 * (3 - 1) / 3 * bytes / network_s,
        .tunnel_bytes_per_s = 2.0 * csds * bytes / tunnel_s,
        // HyperTune gave the busy node as much less work as it had become slower.
        .half = (double)in->batch_host / in->batch_half,
        .most = (double)in->batch_host / in->batch_most,
        .server_w = in->macs * speeds.stannis_host / in->flops_per_watt,
        .csd_w = (rack_w - host_w) / csds,
        // Not printed; NASNet, of the same size, is this much faster on the same processor.
        .shuffle_host = speeds.host * speeds.stannis_other / speeds.stannis_host,
    };
    return STN_OK;
}
