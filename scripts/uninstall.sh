#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh BUILD PREFIX: removes what `cmake --install BUILD --prefix PREFIX` installs, from DESTDIR if that is set,
# and the folders that are Stannis's alone; nothing else. It asks an installation into an empty folder what that is.
set -euo pipefail
build=$1 prefix=$2
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
DESTDIR=$trial cmake --install "$build" --prefix "$prefix" >/dev/null
(cd "$trial" && find . ! -type d -print0) | while IFS= read -r -d '' file; do
    rm -f "${DESTDIR:-}/${file#./}"
done
(cd "$trial" && find . -depth -type d -path '*stannis*' -print0) | while IFS= read -r -d '' folder; do
    rmdir --ignore-fail-on-non-empty "${DESTDIR:-}/${folder#./}" 2>/dev/null || true
done
