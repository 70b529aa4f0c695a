# SPDX-License-Identifier: Apache-2.0
"""Trainings on several nodes of this machine, as a user starts them: emulated shares, mpirun, private data, and nodes
that die, hang or disagree."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from program import SMALL, STANNIS, NodesTest, png, tensors

EMULATE = ["--emulate", "host=0.5,csd*2=0.25", "--no-tune"]  # test_tune.py tunes
MPIRUN = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "vader,self"] + (
    ["--allow-run-as-root"] if os.geteuid() == 0 else [])


def processes_with(text):
    """Pids of processes whose command line has `text`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def rank_of(pid):
    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    match = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", environment)
    return int(match[1]) if match else None


class ClusterTest(NodesTest):
    def test_emulated_nodes_train(self):
        done = self.succeed("train", *SMALL, *EMULATE, "--epochs", "2", "--out", "out")
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual([node["name"] for node in report["nodes"]], ["host", "csd.0", "csd.1"])
        self.assertEqual(sum(node["images"] for node in report["nodes"]), 2 * 96)
        self.assertEqual(report["images"], 2 * 96)
        for node in report["nodes"]:
            self.assertEqual(set(node["sent_bytes"]), {"gradients", "statistics", "control"})
        self.assertIn("csd.1", done.stderr)
        self.assertEqual(processes_with(str(self.folder)), [])

    def test_split_does_not_matter(self):
        self.succeed("train", *SMALL, "--micro-batch", "4", "--threads", "1", "--epochs", "1", "--out", "one")
        self.succeed("train", *SMALL, *EMULATE, "--micro-batch", "4", "--epochs", "1", "--split", "2,1,1",
                     "--out", "three")
        one, three = (tensors(self.folder / name / "last.safetensors") for name in ("one", "three"))
        self.assertEqual(one, three)  # bit for bit

    def test_under_mpirun(self):
        command = [*MPIRUN, "-np", "2", os.path.abspath(STANNIS), "train", *SMALL, "--epochs", "1", "--out", "out",
                   "--split", "1:1", "--micro-batch", "8"]
        done = subprocess.run(command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual([node["micro_batches"] for node in report["nodes"]], [1, 1])

    def test_dry_run_prints_the_line(self):
        done = self.succeed("train", *SMALL, "--hosts", "server:1,csd1,csd2", "--dry-run")
        self.assertIn("mpirun", done.stdout)
        self.assertIn("csd2", done.stdout)
        self.assertFalse((self.folder / "run").exists())

    def test_bad_clusters(self):
        self.fail_with_one_line(2, "train", *SMALL, "--emulate", "a=64,b=64", says=("128",))
        self.fail_with_one_line(2, "train", *SMALL, "--emulate", "host=0.5,csd*2", says=("--emulate",))
        (self.folder / "bad.yaml").write_text("nodes:\n  - name: a\n    thraeds: 2\n")
        self.fail_with_one_line(2, "train", *SMALL, "--cluster", "bad.yaml", says=("bad.yaml:3", "threads",))
        self.fail_with_one_line(2, "train", *SMALL, "--cluster", "none.yaml", says=("none.yaml",))
        self.fail_with_one_line(2, "train", *SMALL, *EMULATE, "--split", "1,2", says=("--split 1,2",))
        self.fail_with_one_line(2, "train", *SMALL, *EMULATE, "--private", "nobody=/tmp", says=("nobody",))
        self.fail_with_one_line(2, "train", *SMALL, *EMULATE, "--data", "folder:nowhere", says=("nowhere",))

    # ---- private data -----------------------------------------------------------------------------------------------

    def pictures(self, folder, colours, count):
        for name, colour in colours.items():
            (self.folder / folder / name).mkdir(parents=True)
            for i in range(count):
                shade = [max(0, c - 4 * i) for c in colour]
                (self.folder / folder / name / f"{i}.png").write_bytes(png(shade))

    def test_private_data(self):
        public = {"blue": (0, 0, 250), "green": (0, 250, 0)}
        for split in ("train", "val"):
            self.pictures(f"public/{split}", public, 12)
        self.pictures("clinic", {"red": (250, 0, 0)}, 12)
        (self.folder / "classes.txt").write_text("blue\ngreen\nred\n")
        command = ["train", "--net", "lenet", "--data", "folder:public", "--image-size", "28", "--batch", "12",
                   "--micro-batch", "4", "--epochs", "6", "--lr", "0.01", "--augment", "none", "--private",
                   f"csd.1={self.folder}/clinic", "--out", "out"]
        self.fail_with_one_line(2, *command, *EMULATE, says=("red", "--class-list"))
        self.run_traced([*command, "--class-list", "classes.txt"])
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual([node["private_images"] for node in report["nodes"]], [0, 0, 6 * 12])
        self.assertEqual(sum(node["public_images"] for node in report["nodes"]), 6 * 24)
        openers = [rank for rank in range(3) if "/clinic" in (self.folder / f"trace.{rank}").read_text()]
        self.assertEqual(openers, [2])
        (self.folder / "look.png").write_bytes(png((245, 0, 0)))
        seen = self.succeed("predict", "--checkpoint", "out/last.safetensors", "look.png")
        self.assertIn("red", seen.stdout.splitlines()[0])

    def run_traced(self, arguments):
        """Three nodes, each under a strace of its own, that writes down every file the node names."""
        (self.folder / "nodes.yaml").write_text("nodes:\n- {name: host}\n- {name: csd.0}\n- {name: csd.1}\n")
        line = MPIRUN[:]
        for rank in range(3):
            line += [":"] * (rank > 0) + ["-np", "1", "strace", "-f", "-qq", "-e", "trace=%file", "-o", f"trace.{rank}",
                                          os.path.abspath(STANNIS), *arguments, "--cluster", "nodes.yaml"]
        done = subprocess.run(line, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- when things go wrong ---------------------------------------------------------------------------------------

    def start_nodes(self, *extra):
        process = subprocess.Popen([os.path.abspath(STANNIS), "train", *SMALL, *EMULATE, "--epochs", "100000", "--checkpoint-steps", "5",
                                 "--out", str(self.folder / "out"), "--progress", "none", *extra], cwd=self.folder,
                                env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, process)
        return process

    def rank(self, number):
        ranks = {rank_of(pid): pid for pid in processes_with(str(self.folder / "out"))}
        return ranks.get(number)

    def lose(self, number, deed, *extra):
        process = self.start_nodes(*extra)
        self.wait_until((self.folder / "out/last.safetensors").exists, "a checkpoint")
        deed(self.rank(number))
        _, errors = process.communicate(timeout=120)
        self.assertNotIn(process.returncode, (0, 2))
        lines = [line for line in errors.splitlines() if "error" in line or "mpirun" in line]
        self.assertEqual(len(lines), 1, errors)
        self.assertEqual(processes_with(str(self.folder)), [])
        self.succeed("eval", "--checkpoint", "out/last.safetensors")
        return lines[0]

    def test_a_node_is_killed(self):
        line = self.lose(1, lambda pid: os.kill(pid, signal.SIGKILL))
        self.assertRegex(line, r"csd\.0.*step \d+")

    def test_the_first_node_is_killed(self):
        line = self.lose(0, lambda pid: os.kill(pid, signal.SIGKILL))
        self.assertRegex(line, r"host.*step \d+")

    def test_a_node_hangs(self):
        line = self.lose(2, lambda pid: os.kill(pid, signal.SIGSTOP), "--timeout", "2")
        self.assertRegex(line, r"csd\.1.*step \d+")

    def test_the_launcher_is_killed(self):
        process = self.start_nodes()
        self.wait_until((self.folder / "out/last.safetensors").exists, "a checkpoint")
        process.kill()
        process.communicate()
        self.wait_until(lambda: not processes_with(str(self.folder)), "the end of all nodes")
        self.succeed("train", *SMALL, *EMULATE, "--epochs", "1", "--out", "other")  # sweeps what was left

    def test_interruption_saves(self):
        process = self.start_nodes()
        self.wait_until((self.folder / "out/last.safetensors").exists, "a checkpoint")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(processes_with(str(self.folder)), [])
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual(report["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
