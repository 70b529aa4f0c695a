// SPDX-License-Identifier: Apache-2.0
// A profile as tables for people, and as a timeline for trace viewers.
#ifndef STANNIS_PROFILE_VIEW_H
#define STANNIS_PROFILE_VIEW_H

#include <stdio.h>

#include "stannis/profile.h"
#include "stannis/status.h"

void profile_print(const struct stn_profile *profile, FILE *out);
STN_MUST_CHECK enum stn_status profile_write_trace(const struct stn_profile *profile,
                                                   const char *path);

#endif
