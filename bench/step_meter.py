#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a training as soon as FOLDER/../go exists, and leaves in FOLDER/cpu the CPU seconds that it used from the end of
step FIRST to the end of step LAST, by FOLDER/events.jsonl. Starting, evaluating and saving are left out.

    step_meter.py FOLDER FIRST LAST COMMAND…
"""
import os
import pathlib
import subprocess
import sys
import time

POLL_SECONDS = 0.002


def processor_seconds(pid):
    """Of all threads of a process: the clock that clock_getcpuclockid(3) gives."""
    return time.clock_gettime(~pid << 3 | 2)


def wait_for(path, process=None):
    while not path.exists():
        if process and process.poll() is not None:
            sys.exit(process.returncode or 1)
        time.sleep(POLL_SECONDS)


def main():
    folder, first, last = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    (folder / "ready").touch()
    wait_for(folder.parent / "go")
    with subprocess.Popen(sys.argv[4:], stdout=subprocess.DEVNULL) as process:
        wait_for(folder / "events.jsonl", process)
        done, at = 0, {}
        with open(folder / "events.jsonl", encoding="utf-8") as events:
            while last not in at and process.poll() is None:
                new = events.read().count('{"event":"step"')
                done += new
                if new and done in (first, last):
                    at[done] = processor_seconds(process.pid)
                time.sleep(POLL_SECONDS)
    if process.returncode == 0 and not at.keys() >= {first, last}:
        sys.exit(f"step_meter.py: {sys.argv[4]} was too fast: the ends of steps {first} and {last} were not seen")
    if process.returncode == 0:
        (folder / "cpu").write_text(str(at[last] - at[first]))
    return process.returncode


sys.exit(main())
