#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: a server and three small devices, emulated on this machine, train together on Fashion-MNIST (60,000 pictures of
# clothes) while another program takes most of one device and gives it back. Then the same disturbance under other ways to
# share out the work, a table, and a look at what was learned. About two minutes on two idle cores.
set -euo pipefail
cd "$(dirname "$0")/.."
stannis=build/stannis
out=build/demo
data=/usr/share/datasets/fashion-mnist
nodes='host=1.0,csd*3=0.25'
subject=(--net lenet --data fashion-mnist --batch 336 --micro-batch 8 --augment none)

show() {
    echo
    echo "\$ $*"
    "$@"
}

# Learned is learned, on one node or on four.
look() {
    scripts/idx_to_png.py "$data/t10k-images-idx3-ubyte.gz" "$data/t10k-labels-idx1-ubyte.gz" 8 "$out/pictures"
    show $stannis predict --checkpoint "$out/run/best.safetensors" --top 2 "$out"/pictures/*.png
}

mkdir -p "$out/pictures"
if ! why=$($stannis emulate "$nodes" -- true 2>&1); then
    echo "Four nodes cannot be emulated here, so this shows a training on one."
    echo "Why: ${why#stannis: error: }"
    show $stannis train "${subject[@]}" --lr 0.05 --epochs 1 --out "$out/run" --overwrite
    look
    exit
fi

echo "Four nodes: one with a whole CPU, three with a quarter of one. How fast are they, and who should do how much?"
show $stannis tune "${subject[@]}" --emulate "$nodes" --out "$out/plan.json"

cluster=(train "${subject[@]}" --lr 0.05 --emulate "$nodes" --plan "$out/plan.json" --overwrite)
echo
echo "They train. In step 60 another program, three processes strong, takes three quarters of csd.1, until step 110."
echo "Watch the shares move."
show $stannis "${cluster[@]}" --policy balanced --epochs 1 --interfere 'csd.1@60-110:busy*3' --out "$out/run" \
    --events "$out/balanced.jsonl"

echo
echo "The same program on csd.1 under other policies, from step 10 to 20 of 28:"
for policy in uniform static hypertune; do
    echo "\$ $stannis train … --policy $policy --interfere 'csd.1@10-20:busy*3' --steps 28"
    $stannis "${cluster[@]}" --policy $policy --epochs 100 --steps 28 --interfere 'csd.1@10-20:busy*3' \
        --out "$out/$policy" --events "$out/$policy.jsonl" --progress none 2>"$out/messages" ||
        { cat "$out/messages" >&2; exit 1; }
done

echo
scripts/demo_table.py uniform="$out/uniform.jsonl":10-20 static="$out/static.jsonl":10-20 \
    "the paper's HyperTune=$out/hypertune.jsonl":10-20 balanced="$out/balanced.jsonl":60-110
look
