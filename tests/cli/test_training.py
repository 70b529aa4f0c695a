# SPDX-License-Identifier: Apache-2.0
"""A training as people and programs see it: progress, events, report, files."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import program

EVENT_KEYS = {"step", "epoch", "loss", "accuracy", "images_per_second", "seconds"}
REPORT_KEYS = {"net", "images", "seconds", "images_per_second", "loss", "accuracy", "epochs", "peak_memory", "threads",
               "versions", "seed", "config", "wait_share", "skipped"}


class TrainingTest(program.ProgramTest):
    def test_files_and_report(self):
        self.train("--epochs", 2, "--seed", 5, "--report", "r.json")
        self.assertEqual(sorted(os.listdir(self.folder / "run")),
                         ["best.safetensors", "last.safetensors", "report.json"])
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report, json.loads((self.folder / "run/report.json").read_text()) |
                         {"peak_memory": report["peak_memory"]})
        self.assertLessEqual(REPORT_KEYS, set(report))
        self.assertEqual(report["net"], "lenet")
        self.assertEqual(report["images"], 192)
        self.assertEqual(report["seed"], 5)
        self.assertEqual([row["epoch"] for row in report["epochs"]], [1, 2])
        self.assertGreater(report["peak_memory"], 1 << 20)

    def test_events(self):
        self.train("--epochs", 2, "--events", "e.jsonl")
        lines = [json.loads(line) for line in (self.folder / "e.jsonl").read_text().splitlines()]
        for line in lines:
            self.assertLessEqual(EVENT_KEYS, set(line))
        steps = [line for line in lines if line["event"] == "step"]
        self.assertEqual([line["step"] for line in steps], list(range(1, 13)))
        self.assertEqual([line["epoch"] for line in steps], [1] * 6 + [2] * 6)
        self.assertEqual([line["epoch"] for line in lines if line["event"] == "epoch"], [1, 2])

    def test_events_on_a_full_disk(self):
        result = self.train("--epochs", 1, "--events", "/dev/full")
        self.assertEqual(result.stderr.count("cannot write events"), 1)
        self.assertTrue((self.folder / "run/last.safetensors").exists())

    def test_a_report_that_cannot_be_written_is_said_first(self):
        self.fail_with_one_line(1, "train", *program.SMALL, "--progress", "none", "--report", "none/r.json",
                                says="none/r.json")
        self.assertFalse((self.folder / "run").exists())

    def test_steps_end_a_run(self):
        self.train("--epochs", 5, "--steps", 7, "--report", "r.json")
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["steps"], 7)

    def test_the_same_seed_gives_the_same_weights(self):
        for out, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.train("--epochs", 1, "--seed", seed, "--out", out)
        a, b, c = (program.tensors(self.folder / out / "last.safetensors") for out in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_a_training_is_not_overwritten(self):
        self.train("--steps", 2)
        before = (self.folder / "run/last.safetensors").read_bytes()
        self.fail_with_one_line(2, "train", *program.SMALL, says=("run already holds a training", "--resume last",
                                                                  "--out", "--overwrite"))
        self.assertEqual(before, (self.folder / "run/last.safetensors").read_bytes())
        self.train("--steps", 3, "--overwrite")
        self.assertNotEqual(before, (self.folder / "run/last.safetensors").read_bytes())

    def test_plain_progress(self):
        result = self.succeed("train", *program.SMALL, "--epochs", 2)
        self.assertNotRegex(result.stderr, r"[\x00-\x09\x0b-\x1f]")
        self.assertRegex(result.stderr, r"cpu +\d+ threads? \(affinity \d+, cgroup quota (none|\d)")
        self.assertRegex(result.stderr, r"(?m)^epoch 2/2 .* %")
        self.assertIn("best validation accuracy", result.stdout)

    def test_json_progress(self):
        result = self.succeed("train", *program.SMALL, "--epochs", 1, "--progress", "json")
        events = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(events[0]["event"], "start")
        self.assertEqual(sum(event["event"] == "step" for event in events), 6)
        self.assertEqual(result.stderr, "")

    def test_no_progress(self):
        result = self.train("--epochs", 1)
        self.assertEqual((result.stdout, result.stderr), ("", ""))

    def on_terminal(self, **env):
        """Everything a terminal of 60 columns receives."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process = subprocess.Popen([os.path.abspath(program.STANNIS), "train", *program.SMALL, "--epochs", "1"],
                                   cwd=self.folder, env=self.environment(**env), stderr=slave,
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(self.reap, process)
        os.close(slave)
        shown = b""
        while True:
            try:
                shown += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
        os.close(master)
        self.assertEqual(process.wait(program.TIMEOUT), 0)
        return shown.decode()

    def test_terminal(self):
        shown = self.on_terminal(TERM="xterm", LANG="C.UTF-8")
        self.assertIn("\x1b[32m", shown)
        self.assertIn("★ best", shown)
        for line in re.findall(r"\r(epoch 1/1[^\r\n]*)\x1b\[K", shown):
            self.assertLess(len(re.sub(r"\x1b\[[0-9;]*m", "", line)), 60)

    def test_terminal_without_colour(self):
        shown = self.on_terminal(TERM="xterm", NO_COLOR="1")
        self.assertIn("\r", shown.replace("\r\n", "\n"))
        self.assertNotRegex(shown, r"\x1b\[[0-9;]*m")

    def test_dumb_terminal(self):
        shown = self.on_terminal(TERM="dumb")
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\r", shown.replace("\r\n", "\n"))


if __name__ == "__main__":
    program.main()
