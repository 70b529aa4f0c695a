#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_bits.py BEFORE AFTER: do two builds of the program learn the same, bit for bit?

Twelve trainings (networks × policies × splits × nodes), each cut in two: some steps, a checkpoint, and a resumed rest.
Each program does all of it by itself; then every tensor of every checkpoint, the position in the data and the losses of
the steps are compared. Settings in the checkpoint's metadata may differ. Last, AFTER resumes what BEFORE saved, and
reads its plan file.

    scripts/same_bits.py old/build/stannis build/stannis        # about five minutes on two cores
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

# What training had reached. The rest of the metadata is settings, which a later program may write otherwise.
POSITIONS = ("step", "epoch", "position", "samples_seen", "epoch_loss_sum", "epoch_correct", "epoch_count", "last_loss",
             "last_accuracy", "best_accuracy")

SMALL = ["--image-size", "32", "--threads", "1", "--lr", "0.05"]
# name, nodes, network, samples, options
RUNS = [
    ("lenet alone", 1, "lenet", 600, ["--batch", "64"]),
    ("lenet uneven", 3, "lenet", 600, ["--batch", "64", "--micro-batch", "4", "--split", "9,4,3"]),
    ("lenet in turns", 2, "lenet", 600, ["--batch", "32", "--micro-batch", "4", "--split", "7,1;2,6"]),
    ("lenet balanced", 3, "lenet", 600, ["--batch", "64", "--micro-batch", "4", "--policy", "balanced"]),
    ("lenet hypertune", 2, "lenet", 600, ["--batch", "64", "--micro-batch", "4", "--policy", "hypertune", "--no-tune"]),
    ("lenet nesterov step", 1, "lenet", 600,
     ["--batch", "48", "--nesterov", "--schedule", "step", "--label-smoothing", "0.1"]),
    ("mobilenet_v2 alone", 1, "mobilenet_v2", 192, ["--batch", "32"]),
    ("mobilenet_v2 static", 2, "mobilenet_v2", 192, ["--batch", "32", "--micro-batch", "8", "--policy", "static", "--no-tune"]),
    ("squeezenet uniform", 2, "squeezenet1_1", 192, ["--batch", "32", "--micro-batch", "8", "--policy", "uniform", "--no-tune"]),
    ("resnet18 uneven", 2, "resnet18", 96, ["--batch", "32", "--micro-batch", "8", "--split", "3,1"]),
    ("lenet fp16 wire", 2, "lenet", 600, ["--batch", "64", "--micro-batch", "8", "--wire", "fp16", "--split", "5,3"]),
    ("lenet in float", 1, "lenet", 600, ["--batch", "64", "--micro-batch", "8", "--no-exact"]),
]


def command(program, nodes, arguments):
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(nodes)]
    return (launcher if nodes > 1 else []) + [os.path.abspath(program)] + arguments


def run(program, nodes, arguments):
    """The losses of its steps."""
    done = subprocess.run(command(program, nodes, ["train", "--progress", "json"] + arguments), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
    events = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return [(event["step"], event["loss"]) for event in events if event.get("event") == "step"]


def checkpoint(path):
    """Its tensors as bytes, by name, and where it stands."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    about = header.pop("__metadata__")
    tensors = {name: (info["dtype"], tuple(info["shape"]), data[slice(*info["data_offsets"])])
               for name, info in header.items()}
    return tensors, {key: about[f"stannis.{key}"] for key in POSITIONS}


def train(program, folder, nodes, net, samples, options):
    """Five steps, then on to nine: the losses and both checkpoints."""
    common = ["--net", net, "--data", f"synthetic:{samples}", "--seed", "7", "--epochs", "3", "--out", folder]
    losses = run(program, nodes, common + SMALL + options + ["--steps", "5"])
    path = os.path.join(folder, "last.safetensors")
    first = checkpoint(path)
    losses += run(program, nodes, common + SMALL + options + ["--steps", "9", "--resume", path])
    return losses, first, checkpoint(path)


def differences(before, after):
    """What is not equal, in words."""
    found = []
    if before[0] != after[0] or not before[0]:
        found.append("losses")
    for name, old, new in (("5 steps", before[1], after[1]), ("9 steps", before[2], after[2])):
        if old[0].keys() != new[0].keys():
            found.append(f"{name}: names of tensors")
        found += [f"{name}: {key}" for key in old[0] if new[0].get(key) != old[0][key]]
        if old[1] != new[1] or not old[1]:
            found.append(f"{name}: position {old[1]} / {new[1]}")
    return found


def compare_runs(before, after, folder):
    failed, tensors = 0, 0
    for name, nodes, net, samples, options in RUNS:
        both = [train(program, os.path.join(folder, f"{name} {side}".replace(" ", "_")), nodes, net, samples, options)
                for side, program in (("before", before), ("after", after))]
        found = differences(*both)
        failed += bool(found)
        tensors += len(both[0][1][0]) + len(both[0][2][0])
        print(f"{name:24} {'equal' if not found else 'DIFFERS: ' + ', '.join(found[:4])}", flush=True)
    return failed, tensors


def compare_old_files(before, after, folder):
    """AFTER goes on from BEFORE's checkpoint, and trains by BEFORE's plan."""
    old = os.path.join(folder, "lenet_alone_before")
    saved, plan = os.path.join(old, "last.safetensors"), os.path.join(folder, "plan.json")
    ends = []
    for program, name in ((before, "b"), (after, "a")):
        out = os.path.join(folder, "resumed_" + name)
        run(program, 1, ["--resume", saved, "--steps", "12", "--out", out, "--threads", "1"])
        ends.append(checkpoint(os.path.join(out, "last.safetensors")))
    resumed = ends[0] == ends[1]
    print(f"{'an old checkpoint':24} {'equal' if resumed else 'DIFFERS'}")
    sizes = ["--net", "lenet", "--data", "synthetic:600", "--batch", "64", "--micro-batch", "8", "--image-size", "32"]
    subprocess.run(command(before, 2, ["tune", "--out", plan, "--tune-seconds", "1"] + sizes), check=True, capture_output=True)
    planned = subprocess.run(command(after, 2, ["train", "--plan", plan, "--steps", "2", "--out", folder + "/planned"] + sizes),
                             capture_output=True, text=True)
    print(f"{'an old plan file':24} {'read' if planned.returncode == 0 else 'REFUSED: ' + planned.stderr.strip()}")
    return (not resumed) + (planned.returncode != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    chosen = parser.parse_args()
    os.environ["OMP_WAIT_POLICY"] = "passive"
    with tempfile.TemporaryDirectory() as folder:
        failed, tensors = compare_runs(chosen.before, chosen.after, folder)
        failed += compare_old_files(chosen.before, chosen.after, folder)
    print(f"{len(RUNS)} runs, {2 * len(RUNS)} checkpoints, {tensors} tensors: {failed or 'nothing'} differs")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
