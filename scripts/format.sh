#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check]: clang-format over all our C; --check changes nothing and fails if it would.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
find include src tools tests bench -name '*.[ch]' -print0 2>/dev/null | xargs -0 clang-format "${mode[@]}"
