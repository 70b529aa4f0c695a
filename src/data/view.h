// SPDX-License-Identifier: Apache-2.0
// Which part of a picture the network sees: a rectangle of the stored picture, possibly mirrored,
// that is then resampled to a square. It is chosen from the picture's size alone, before decoding,
// so that a JPEG is decoded no larger than the rectangle needs. Pure; any thread.
#ifndef DATA_VIEW_H
#define DATA_VIEW_H

#include <stdbool.h>
#include <stdint.h>

enum data_fit {
    DATA_FIT_WHOLE, // the whole picture; random crop: shifted by up to 1/8, black beyond the edges
    DATA_FIT_COVER, // the centre square; random crop: 0.35–1 of the area, aspect 3/4–4/3
};

struct data_view_rule {
    enum data_fit fit;
    bool crop, flip; // random ones
    uint64_t key;    // where the randomness comes from
    int size;        // edge of the square that the view becomes
};

struct data_view {
    double x, y, width, height; // in pixels; may reach beyond the picture
    bool flip;                  // left and right change sides
};

struct data_view data_view_choose(const struct data_view_rule *rule, int width, int height);
// The same view of the same picture stored at another size.
struct data_view data_view_scale(struct data_view view, double x_factor, double y_factor);

#endif
