# SPDX-License-Identifier: Apache-2.0
"""What benches on emulated nodes share: starting trainings, reading what they left, splits.

Wall clocks lie on a machine that others use: compare rounds of one run, and say how busy it was (Neighbours).
"""
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BEGIN = time.monotonic()
CALM = 0.03  # part of the machine that others may use while something is measured
ROOT = pathlib.Path(__file__).resolve().parent.parent


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def note(text):
    """What a bench does now, for whoever waits."""
    print(f"     … {time.monotonic() - BEGIN:4.0f} s  {text}", file=sys.stderr, flush=True)


def run(command, what, watch=None, every=5.0):
    """Standard output of a command that must succeed; `watch` is called now and then meanwhile."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        while True:
            try:
                out, error = process.communicate(timeout=every if watch else None)
                break
            except subprocess.TimeoutExpired:
                watch()
    if process.returncode != 0:
        fail(f"{what} failed (exit {process.returncode}): "
             f"{(error.strip().splitlines() or ['no message'])[-1]}")
    return out


def add_program_option(parser):
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "stannis",
                        help="default: build/stannis")


def check_program(program):
    if not os.access(program, os.X_OK):
        fail(f"{program} is not there: run `make`, or name it with --program")


def calmly(measure, tries=2):
    """What `measure` returns when others let it: a try that they disturbed is repeated, and the calmest counts."""
    calmest = None
    for _ in range(tries):
        neighbours = Neighbours()
        found = measure()
        others = neighbours.share()
        if calmest is None or others < calmest[0]:
            calmest = others, found
        if others <= CALM:
            break
    return calmest[1]


def parse_spec(spec):
    """"host=1.0,csd*3=0.25" → [("host", 1.0), ("csd.0", 0.25), …]"""
    nodes = []
    for item in spec.split(","):
        name, cpus = item.split("=")
        name, _, count = name.partition("*")
        nodes += [(f"{name}.{i}" if count else name, float(cpus)) for i in range(int(count or 1))]
    return nodes


class Training:
    """What a finished training left: its report, if one was wanted, and its events."""

    def __init__(self, report, events):
        self.report, self.events = report, events

    def of_kind(self, kind):
        return [event for event in self.events if event["event"] == kind]

    @property
    def steps(self):
        return self.of_kind("step")


def train(program, arguments, what, launcher=(), out=None, told=None):
    """Runs `stannis train ARGUMENTS`; its folder remains if `out` names one. `told` hears now and then of
    the last step done."""
    with tempfile.TemporaryDirectory() as folder:
        report, events = pathlib.Path(folder, "report.json"), pathlib.Path(folder, "events.jsonl")

        def watch():
            text = events.read_text() if events.exists() else ""
            steps = [line for line in text.splitlines()[-20:] if line.startswith('{"event":"step"')]
            if steps and steps[-1].endswith("}"):
                told(json.loads(steps[-1]))

        run([*launcher, program, "train", *arguments, "--out", out or pathlib.Path(folder, "out"),
             "--report", report, "--events", events, "--progress", "none"], what,
            watch if told else None)
        lines = events.read_text().splitlines()
        return Training(json.loads(report.read_text()), [json.loads(line) for line in lines])


class Paused:
    """A training that stands still but when it is told to run. Several of them take turns of a few steps: what others do
    to this machine, from one second to the next, they do to all alike."""

    SETTLE = 0.05  # seconds into a step when all nodes compute: they are to be stopped alike

    def __init__(self, program, arguments, what, warm_up=2):
        self.program, self.what = os.path.realpath(program), what
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name, "events.jsonl")
        self.errors = pathlib.Path(self.folder.name, "errors")
        self.read = 0  # bytes
        self.events, self.steps = [], []
        self.spoiled = set()  # steps that it stood still in
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                list(map(str, [program, "train", *arguments, "--timeout", 600, "--out",
                               pathlib.Path(self.folder.name, "out"), "--events", self.file, "--progress", "none"])),
                stdout=subprocess.DEVNULL, stderr=errors)
        self.run_until(warm_up)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            spent, counted = sum(map(cpu_seconds, self._nodes())), Neighbours.now()["own"]
            self._signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait()
            counted = Neighbours.now()["own"] - counted
            Neighbours.uncounted += max(0.0, spent - counted)
        self.process.wait()
        self.folder.cleanup()

    def run_until(self, step):
        """Stands still again when that many steps are done, and the next has begun."""
        if len(self.steps) >= step:
            return
        self._signal(signal.SIGCONT)
        while len(self.steps) < step:
            if self.process.poll() is not None:
                self._fail()
            time.sleep(0.01)
            self._read_events()
        time.sleep(self.SETTLE)
        self._signal(signal.SIGSTOP)
        self._read_events()
        self.spoiled.add(len(self.steps) + 1)

    def turn(self, steps):
        """The next steps. The one that it stood still in, which comes first, does not count."""
        begin = len(self.steps) + 1
        self.run_until(begin + steps)
        return self.steps[begin:begin + steps]

    def finish(self):
        """Lets it run to its end."""
        self._signal(signal.SIGCONT)
        if self.process.wait() != 0:
            self._fail()
        self._read_events()
        return Training(None, self.events)

    def _fail(self):
        fail(f"{self.what} ended: {(self.errors.read_text().strip().splitlines() or ['no message'])[-1]}")

    def _signal(self, number):
        for pid in self._nodes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _nodes(self):
        """Its processes that compute, and loads of theirs that are forks; the launcher, if it starts any, does not."""
        below, found = [self.process.pid], []
        for pid in below:
            try:
                for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                    below += map(int, children.read_text().split())
                if os.readlink(f"/proc/{pid}/exe") == self.program:
                    found.append(pid)
            except OSError:
                pass  # it has ended
        return found[1:] or found

    def _read_events(self):
        if not self.file.exists() or self.file.stat().st_size == self.read:
            return
        text = self.file.read_bytes()[self.read:]
        whole = text[:text.rfind(b"\n") + 1]
        self.read += len(whole)
        self.events += map(json.loads, whole.splitlines())
        self.steps = [event for event in self.events if event["event"] == "step"]


def speed(steps, skip=2):
    """Median images/s of the steps after the first ones."""
    return statistics.median(step["images_per_second"] for step in steps[skip:])


def typical(values):
    """The mean without the best and the worst quarter: a median throws away more than a noisy machine can spare."""
    cut = len(values) // 4
    return statistics.mean(sorted(values)[cut:len(values) - cut])


def split_of(total, speeds):
    """Micro-batches in proportion to speeds, by largest remainder."""
    due = [total * s / sum(speeds) for s in speeds]
    split = [int(d) for d in due]
    for i in sorted(range(len(due)), key=lambda i: split[i] - due[i])[:total - sum(split)]:
        split[i] += 1
    return split


def cpu_seconds(pid):
    """That a process has used."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has ended
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Neighbours:
    """CPU time that others took on this machine between two moments, as a share of all CPUs: what was neither idle nor
    ours. The kernel's own sums of busy time are sampled at ticks, and up to 6 % too high where nodes sleep often; its idle
    time is measured."""

    uncounted = 0.0  # seconds of nodes that their launcher did not wait for

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        times = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]))
        own = os.times()
        return {"all": time.monotonic() * os.cpu_count(), "idle": (times[3] + times[4]) / os.sysconf("SC_CLK_TCK"),
                "own": own.user + own.system + own.children_user + own.children_system + Neighbours.uncounted}

    def share(self):
        passed = {key: value - self.begin[key] for key, value in self.now().items()}
        return max(0.0, passed["all"] - passed["idle"] - passed["own"]) / max(passed["all"], 1e-9)
