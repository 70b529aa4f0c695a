// SPDX-License-Identifier: Apache-2.0
#include "data/view.h"

#include <math.h>

#include "base/random.h"

// The usual choices for training on photographs, with a milder least area: 0.08 wants hundreds of
// epochs.
static const double area_min = 0.35, aspect_max = 4.0 / 3.0;
// Evaluation resizes the shorter side to size·8/7 and cuts out the centre, which is 7/8 of that
// side.
static const double centre_share = 7.0 / 8.0;
enum { AREA_ATTEMPTS = 10, SHIFT_DIVISOR = 8 };

// Sets augmentation apart from the other uses of a sample's key.
static const uint64_t purpose_view = 0x76696577;

static double between(struct base_random *random, double low, double high)
{
    return low + (high - low) * base_random_unit(random);
}

static struct data_view view_centre(int width, int height, double share)
{
    double edge = share * (width < height ? width : height);
    return (struct data_view){
        .x = (width - edge) / 2, .y = (height - edge) / 2, .width = edge, .height = edge};
}

static struct data_view view_area(struct base_random *random, int width, int height)
{
    for (int attempt = 0; attempt < AREA_ATTEMPTS; attempt++) {
        double area = between(random, area_min, 1.0) * width * height;
        double aspect = exp(between(random, -log(aspect_max), log(aspect_max)));
        double w = sqrt(area * aspect), h = sqrt(area / aspect);
        if (w <= width && h <= height) {
            return (struct data_view){.x = between(random, 0, width - w),
                                      .y = between(random, 0, height - h),
                                      .width = w,
                                      .height = h};
        }
    }
    return view_centre(width, height, 1.0); // a very long picture: no rectangle fitted
}

// Whole pixels, so that a picture already of the right size is shifted without being blurred.
static double shift(struct base_random *random, int edge)
{
    int most = edge / SHIFT_DIVISOR;
    return (double)base_random_below(random, 2 * (uint64_t)most + 1) - most;
}

struct data_view data_view_choose(const struct data_view_rule *rule, int width, int height)
{
    struct base_random random = base_random_from(base_key(rule->key, purpose_view));
    bool mirrored =
        base_random_u64(&random) >> 63; // always drawn: the crop does not depend on the flip
    struct data_view view;
    if (rule->fit == DATA_FIT_COVER) {
        view = rule->crop ? view_area(&random, width, height)
                          : view_centre(width, height, centre_share);
    } else {
        view = (struct data_view){.x = rule->crop ? shift(&random, width) : 0,
                                  .y = rule->crop ? shift(&random, height) : 0,
                                  .width = width,
                                  .height = height};
    }
    view.flip = rule->flip && mirrored;
    return view;
}

struct data_view data_view_scale(struct data_view view, double x_factor, double y_factor)
{
    return (struct data_view){.x = view.x * x_factor,
                              .y = view.y * y_factor,
                              .width = view.width * x_factor,
                              .height = view.height * y_factor,
                              .flip = view.flip};
}
