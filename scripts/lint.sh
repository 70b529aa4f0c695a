#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh: formatting, clang-tidy (.clang-tidy) and cppcheck. Silent and 0 when all is well.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/format.sh --check
cmake --preset lint >/dev/null
database=build/lint/compile_commands.json
python3 -c 'import json, sys; print("\0".join(e["file"] for e in json.load(open(sys.argv[1]))), end="")' "$database" |
    sort -zu | xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p build/lint 2>/dev/null
cppcheck --quiet --project="$database" --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --error-exitcode=1 -j "$(nproc)"
