#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [SECTION…]: installs what is missing of the sections of packages.txt (build, if none is named).
# Silent and quick when nothing is missing. Without root or passwordless sudo it prints the line to run and fails.
set -euo pipefail
list=$(dirname "$0")/packages.txt
[ $# -gt 0 ] || set -- build

packages_of() {
    awk -v section="[$1]" '/^\[/ { inside = $0 == section; next } inside && NF && !/^#/' "$list"
}

missing=()
for section in "$@"; do
    packages=$(packages_of "$section")
    [ -n "$packages" ] || { echo "setup: packages.txt has no section [$section]" >&2; exit 2; }
    for package in $packages; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing+=("$package")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" = 0 ]; then
    sudo=()
elif sudo -n true 2>/dev/null; then
    sudo=(sudo)
else
    echo "setup: ${#missing[@]} Debian packages are missing. Run this line, then try again:" >&2
    echo "    sudo apt-get update && sudo ${install[*]}" >&2
    exit 1
fi
echo "setup: installing ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
