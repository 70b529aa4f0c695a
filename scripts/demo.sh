#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: trains a small network on Fashion-MNIST (60,000 pictures of clothes), evaluates it, and lets it look at
# pictures it has never seen. About a minute on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
stannis=build/stannis
out=build/demo
data=/usr/share/datasets/fashion-mnist

show() {
    echo
    echo "\$ $*"
    "$@"
}

mkdir -p "$out/pictures"
scripts/idx_to_png.py "$data/t10k-images-idx3-ubyte.gz" "$data/t10k-labels-idx1-ubyte.gz" 8 "$out/pictures"
show $stannis train --net lenet --data fashion-mnist --epochs 2 --batch 64 --augment flip --out "$out" --overwrite
show $stannis eval --checkpoint "$out/best.safetensors"
show $stannis predict --checkpoint "$out/best.safetensors" --top 2 "$out"/pictures/*.png
