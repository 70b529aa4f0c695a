# SPDX-License-Identifier: Apache-2.0
"""Runs the program in a folder of its own and makes the inputs it needs."""
import base64
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

STANNIS = os.environ.get("STANNIS", "build/stannis")
TIMEOUT = 240

# Small enough to train in a second, also under a sanitizer.
SMALL = ["--net", "lenet", "--data", "synthetic:96", "--classes", "4", "--image-size", "28", "--batch", "16"]

# 16×16 pixels, red.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1x"
    "eXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAAR"
    "CAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAA"
    "BAb/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCUAApn/9k=")


def png(colour, size=20):
    """A PNG file of one RGB colour."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(colour) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tensors(path):
    """Name → (type, shape, bytes) of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    return {name: (entry["dtype"], entry["shape"], body[entry["data_offsets"][0]:entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stannis-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def wait_until(self, condition, what):
        """Polls, since what is waited for is another process's doing."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            result = condition()
            if result:
                return result
            time.sleep(0.02)
        self.fail(f"{what} did not happen")

    def environment(self, **changes):
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL")}
        env["OMP_WAIT_POLICY"] = "passive"  # tests run side by side: who waits must not burn the other's core
        return env | changes

    def run_program(self, *arguments, env=None, **options):
        result = subprocess.run([os.path.abspath(STANNIS), *map(str, arguments)], cwd=self.folder, env=env or
                                self.environment(), capture_output=True, text=True, timeout=TIMEOUT, check=False,
                                **options)
        for sign in ("AddressSanitizer", "LeakSanitizer", "runtime error:", "ThreadSanitizer", "Assertion"):
            self.assertNotIn(sign, result.stderr)
        self.assertGreaterEqual(result.returncode, 0, f"killed by a signal: {result.stderr}")
        return result

    def succeed(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fail_with_one_line(self, code, *arguments, says=(), **options):
        """The program fails, prints nothing on stdout, and says why in one line that holds all of `says`."""
        result = self.run_program(*arguments, **options)
        errors = [line for line in result.stderr.splitlines() if line.startswith("stannis: error: ")]
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(errors), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, errors[0])
        return result

    def train(self, *arguments, **options):
        return self.succeed("train", *SMALL, "--progress", "none", *arguments, **options)

    def start(self, *arguments):
        """Starts a training whose events can be read line by line from its stdout."""
        process = subprocess.Popen([os.path.abspath(STANNIS), "train", *SMALL, "--progress", "json",
                                    *map(str, arguments)], cwd=self.folder, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, process)
        return process

    @staticmethod
    def reap(process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()

    def wait_for(self, process, condition):
        """Reads events until one meets the condition, and returns it."""
        for line in process.stdout:
            event = json.loads(line)
            if condition(event):
                return event
        self.fail(f"the program ended first: {process.stderr.read()}")

    def make_folder_data(self, name="photos", classes=("blue", "red"), images=4):
        root = self.folder / name
        colours = {"blue": (20, 30, 200), "red": (200, 30, 20), "green": (20, 200, 20)}
        for split in ("train", "val"):
            for label in classes:
                (root / split / label).mkdir(parents=True)
                for i in range(images):
                    (root / split / label / f"{i}.png").write_bytes(png(colours[label], 30 + i))
        return root


@unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
class NodesTest(ProgramTest):
    """Of programs that start several nodes."""

    def environment(self, **changes):
        return super().environment(ASAN_OPTIONS="detect_leaks=0", **changes)  # Open MPI leaks at its end


main = unittest.main
