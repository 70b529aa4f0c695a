#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NAME=EVENTS:FROM-TO…: images/s of trainings before, during and after steps FROM to TO, side by side.

A change takes two steps to be noticed, and a program some to warm up: judged are the steps from the third of
each stretch on, and from the seventh of the whole run.
"""
import json
import pathlib
import statistics
import sys

BAR = 24


def speeds(path, first, last):
    events = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    values = []
    for begin, end in ((7, first - 1), (first + 2, last), (last + 3, steps[-1]["step"])):
        inside = [step for step in steps if begin <= step["step"] <= end]
        whole = statistics.median(step["images"] for step in inside) if inside else 0  # the paper's changes the batch
        inside = [step for step in inside if step["images"] >= 0.8 * whole]  # the end of an epoch is short
        seconds = sum(step["seconds"] for step in inside)
        values.append(sum(step["images"] for step in inside) / seconds if seconds else 0.0)
    return values


def main():
    rows = []
    for word in sys.argv[1:]:
        name, _, place = word.partition("=")
        path, _, steps = place.rpartition(":")
        first, last = map(int, steps.split("-"))
        rows.append((name, speeds(path, first, last)))
    most = max(max(values) for _, values in rows)
    print(f"{'images/s':<24}{'before':>9}{'during':>9}{'after':>9}   while csd.1 is busy")
    for name, values in rows:
        bar = "█" * round(BAR * values[1] / most)
        print(f"{name:<24}" + "".join(f"{value:>9,.0f}" for value in values) + f"   {bar}")


if __name__ == "__main__":
    main()
