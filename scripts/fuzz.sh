#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS]: builds the libFuzzer targets and runs each for a while (20 s), starting from its corpus.
# New inputs stay in build/fuzz; a crash leaves its input there and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
[ -f build/fuzz/build.ninja ] || cmake --preset fuzz
mapfile -t targets < <(basename -s .c tests/fuzz/fuzz_*.c)
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]}"
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    found=build/fuzz/found/${name#fuzz_}
    mkdir -p "$found"
    echo "=== $name, $seconds s"
    "build/fuzz/tests/fuzz/$name" -max_total_time="$seconds" -print_final_stats=0 -verbosity=0 \
        -artifact_prefix="$found/" "$found" "tests/fuzz/corpus/${name#fuzz_}"
done
