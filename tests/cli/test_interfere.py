# SPDX-License-Identifier: Apache-2.0
"""--interfere as a user gives it: other programs in a node's share, seen in the events, and gone with the node."""
import json
import os
import signal
import subprocess
import unittest

from program import SMALL, STANNIS, NodesTest
from test_cluster import EMULATE, processes_with

STEPS = ["--micro-batch", "4", "--batch", "48", "--steps", "12", "--epochs", "100"]


class InterfereTest(NodesTest):
    def test_mistakes(self):
        for text, says in (("csd.0@5:busy*1", "NODE@FROM-TO:LOAD"), ("csd.0@9-5:busy*1", "are no steps"),
                           ("csd.0@1-5:tar*1", "gzip*K or busy*K"), ("csd.O@1-5:busy*1", "did you mean csd.0?")):
            self.fail_with_one_line(2, "train", *SMALL, *EMULATE, "--interfere", text, "--out", "out", says=(says,))

    def test_events_say_what_each_node_did(self):
        self.succeed("train", *SMALL, *STEPS, *EMULATE, "--interfere", "csd.0@3-10:busy*3", "--policy", "static",
                            "--events", "events.jsonl", "--out", "out")
        events = [json.loads(line) for line in (self.folder / "events.jsonl").read_text().splitlines()]
        self.assertEqual(events[0]["nodes"], ["host", "csd.0", "csd.1"])
        steps = [event for event in events if event["event"] == "step"]
        self.assertEqual(len(steps), 12)
        for step in steps:
            self.assertEqual(sum(step["split"]), 12)
            for key in ("compute_s", "wait_s", "slowdown"):
                self.assertEqual(len(step[key]), 3)

    def start_loaded(self):
        process = subprocess.Popen(
            [os.path.abspath(STANNIS), "train", *SMALL, *EMULATE, "--epochs", "100000", "--interfere",
             "csd.0@1-1000000:busy*2", "--out", str(self.folder / "out"), "--progress", "none"],
            cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        return process

    def test_the_load_is_in_the_share_and_ends_with_its_node(self):
        process = self.start_loaded()
        node, children = self.wait_until(self.loaded_node, "a load")
        for child in children:  # in the node's group, or with v1 in that of loads within it
            self.assertEqual(groups_of(child).replace("/load\n", "\n"), groups_of(node))
        os.kill(node, signal.SIGKILL)
        process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.wait_until(lambda: not processes_with(str(self.folder)), "the end of all programs")

    def test_the_load_ends_with_launcher_and_node(self):
        process = self.start_loaded()
        node, _ = self.wait_until(self.loaded_node, "a load")
        process.kill()
        try:
            os.kill(node, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the launcher's death was the faster
        process.communicate(timeout=120)
        self.wait_until(lambda: not processes_with(str(self.folder)), "the end of all programs")

    def loaded_node(self):
        """The node whose starter has two children like itself, and these."""
        pids = processes_with(str(self.folder / "out"))
        children = {pid: [child for child in pids if parent_of(child) == pid] for pid in pids}
        return next(((parent_of(starter), found) for starter, found in children.items()
                     if len(found) == 2 and is_node(parent_of(starter))), None)

    def test_a_training_never_forks(self):
        """A node makes one process, its starter, before it has threads; all others are the starter's."""
        done = subprocess.run(
            ["strace", "-ff", "-qq", "-e", "trace=clone,clone3,fork,vfork,execve", "-o", str(self.folder / "calls"),
             os.path.abspath(STANNIS), "train", *SMALL, *STEPS, *EMULATE, "--interfere", "csd.0@2-5:busy*2,host@3-4:busy*1",
             "--no-tune", "--out", str(self.folder / "out")],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = {int(path.suffix[1:]): path.read_text().splitlines() for path in self.folder.glob("calls.*")}
        threads = {made(line) for lines in calls.values() for line in lines if is_thread(line)}
        nodes = {pid: lines for pid, lines in calls.items() if any(map(is_thread, lines))
                 and any(line.startswith(f'execve("{os.path.realpath(STANNIS)}"') for line in lines)}
        self.assertEqual(len(nodes), 3)
        programs = 0
        for pid, lines in nodes.items():
            births = [line for line in lines if made(line)]
            self.assertEqual([made(line) > 0 and not is_thread(line) for line in births], [True] + [False] * (len(births) - 1))
            programs += sum(made(line) > 0 for line in calls[made(births[0])])
        self.assertEqual(programs, 3)
        for thread in threads & set(calls):
            self.assertFalse([line for line in calls[thread] if made(line) and not is_thread(line)])


def made(line):
    """The process or thread that a call of strace's made; 0: none."""
    call, _, result = line.rpartition(" = ")
    return int(result.split()[0]) if call.startswith(("clone", "fork", "vfork")) and result[0].isdigit() else 0


def is_thread(line):
    return "CLONE_THREAD" in line and made(line) > 0


def proc(pid, file):
    try:
        with open(f"/proc/{pid}/{file}", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def parent_of(pid):
    fields = proc(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else 0


def groups_of(pid):
    return proc(pid, "cgroup")


def is_node(pid):
    return "OMPI_COMM_WORLD_RANK=" in proc(pid, "environ")


if __name__ == "__main__":
    unittest.main()
