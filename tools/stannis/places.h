// SPDX-License-Identifier: Apache-2.0
// Where a training's files go, and where a resumed one finds them.
#ifndef TOOLS_STANNIS_PLACES_H
#define TOOLS_STANNIS_PLACES_H

#include <limits.h>
#include <stdbool.h>

#include "settings/settings.h"

// Paths that options stand for; the settings' texts may point here.
struct places {
    char resume[PATH_MAX], folder[PATH_MAX];
};

// DIR/FILE into path[size].
STN_MUST_CHECK enum stn_status places_join(const char *dir, const char *file, char *path,
                                           size_t size);
// The folder that --out says, or the usual one. "--resume last" becomes a path. A resumed run goes
// on in the folder of its checkpoint, unless --out says another. A folder that holds another
// training is refused unless it may be overwritten.
STN_MUST_CHECK enum stn_status places_settle(struct settings *settings, struct places *places);

#endif
