// SPDX-License-Identifier: Apache-2.0
// Stannis: training on machines that are not alike. The headers, in reading order.
#ifndef STANNIS_STANNIS_H
#define STANNIS_STANNIS_H

// clang-format off
#include "stannis/status.h"
#include "stannis/log.h"
#include "stannis/session.h"
#include "stannis/settings.h"
#include "stannis/dataset.h"
#include "stannis/model.h"
#include "stannis/plan.h"
#include "stannis/profile.h"
#include "stannis/train.h"
// clang-format on

#define STN_VERSION "0.1.0"

#endif
