# SPDX-License-Identifier: Apache-2.0
"""stannis emulate: any command on nodes with a share each. Where control groups cannot be made it must say so, and
nothing else can be tested."""
import os
import pathlib
import select
import signal
import subprocess

import program

SPEC = "host=0.2,csd*2=0.1"


class EmulateTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        result = self.run_program("emulate", "probe=0.1", "true")
        if result.returncode != 0:
            self.assertIn("control groups cannot be made here", result.stderr)
            self.skipTest("no control groups")

    def shell(self, script, *options, **more):
        return self.run_program("emulate", *options, SPEC, "--", "sh", "-c", script, **more)

    @staticmethod
    def runs(pid):
        """Not when it has only not been waited for."""
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] not in "ZX"
        except OSError:
            return False

    def groups(self, pid):
        return list(pathlib.Path("/sys/fs/cgroup").rglob(f"stannis.{pid}.*"))

    def test_every_node_knows_its_place(self):
        result = self.shell("echo $STANNIS_NODE $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS; "
                            "echo port $MASTER_PORT >&2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), ["csd.0: csd.0 1 1 3 127.0.0.1 1",
                                                              "csd.1: csd.1 2 2 3 127.0.0.1 1",
                                                              "host: host 0 0 3 127.0.0.1 1"])
        ports = {line.split(" port ")[1] for line in result.stderr.splitlines()}
        self.assertEqual(len(ports), 1)
        self.assertGreater(int(ports.pop()), 1023)

    def test_shares_are_quotas(self):
        result = self.shell("cat /proc/self/cgroup")
        for rank, name in enumerate(("host", "csd.0", "csd.1")):
            self.assertRegex(result.stdout, rf"(?m)^{name}: .*/stannis\.\d+\.\d+/{rank}$")

    def test_lines_have_a_name_and_an_end(self):
        result = self.shell("test $RANK != 2 || printf 'one\\n\\nthree'")
        self.assertEqual(result.stdout, "csd.1: one\ncsd.1: \ncsd.1: three\n")

    def test_raw_output_is_unchanged(self):
        result = self.shell("test $RANK != 1 || printf 'one\\ntwo'", "--raw")
        self.assertEqual(result.stdout, "one\ntwo")

    def test_one_that_fails_ends_the_others(self):
        result = self.shell("test $RANK = 1 && exit 7; exec sleep 1000")
        self.assertEqual(result.returncode, 7)

    def test_others_that_refuse_are_killed_with_what_they_started(self):
        result = self.shell("trap '' TERM; test $RANK = 1 && exit 7; sleep 1000 & echo $!; sleep 1000")
        self.assertEqual(result.returncode, 7)
        for line in result.stdout.splitlines():
            self.assertFalse(self.runs(line.split(": ")[1]))

    def test_a_signal_is_passed_on(self):
        process = self.begin("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
        for _ in range(3):
            self.assertRegex(process.stdout.readline(), r"^\S+: ready$")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=program.TIMEOUT)
        self.assertEqual(process.returncode, 5)
        self.assertIn(": caught\n", out)
        self.assertEqual(self.groups(process.pid), [])

    def test_nothing_remains_of_a_killed_launcher(self):
        process = self.begin("echo $$; exec sleep 1000")
        nodes = [int(process.stdout.readline().split(": ")[1]) for _ in range(3)]
        watched = [os.pidfd_open(pid) for pid in nodes]
        process.kill()
        process.communicate(timeout=program.TIMEOUT)
        for fd in watched:
            self.assertEqual(select.select([fd], [], [], program.TIMEOUT)[0], [fd])
            os.close(fd)
        self.shell("true")  # sweeps
        self.assertEqual(self.groups(process.pid), [])

    def begin(self, script):
        process = subprocess.Popen([os.path.abspath(program.STANNIS), "emulate", SPEC, "--", "sh", "-c", script],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, process)
        return process

    def test_mistakes(self):
        self.fail_with_one_line(2, "emulate", says="stannis emulate host=1,csd*3=0.25 -- python3")
        self.fail_with_one_line(2, "emulate", SPEC, says="a spec and a command")
        self.fail_with_one_line(2, "emulate", "host=x", "true", says="expected NAME[*COUNT]=CPUS")
        self.fail_with_one_line(2, "emulate", "host=100000", "true", says=("100000 CPUs", "this machine has"))
        self.fail_with_one_line(1, "emulate", "host=0.1", "/nonexistent/program",
                                says="cannot start /nonexistent/program")


if __name__ == "__main__":
    program.main()
