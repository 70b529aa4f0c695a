#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/files/*.json: what PyTorch computes, for test_golden.c to compare with.

A case is a network, a shape and a seed. Every weight, statistic, image and label follows from the seed
by a formula that formula.c repeats, so a golden file holds results only: loss, logits, and of every
gradient and every batch statistic a fingerprint. Results are computed in float64 from the float32
weights: they are the exact answer, not another rounding of it. Dropout is off on both sides, because
no two programs draw the same random numbers.

An activation that lies within rounding error of the kink of a ReLU falls on either side of it by chance
and changes the gradients visibly. The seeds in CASES were chosen (--search) so that none does: the
margin printed and stored is the distance of the nearest activation to its kink, in standard deviations
of float32's error there.
"""
import argparse
import contextlib
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import torchvision.models as zoo

FILES = pathlib.Path(__file__).resolve().parent / "files"

# name in Stannis -> a function of the class count; the module's parameters have Stannis's names
NETS = {
    "mobilenet_v2": lambda classes: zoo.mobilenet_v2(num_classes=classes),
    "squeezenet1_0": lambda classes: zoo.squeezenet1_0(num_classes=classes),
    "squeezenet1_1": lambda classes: zoo.squeezenet1_1(num_classes=classes),
}

# At least 64 px: below, Stannis adapts the stem and is not torchvision's network any more.
CASES = [
    # net, image size, classes, batch, label smoothing, seed
    ("mobilenet_v2", 64, 10, 4, 0.0, 4),
    ("mobilenet_v2", 75, 10, 3, 0.1, 4),
    ("mobilenet_v2", 96, 1000, 2, 0.0, 12),
    ("squeezenet1_0", 80, 10, 2, 0.0, 4),
    ("squeezenet1_1", 64, 10, 4, 0.0, 33),
    ("squeezenet1_1", 97, 1000, 2, 0.1, 1),
]
CHANNELS = 3
SAMPLES = {"logits": 64, "gradients": 16, "buffers": 2}  # elements stored of a tensor
ERROR_MAX = 2e-5  # of float32 against float64; test_golden.c allows 1e-4
MARGIN_MIN = 5.0


# ---- the formula, as in src/base/random.c and formula.c --------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def base_key(key, value):
    """Keys are one-element arrays: numpy wraps arrays silently and warns for scalars."""
    return mix(mix(key + GOLDEN) ^ (value * GOLDEN + np.uint64(0x632BE59BD9B4E019)))


def random_words(key, count):
    return mix(key + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * GOLDEN)


def fnv1a64(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return np.array([value], dtype=np.uint64)


def stream(seed, purpose, name):
    return base_key(base_key(np.array([seed], dtype=np.uint64), fnv1a64(purpose)), fnv1a64(name))


def uniform(seed, name, shape, low, high):
    words = random_words(stream(seed, "value", name), int(np.prod(shape)))
    units = (words >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return (low + (high - low) * units).astype(np.float32).reshape(shape)


def value_range(name, shape, in_batchnorm):
    """Keeps activations near 1 and most, not all, of BatchNorm's outputs between ReLU6's kinks."""
    if name == "images":
        return -1.0, 1.0
    if len(shape) > 1:  # weights of conv and fc: He, by fan-in
        bound = np.sqrt(6.0 / np.prod(shape[1:]))
        return -bound, bound
    if name.endswith("running_mean"):
        return -0.1, 0.1
    if name.endswith("running_var"):
        return 0.5, 1.5
    if name.endswith("bias"):
        return (0.5, 2.5) if in_batchnorm else (-0.1, 0.1)
    return 0.5, 1.5  # BatchNorm's weight


def fill(seed, name, shape, in_batchnorm=False):
    return torch.from_numpy(uniform(seed, name, shape, *value_range(name, shape, in_batchnorm)))


def labels_of(seed, batch, classes):
    words = random_words(stream(seed, "value", "labels"), batch)
    return torch.from_numpy((words % np.uint64(classes)).astype(np.int64))


# ---- fingerprints --------------------------------------------------------------------------------


def largest(tensor):
    return tensor.abs().max().item()


def scale(name, tensors):
    """What errors in a tensor are measured against: its largest element, for a bias also its weight's.

    A bias that the next BatchNorm takes away again has no gradient but the rounding error of a sum of
    large terms.
    """
    weight = tensors.get(name.rpartition(".")[0] + ".weight") if name.endswith(".bias") else None
    return max(largest(tensors[name]), largest(weight) if weight is not None else 0.0)


def fingerprint(seed, name, tensors, samples):
    """Norm, projection on random signs (it sees every element in its place), and a few elements."""
    tensor = tensors[name]
    flat = tensor.detach().double().numpy().reshape(-1)
    bits = random_words(stream(seed, "sign", name), flat.size) & np.uint64(1)
    signs = 1.0 - 2.0 * bits.astype(np.float64)
    if flat.size <= samples:
        at = np.arange(flat.size)
    else:
        at = random_words(stream(seed, "sample", name), samples) % np.uint64(flat.size)
    return {
        "name": name,
        "shape": list(tensor.shape),
        "norm": float(np.linalg.norm(flat)),
        "scale": scale(name, tensors),
        "projection": float(flat @ signs),
        "elements": [float(v) for v in flat[at.astype(np.int64)]],
    }


# ---- running a case ------------------------------------------------------------------------------


class Kinks:
    """Records the input of every ReLU, ReLU6 (which is a hardtanh) and max pooling of a run."""

    def __init__(self):
        self.calls = []

    @contextlib.contextmanager
    def watching(self):
        originals = {name: getattr(F, name) for name in ("relu", "hardtanh", "max_pool2d")}

        def watch(name):
            def call(x, *args, **kwargs):
                self.calls.append((name, x.detach().double().clone(), args, kwargs))
                return originals[name](x, *args, **kwargs)
            return call

        try:
            for name in originals:
                setattr(F, name, watch(name))
            yield self
        finally:
            for name, function in originals.items():
                setattr(F, name, function)


def pool_gaps(x, kernel, stride, padding):
    """Distance from the best to the second best element of each window that has a positive one."""
    edge = kernel + stride
    padded = F.pad(x, (padding, edge, padding, edge), value=-1e30)
    windows = padded.unfold(2, kernel, stride).unfold(3, kernel, stride).flatten(4)
    top = windows.topk(2, dim=-1).values
    gaps = (top[..., 0] - top[..., 1])[top[..., 0] > 0]
    return gaps[gaps > 0]


def kink_margin(exact, rounded):
    """The smallest distance to a kink in units of the rounding error (rms over the layer)."""
    margin = float("inf")
    for (name, x, args, kwargs), (_, y, _, _) in zip(exact.calls, rounded.calls):
        error = (x - y).square().mean().sqrt().item()
        if name == "max_pool2d":
            size, stride = (args[0], args[1] or args[0])
            padding = args[2] if len(args) > 2 else kwargs.get("padding", 0)
            distance = pool_gaps(x, size, stride, padding)
        else:
            distance = x.abs() if name == "relu" else torch.minimum(x.abs(), (x - 6).abs())
        if distance.numel() and error > 0:
            margin = min(margin, distance.min().item() / error)
    return margin


def build(net, classes, seed, dtype):
    module = NETS[net](classes)
    state = module.state_dict()  # tensors that share their memory with the module
    for name, tensor in state.items():
        if tensor.is_floating_point():  # all but num_batches_tracked
            in_batchnorm = name.rpartition(".")[0] + ".running_mean" in state
            tensor.copy_(fill(seed, name, tuple(tensor.shape), in_batchnorm))
    for layer in module.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
        if hasattr(layer, "momentum"):
            layer.momentum = 1.0  # running statistics become the batch's own mean and unbiased variance
    return module.to(dtype)


def run(case, dtype, backward=True):
    net, size, classes, batch, smoothing, seed = case
    module = build(net, classes, seed, dtype)
    images = fill(seed, "images", (batch, CHANNELS, size, size)).to(dtype)
    labels = labels_of(seed, batch, classes)
    kinks = Kinks()
    with torch.no_grad():
        eval_logits = module.eval()(images)
    with torch.set_grad_enabled(backward), kinks.watching():
        logits = module.train()(images)
        loss = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    if backward:
        loss.backward()
    return {
        "loss": {"loss": loss.detach()},
        "logits": {"eval_logits": eval_logits, "train_logits": logits.detach()},
        "gradients": {name: p.grad for name, p in module.named_parameters()},
        "buffers": {name: b for name, b in module.named_buffers() if b.is_floating_point()},
    }, kinks


def relative_error(exact, rounded):
    """Largest difference of any element, relative to the scale of its tensor."""
    return max(
        largest(tensor - rounded[kind][name].double()) / scale(name, tensors)
        for kind, tensors in exact.items() for name, tensor in tensors.items())


def case_name(case):
    net, size, classes, batch, _, _ = case
    return f"{net}_{size}px_{classes}c_b{batch}"


def check(case):
    """The exact result, and of two float32 implementations the worse error and kink margin."""
    exact, exact_kinks = run(case, torch.float64)
    error, margin = 0.0, float("inf")
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            rounded, kinks = run(case, torch.float32)
        error = max(error, relative_error(exact, rounded))
        margin = min(margin, kink_margin(exact_kinks, kinks))
    return exact, error, margin


def shorten(value):
    """Seven digits are plenty for comparisons at 1e-4, and keep the files small."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: shorten(v) for key, v in value.items()}
    return [shorten(v) for v in value] if isinstance(value, list) else value


