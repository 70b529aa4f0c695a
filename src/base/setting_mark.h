// SPDX-License-Identifier: Apache-2.0
// How a message names a setting: stn_fail(status, BASE_SETTING "batch %d: must be …", batch). The
// log puts a prefix in the mark's place: nothing in a library, "--" on the command line, which sets
// it before anything else happens.
#ifndef BASE_SETTING_MARK_H
#define BASE_SETTING_MARK_H

#define BASE_SETTING_CHAR '\1'
#define BASE_SETTING      "\1"

// `prefix` stays valid.
void base_setting_prefix(const char *prefix);

#endif
