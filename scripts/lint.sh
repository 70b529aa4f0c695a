#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh: formatting, clang-tidy (.clang-tidy) and cppcheck. Silent and 0 when all is well.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/format.sh --check
cmake --preset lint >/dev/null

# Each file once (generated ones are not), though the vector kernels are compiled for every instruction set and test helpers for every test.
mkdir -p build/lint/once
files() {
    python3 - build/lint/compile_commands.json build/lint/once/compile_commands.json <<'EOF'
import json, sys
commands = {entry["file"]: entry for entry in json.load(open(sys.argv[1])) if "/build/" not in entry["file"]}
json.dump(list(commands.values()), open(sys.argv[2], "w"))
print("\0".join(commands), end="")
EOF
}

files | xargs -0 -n 2 -P "$(nproc)" clang-tidy --quiet -p build/lint/once 2>/dev/null
cppcheck --quiet --project=build/lint/once/compile_commands.json --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --error-exitcode=1 -j "$(nproc)"
