#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh PRESET…: builds each preset, runs the tests that make sense in it, and ends with how long that took and
# ctest's own line for each. The preset lint is not built: scripts/lint.py reads the sources.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
export OMP_WAIT_POLICY=passive  # tests run side by side: who waits must not burn the other's core
summary=()
failed=0

# Which tests a preset runs, and what has to be built for them. The sanitizers repeat what touches memory and
# threads; exactness (test_cluster: twenty steps each of whole networks) and speed of learning are the release build's,
# and so are trainings that take their time to measure nodes: units, test_moving and test_tuning cover their code.
# cli_csd loads our plug-in into nbdkit, which has no sanitizer's runtime.
choose() {
    targets=all
    case $1 in
    asan) select=(-L 'unit|cli' -E 'style|slow|cli_tune|cli_hypertune|cli_csd|test_cluster') ;;
    # Without oneDNN: the units but for those that train whole networks step by step (LeNet's 5×5 convolutions are
    # plain loops there, and its trainings take minutes or their time limit), that measure speed or memory of oneDNN's
    # kernels (test_tuning, test_micro_batch), or that do not compute at all.
    plain) select=(-L unit -E 'test_(resume|moving|cluster|run|tuning|micro_batch)$|style|comm_|data_|fuzz_|csd_|energy_') ;;
    # libgomp is not instrumented, so TSan sees races in every parallel region: only what has threads of its own.
    tsan) select=(-R 'loader|report_|comm_|exchange_|base_lanes|train_trade|csd_(hostile|device)') targets=$(tsan_targets) ;;
    *) select=() ;;
    esac
}

tsan_targets() {
    ctest --test-dir build/tsan -N -R 'loader|report_|comm_|exchange_|base_lanes|train_trade|csd_(hostile|device)' | awk '$1 == "Test" && /#/ { print $NF }'
}

run() {
    local preset=$1 log=build/$1/test.log begin=$SECONDS built
    [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
    choose "$preset"
    # shellcheck disable=SC2086  # a list of words
    cmake --build --preset "$preset" -j "$jobs" --target $targets
    built=$SECONDS
    ctest --preset "$preset" -j "$jobs" "${select[@]}" | tee "$log" || failed=1
    summary+=("$(printf '%-8s build %3d s, tests %3d s: %s' "$preset" $((built - begin)) $((SECONDS - built)) \
        "$(grep 'tests passed' "$log" || echo 'no tests ran')")")
}

lint() {
    local begin=$SECONDS verdict='nothing found'
    scripts/lint.py || { verdict='FAILED'; failed=1; }
    summary+=("$(printf '%-8s %3d s: %s' lint $((SECONDS - begin)) "$verdict")")
}

for preset in "$@"; do
    echo "=== $preset"
    if [ "$preset" = lint ]; then lint; else run "$preset"; fi
done
echo "=== summary, $SECONDS s in all"
printf '%s\n' "${summary[@]}"
exit $failed
