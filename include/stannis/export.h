// SPDX-License-Identifier: Apache-2.0
// What callers of libstannis see: functions marked so, and nothing else. All have C linkage.
#ifndef STANNIS_EXPORT_H
#define STANNIS_EXPORT_H

#define STN_EXPORT __attribute__((visibility("default")))

#endif
