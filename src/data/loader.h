// SPDX-License-Identifier: Apache-2.0
// Keeps the trainer fed: worker threads read, decode and augment samples ahead of need.
//
// A batch may mix two sources: public data, and what is private to this node. Its rows are the
// public part's, then the private part's.
//
// The consumer asks for micro-batches (data_loader_request) ahead of time and takes them back in
// the same order (data_loader_next, data_loader_release). Workers fill whatever was asked; the
// result depends on the request alone, never on which worker did it or when.
//
//     request(0) request(1) … next → batch 0 → release;  request(k) next → batch 1 → release …
//
// Threads: one consumer thread; the workers are the loader's own.
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/sampler.h"
#include "stannis/dataset.h"
#include "stannis/status.h"

enum data_augment {
    DATA_AUGMENT_NONE, // resize and centre crop only
    DATA_AUGMENT_CROP, // random crop (small images: after padding; folder: random area and aspect)
    DATA_AUGMENT_FLIP, // random horizontal flip
    DATA_AUGMENT_FULL, // both
};

enum { DATA_PUBLIC, DATA_PRIVATE, DATA_SOURCES };

struct data_source {
    struct stn_dataset *dataset; // borrowed
    struct data_sampler sampler;
};

struct data_loader_config {
    enum stn_subset subset;
    // The private one's dataset may be NULL: there is none. Both must show images of the same
    // shape.
    struct data_source sources[DATA_SOURCES];
    enum data_augment augment;
    int micro_batch; // samples in a batch, g
    int threads;     // workers, ≥ 1
    int depth;       // batches in flight at most, ≥ 2
    bool skip_bad;   // leave unreadable samples out and count them, instead of failing
};

struct data_request {
    uint64_t epoch;
    struct {
        uint64_t position; // first position of the source's order in the epoch
        int count;
    } part[DATA_SOURCES]; // together 1 … micro_batch samples
};

struct data_sample_id {
    uint64_t sample; // of the subset
    int source;      // DATA_PUBLIC or DATA_PRIVATE
};

struct data_batch {
    struct data_request request;
    int count;       // samples delivered: those asked for less the skipped ones (they close ranks)
    float *images;   // [micro_batch][channels][size][size], normalised; rows beyond count are zero
    int32_t *labels; // [micro_batch]
    struct data_sample_id *samples; // [micro_batch]
    uint64_t *keys;                 // [micro_batch] randomness of each sample, see struct data_draw
};

struct data_loader_stats {
    int64_t wait_ns; // time the consumer spent waiting in next
    int64_t skipped; // bad samples left out
};

struct data_loader;

int data_request_count(const struct data_request *request);

STN_MUST_CHECK enum stn_status data_loader_create(const struct data_loader_config *config,
                                                  struct data_loader **out);
void data_loader_destroy(struct data_loader *loader);
// False when `depth` batches are already in flight.
bool data_loader_request(struct data_loader *loader, struct data_request request);
// The oldest request's batch, borrowed until release. Waits for it. ERR_CORRUPT, ERR_IO, … when a
// sample could not be read (the file was named in the log); that batch is gone, the ones after it
// can be taken. With skip_bad a batch may be left with no samples at all.
STN_MUST_CHECK enum stn_status data_loader_next(struct data_loader *loader,
                                                struct data_batch **out);
void data_loader_release(struct data_loader *loader, struct data_batch *batch);
// Drops everything asked for and not yet taken; waits for samples being made right now. What was
// made is there at once if it is asked for again next.
void data_loader_cancel(struct data_loader *loader);
struct data_loader_stats data_loader_stats(const struct data_loader *loader);

// How the images of a data set were shown to a network.
struct data_image_look {
    const char *spec; // of the data: folders show the centre square, the others the whole image
    int channels, size;
    float mean[3], std[3];
};

// One image file, as evaluation would see it in such data: into [channels][size][size].
STN_MUST_CHECK enum stn_status data_image_load(const char *path, const struct data_image_look *look,
                                               float *out);

#endif
