// SPDX-License-Identifier: Apache-2.0
// The two papers' experiments on virtual nodes, side by side with what they report. Whatever a
// paper prints about single devices and undisturbed runs goes in, and calibrates the model; the
// rest comes out of it: docs/papers.md has the reasons.
//
//     sim_paper_stannis → sim_paper_stannis_figure, or the same of HyperTune
//
// Speeds of single devices come from the device profiles, everything else from struct
// sim_paper_inputs: change one and see what follows. Pure but for memory.
#ifndef SIM_PAPER_H
#define SIM_PAPER_H

#include "sim/device.h"
#include "sim/energy.h"
#include "sim/sim.h"

// ---- what goes in ------------------------------------------------------------------------------

enum { SIM_PAPER_NETS = 4 };

// A row of Stannis' Table I. Its speeds are in the profiles, at these batches.
struct sim_paper_net {
    const char *net, *label;
    double parameters;
    int batch_host, batch_csd;
};

struct sim_paper_inputs {
    struct sim_paper_net nets[SIM_PAPER_NETS]; // MobileNetV2, NASNet, …
    int stannis_csds;
    int64_t public_images, private_images; // the private ones spread over all CSDs
    double macs;                           // of an image, as Table II counts operations
    double flops_per_watt;                 // of the host alone, with idle CSDs as its drives
    double joules_ssd;                     // an image, of the host alone with SSDs as its drives

    int batch_host, batch_csd;  // MobileNetV2
    int batch_half, batch_most; // of a node 4 or 6 of whose 8 cores are taken
    int64_t images;             // of an epoch
    double three_nodes;         // images a second of three hosts, undisturbed
    int hypertune_csds;
    double rack;                     // of one host and all CSDs, undisturbed
    double joules_host, joules_rack; // an image; joules_scale is for a slip of the paper
    double joules_scale;
    double parameters;
    int shuffle_batch_host, shuffle_batch_csd;
    double shuffle_parameters;
};

extern const struct sim_paper_inputs sim_paper_inputs; // as printed

// What no paper prints, found from the inputs.
struct sim_paper_calibration {
    double network_bytes_per_s; // between servers
    double tunnel_bytes_per_s;  // through a host, for all its CSDs together
    double half, most;          // slowdowns, with 4 and 6 of 8 cores taken
    double server_w;            // a host that trains, its drives included
    double csd_w;               // more for each CSD that trains
    double shuffle_host;        // images a second
};

STN_MUST_CHECK enum stn_status sim_paper_calibrate(const struct sim_devices *devices,
                                                   const struct sim_paper_inputs *inputs,
                                                   struct sim_paper_calibration *out);

// ---- what comes out ----------------------------------------------------------------------------

enum sim_paper_row_kind {
    SIM_PAPER_INPUT,     // calibrated on, so it must come out again
    SIM_PAPER_PREDICTED, // by the paper's own method
    SIM_PAPER_OURS,      // by ours, where the paper reports its own
};

struct sim_paper_row {
    enum sim_paper_row_kind kind;
    const char *where; // in the paper
    char what[96];
    const char *unit;
    double paper; // NAN: it prints no number
    double simulated;
    // Why it is more than 5 % off, if it is (NULL: it should not be); of ours, what makes the
    // change.
    const char *why;
};

enum { SIM_PAPER_ROWS_MAX = 64, SIM_PAPER_CURVES_MAX = 8, SIM_PAPER_POINTS_MAX = 64 };

struct sim_paper_curve {
    const char *label;
    bool ours;
    int count;
    double x[SIM_PAPER_POINTS_MAX], y[SIM_PAPER_POINTS_MAX];
};

struct sim_paper_report {
    const char *title;
    struct sim_paper_row rows[SIM_PAPER_ROWS_MAX];
    int row_count;
    // Its main figure: something against the number of CSDs.
    const char *figure, *y_label;
    struct sim_paper_curve curves[SIM_PAPER_CURVES_MAX];
    int curve_count;
};

// Relative; NAN where the paper has no number.
double sim_paper_error(const struct sim_paper_row *row);

typedef enum stn_status sim_paper_run(const struct sim_devices *devices,
                                      const struct sim_paper_inputs *inputs,
                                      struct sim_paper_report *out);

// Fills `out` anew: rows, and the figure's titles.
// cppcheck-suppress syntaxError ; it does not know functions declared by a type's name
STN_MUST_CHECK sim_paper_run sim_paper_stannis;
STN_MUST_CHECK sim_paper_run sim_paper_hypertune;
// Adds the figure's curves to such a report.
STN_MUST_CHECK sim_paper_run sim_paper_stannis_figure;
STN_MUST_CHECK sim_paper_run sim_paper_hypertune_figure;

#endif
