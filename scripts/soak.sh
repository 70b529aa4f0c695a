#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak.sh [INPUTS]: feeds hostile clients' inputs to the device's front end under ASan and UBSan: ten million in all
# (or INPUTS), an equal part to each target, from its corpus. New inputs stay in build/fuzz/found; a crash leaves its
# input there and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
inputs=${1:-10000000}
targets=(tests/fuzz/fuzz_csd_*.c)
[ -f build/fuzz/build.ninja ] || cmake --preset fuzz
names=()
for source in "${targets[@]}"; do
    names+=("$(basename "$source" .c)")
done
cmake --build --preset fuzz -j "$(nproc)" --target "${names[@]}"
runs=$((inputs / ${#names[@]}))
for name in "${names[@]}"; do
    found=build/fuzz/found/${name#fuzz_}
    mkdir -p "$found"
    echo "=== $name, $runs inputs"
    "build/fuzz/tests/fuzz/$name" -runs="$runs" -max_len=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$found/" "$found" "tests/fuzz/corpus/${name#fuzz_}"
done