def golden(case, exact, error, margin):
    net, size, classes, batch, smoothing, seed = case
    head = {
        "net": net, "image_size": size, "channels": CHANNELS, "classes": classes, "batch": batch,
        "label_smoothing": smoothing, "seed": seed, "torch": torch.__version__,
        "float32_error": float(f"{error:.2g}"), "kink_margin": float(f"{margin:.3g}"),
        "loss_sum": exact["loss"]["loss"].item(),
    }
    lists = {kind: [fingerprint(seed, name, exact[kind], samples) for name in exact[kind]]
             for kind, samples in SAMPLES.items()}
    lines = [f" {json.dumps(key)}: {json.dumps(shorten(value))}" for key, value in head.items()]
    for key, entries in lists.items():
        rows = ",\n".join("  " + json.dumps(shorten(e), separators=(",", ":")) for e in entries)
        lines.append(f" {json.dumps(key)}: [\n{rows}]" if entries else f" {json.dumps(key)}: []")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def search(case, count):
    """Prints the seeds with the widest margins; the winner goes into CASES by hand."""
    found = []
    for seed in range(1, count + 1):
        trial = case[:-1] + (seed,)
        with torch.no_grad():
            _, exact = run(trial, torch.float64, backward=False)
            _, rounded = run(trial, torch.float32, backward=False)
        found.append((kink_margin(exact, rounded), seed))
    best = sorted(found, reverse=True)[:3]
    seeds = ", ".join(f"seed {seed} margin {margin:.2f}" for margin, seed in best)
    print(f"{case_name(case)}: {seeds}", flush=True)


def make(case):
    exact, error, margin = check(case)
    text = golden(case, exact, error, margin)
    print(f"{case_name(case)}: float32 error {error:.1e}, kink margin {margin:.1f}, "
          f"{len(text) / 1024:.0f} KiB", flush=True)
    if error > ERROR_MAX or margin < MARGIN_MIN:
        raise SystemExit(f"{case_name(case)}: badly conditioned; find another seed with --search 200")
    (FILES / f"{case_name(case)}.json").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="only cases whose name contains TEXT")
    parser.add_argument("--search", metavar="N", type=int,
                        help="try N seeds a case and print the best; writes nothing")
    options = parser.parse_args()
    FILES.mkdir(exist_ok=True)
    for case in CASES:
        if options.only in case_name(case):
            search(case, options.search) if options.search else make(case)


if __name__ == "__main__":
    main()
