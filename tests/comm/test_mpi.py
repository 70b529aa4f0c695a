# SPDX-License-Identifier: Apache-2.0
"""Nodes under mpirun: what they compute, what waiting costs, and how the loss of one ends."""
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

NODE = os.environ["MPI_NODE"]
NODE_LATER = os.environ["MPI_NODE_LATER"]  # speaks a later protocol
TIMEOUT = 100
TIMEOUT_OF_NODES = 4
NODES = 4
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
MEMORY = ["--mca", "btl", "vader,self"]
NETWORK = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
NAMES = ["node 0", "node csd.0", "node csd.1", "node 3"]
# Where a process has other process ids, so that other nodes cannot watch it as they do on one machine. The first
# process there cannot kill itself, hence the shell.
APART = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]


def processes(marker):
    """Processes that have `marker` in their environment and have not ended."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker in (entry / "environ").read_bytes():
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    found.append(int(entry.name))
        except OSError:
            pass
    return found


def apart_works():
    return shutil.which("unshare") and subprocess.run([*APART, "true"], capture_output=True, check=False).returncode == 0


class MpiTest(unittest.TestCase):
    def nodes(self, *arguments, transport=MEMORY, quiet=True, apart=None, later=None):
        """Runs four nodes, that of rank `apart` with process ids of its own, that of rank `later` of a later protocol;
        none of their processes may be left."""
        marker = f"STANNIS_TEST={os.getpid()}.{self.id()}"
        name, _, value = marker.partition("=")
        env = os.environ | {name: value, "TIMEOUT_SECONDS": str(TIMEOUT_OF_NODES)}
        command = MPIRUN + (["-q"] if quiet else []) + transport
        for rank in range(NODES):
            command += [":"] * (rank > 0) + ["-np", "1", *(APART if rank == apart else []),
                        NODE_LATER if rank == later else NODE, *arguments]
        result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT)
        deadline = time.monotonic() + 10
        while processes(marker.encode()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes(marker.encode()), [])
        return result

    def test_sums(self):
        for transport in MEMORY, NETWORK:
            result = self.nodes("check", transport=transport)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_another_protocol_is_refused(self):
        for later, found, first in (2, 1000, 2), (0, 2, 1000):
            result = self.nodes("check", later=later)
            self.assertEqual(result.returncode, 2)
            lines = [text for text in result.stderr.splitlines() if text.startswith("stannis:")]
            self.assertEqual(len(lines), 1, result.stderr)
            self.assertRegex(lines[0], rf"node {later or 1} on \S+ speaks protocol {found} \(Stannis [0-9.]+\), "
                             rf"node 0 on \S+ protocol {first} \(Stannis [0-9.]+\); install the same Stannis on all")

    def test_waiting_sleeps_and_who_computes_is_not_lost(self):
        result = self.nodes("wait", str(TIMEOUT_OF_NODES + 2))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        shares = [float(line) for line in result.stdout.split()]
        self.assertEqual(len(shares), 4)
        self.assertLess(max(shares), 0.05)

    def lost(self, how, rank, line, **options):
        result = self.nodes("lose", how, str(rank), **options)
        self.assertNotEqual(result.returncode, 0)
        lines = [text for text in result.stderr.splitlines() if text.startswith("stannis:")]
        self.assertEqual(len([text for text in lines if "was lost" in text]), 1, result.stderr)
        self.assertRegex(result.stderr, line)
        return lines

    def test_killed(self):
        for rank, name in (2, "node csd.1"), (0, "node 0"):
            self.lost("kill", rank,
                      re.escape(f"{name} was lost in step 12 while exchanging gradients: its process is gone"))

    def test_killed_under_plain_mpirun(self):
        self.lost("kill", 1, "node csd.0 was lost in step 12 .*: its process is gone", quiet=False)

    def test_killed_in_a_network(self):
        for rank, name in enumerate(NAMES):
            with self.subTest(rank=rank):
                lines = self.lost("kill", rank, f"{name} was lost in step 12 while exchanging gradients: its process is gone",
                                  transport=NETWORK)
                self.assertEqual(len(lines), 1)

    @unittest.skipUnless(apart_works(), "no right to make a namespace of process ids")
    def test_killed_on_another_machine(self):
        for rank, apart in (2, 2), (0, 0), (3, 0):
            with self.subTest(rank=rank, apart=apart):
                lines = self.lost("kill", rank, f"{NAMES[rank]} was lost in step 12 .*: its process is gone",
                                  transport=NETWORK, apart=apart)
                self.assertEqual(len(lines), 1)

    def test_stopped_in_a_network(self):
        self.lost("stop", 2, f"node csd.1 was lost in step 12 .*: no sign of life for {TIMEOUT_OF_NODES} s",
                  transport=NETWORK)

    def test_stopped(self):
        for rank, name in (1, "node csd.0"), (0, "node 0"):
            lines = self.lost("stop", rank, f"{name} was lost in step 12 while exchanging gradients: "
                              f"no sign of life for {TIMEOUT_OF_NODES} s")
            self.assertEqual(len(lines), 1)

    def test_error_of_one_node(self):
        lines = self.lost("return", 1, "node csd.0 was lost in step 12 .*: it ended early")
        self.assertIn("stannis: error: disk full", lines)


if __name__ == "__main__":
    unittest.main()
