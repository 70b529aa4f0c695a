# SPDX-License-Identifier: Apache-2.0
"""Software CSDs as people use them: racks, namespaces, power cuts, NBD clients and file systems."""
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import unittest

import program

UNIT = 4096


def has(*tools):
    return all(shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin") for tool in tools)


class RackTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.stop_all)

    def environment(self, **changes):
        return super().environment(**changes) | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}

    def stop_all(self):
        for rack in self.folder.glob("*/rack.yaml"):
            self.run_program("csd", "stop", rack.parent)

    def csd(self, *arguments):
        return self.succeed("csd", *arguments)

    def json(self, *arguments):
        return json.loads(self.csd(*arguments, "--json").stdout)

    def make(self, *options, start=True, size="16M"):
        self.csd("create", "rack", "--profile", "tiny", "--size", size, *options)
        if start:
            self.csd("start", "rack")

    def device(self, index=0):
        return self.json("ls", "rack")["devices"][index]

    def kill(self, index=0):
        """A power cut: the process ends at once, whatever it is doing."""
        pid = self.device(index)["pid"]
        os.kill(pid, signal.SIGKILL)
        self.wait_until(lambda: self.device_is_off(index), "the end of the device")

    def device_is_off(self, index):
        result = self.run_program("csd", "ls", "rack", "--json")
        return result.returncode == 0 and json.loads(result.stdout)["devices"][index]["state"] == "off"


class LifeTest(RackTest):
    def test_from_create_to_destroy(self):
        made = self.json("create", "rack", "--count", "3", "--profile", "tiny", "--size", "8M")
        self.assertEqual((made["count"], made["profile"]), (3, "tiny"))
        self.assertEqual([d["state"] for d in self.json("ls", "rack")["devices"]], ["off"] * 3)
        self.assertEqual(self.json("start", "rack")["started"], 3)
        self.assertEqual(self.json("start", "rack")["started"], 0)
        devices = self.json("ls", "rack")["devices"]
        self.assertEqual(len({d["serial"] for d in devices}), 3)
        self.assertGreaterEqual(devices[0]["size"], 8 << 20)
        self.assertEqual(devices[0]["free"], devices[0]["size"])
        self.fail_with_one_line(2, "csd", "destroy", "rack", says=("csd.0", "is on", "stannis csd stop"))
        self.assertEqual(self.json("stop", "rack")["stopped"], 3)
        self.assertEqual(self.json("stop", "rack")["stopped"], 0)
        self.assertEqual(self.json("destroy", "rack")["destroyed"], 3)
        self.assertFalse((self.folder / "rack").exists())

    def test_files_are_for_their_owner(self):
        self.make()
        for name, mode in (("", 0o700), ("keys", 0o600), ("socket", 0o600), ("lock", 0o600), ("log", 0o600)):
            self.assertEqual((self.folder / "rack" / "csd.0" / name).stat().st_mode & 0o777, mode, name)

    def test_namespaces_last(self):
        self.make()
        self.csd("format", "rack/csd.0", "--namespace", "photos", "--size", "4M", "--public")
        self.csd("format", "rack/csd.0", "--namespace", "secret", "--size", "2M", "--private")
        self.csd("format", "rack/csd.0", "--namespace", "rest", "--public")
        self.csd("format", "rack/csd.0", "--protect", "photos")
        before = self.json("format", "rack/csd.0", "--list")
        self.assertEqual([(n["name"], n["public"], n["write_protected"]) for n in before["namespaces"]],
                         [("photos", True, True), ("secret", False, False), ("rest", True, False)])
        self.assertEqual(before["free"], 0)
        self.csd("stop", "rack")
        self.csd("start", "rack")
        self.assertEqual(self.json("format", "rack/csd.0", "--list"), before)
        self.csd("format", "rack/csd.0", "--unprotect", "photos")
        self.csd("format", "rack/csd.0", "--protect", "photos")
        self.kill()
        self.csd("start", "rack")
        self.assertEqual(self.json("format", "rack/csd.0", "--list"), before)
        self.fail_with_one_line(2, "csd", "format", "rack/csd.0", "--delete", "photos", says="write protected")
        self.csd("format", "rack/csd.0", "--unprotect", "photos")
        self.csd("format", "rack/csd.0", "--delete", "photos")
        self.csd("format", "rack/csd.0", "--delete", "secret")
        after = self.json("format", "rack/csd.0", "--list")
        self.assertEqual([n["name"] for n in after["namespaces"]], ["rest"])
        self.assertEqual(after["free"], 6 << 20)
        stat = self.json("stat", "rack/csd.0")
        self.assertEqual((stat["power"]["ons"], stat["power"]["cuts"]), (3, 1))

    def test_stat_and_bench(self):
        self.make("--timing", "counted")
        bench = self.json("bench", "rack/csd.0", "--seconds", "0.02", "--size", "4M")
        self.assertEqual(len(bench["rows"]), 10)
        for row in bench["rows"]:
            self.assertGreater(row["iops"], 0)
            self.assertLessEqual(row["p50_us"], row["p99_us"])
            self.assertLessEqual(row["p99_us"], row["max_us"])
        self.assertEqual(self.device()["namespaces"], [])
        stat = self.json("stat", "rack/csd.0")
        self.assertGreaterEqual(stat["units"]["written"], 1024)
        self.assertGreaterEqual(bench["write_amplification"], 1)
        self.assertGreater(stat["timing"]["program_s"], 0)
        text = self.csd("stat", "rack/csd.0").stdout
        for word in ("write amplification", "erases", "power", "errors"):
            self.assertIn(word, text)
        self.assertEqual(sum(stat["erases"]["histogram"]),
                         stat["blocks"]["all"] - stat["blocks"]["bad_from_factory"] - stat["blocks"]["bad_grown"])


class MistakesTest(RackTest):
    def test_words(self):
        self.fail_with_one_line(2, "csd", says="no subcommand given")
        self.fail_with_one_line(2, "csd", "creat", says="did you mean create?")
        self.fail_with_one_line(2, "csd", "ls", says="no rack given")
        self.fail_with_one_line(2, "csd", "ls", "nothing", says=("nothing", "is no rack"))
        self.fail_with_one_line(2, "csd", "create", "rack", "--profile", "newpot", says="did you mean newport?")
        self.fail_with_one_line(2, "csd", "create", "rack", "--count", "0", says="between 1 and 256")
        self.fail_with_one_line(2, "csd", "create", "rack", "--size", "9999T", says="too large")
        self.assertFalse((self.folder / "rack").exists())

    def test_of_formats(self):
        self.make()
        for options, says in (((), "say one of"),
                              (("--namespace", "a"), "--public or --private"),
                              (("--namespace", "a", "--public", "--private"), "--public or --private"),
                              (("--list", "--size", "1M"), "belong to --namespace"),
                              (("--namespace", "a b", "--public"), "a name is"),
                              (("--namespace", "a", "--public", "--size", "1000"), "multiple of 4 KiB"),
                              (("--delete", "nobody"), "no namespace nobody")):
            self.fail_with_one_line(2, "csd", "format", "rack/csd.0", *options, says=says)
        self.fail_with_one_line(1, "csd", "format", "rack/csd.0", "--namespace", "a", "--public", "--size", "1G",
                                says=("only", "MiB are free"))
        self.fail_with_one_line(2, "csd", "format", "rack/csd.7", "--list", says="no such device")
        self.csd("stop", "rack")
        self.fail_with_one_line(2, "csd", "format", "rack/csd.0", "--list", says=("off", "stannis csd start"))

    def test_create_where_something_is(self):
        (self.folder / "rack").mkdir()
        self.fail_with_one_line(2, "csd", "create", "rack", says="File exists")
        (self.folder / "rack" / "mine").write_text("x")
        self.assertEqual((self.folder / "rack" / "mine").read_text(), "x")

    def test_destroy_leaves_what_is_not_the_racks(self):
        self.make(start=False)
        (self.folder / "rack" / "csd.0" / "mine").write_text("x")
        self.fail_with_one_line(1, "csd", "destroy", "rack", says="not the rack's")
        self.assertEqual((self.folder / "rack" / "csd.0" / "mine").read_text(), "x")
        self.assertFalse((self.folder / "rack" / "csd.0" / "keys").exists())

    def test_two_processes_on_one_device(self):
        self.make()
        self.fail_with_one_line(2, "csd", "device", "rack/csd.0", says="is on already", stdout_may=True)
        self.assertEqual(self.device()["state"], "on")

    def fail_with_one_line(self, code, *arguments, says=(), stdout_may=False, **options):
        if not stdout_may:
            return super().fail_with_one_line(code, *arguments, says=says, **options)
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(says, result.stderr)
        return result

    def break_media(self, change, says):
        media = self.folder / "rack" / "csd.0" / "media"
        change(media)
        result = self.run_program("csd", "start", "rack")
        self.assertEqual(result.returncode, 1)
        errors = [line for line in result.stderr.splitlines() if line.startswith("stannis: error: ")]
        self.assertEqual(len(errors), 1, result.stderr)
        for text in ("rack/csd.0 does not start", says):
            self.assertIn(text, errors[0])
        self.assertEqual(self.device()["state"], "off")

    def test_media_that_are_not_ours(self):
        self.make(start=False)
        media = self.folder / "rack" / "csd.0" / "media"
        good = media.read_bytes()
        self.break_media(lambda m: os.truncate(m, len(good) - UNIT), "truncated")
        self.break_media(lambda m: m.write_bytes(b"something else" + bytes(len(good))), "no flash medium")
        self.break_media(lambda m: m.unlink(), "No such file")
        media.write_bytes(good)
        self.csd("start", "rack")
        self.assertEqual(self.device()["state"], "on")

    def test_missing_keys(self):
        self.make(start=False)
        keys = self.folder / "rack" / "csd.0" / "keys"
        good = keys.read_bytes()
        self.break_media(lambda m: keys.unlink(), "keys")
        keys.write_bytes(good)
        keys.chmod(0o600)
        self.csd("start", "rack")

    def test_device_that_dies_under_a_client(self):
        self.make()
        bench = subprocess.Popen([os.path.abspath(program.STANNIS), "csd", "bench", "rack/csd.0", "--seconds", "60"],
                                 cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, bench)
        bench.stdout.readline()  # the head: from here on it measures
        os.kill(self.device()["pid"], signal.SIGKILL)
        errors = bench.communicate(timeout=program.TIMEOUT)[1]
        self.assertEqual(bench.returncode, 1, errors)
        self.assertIn("the device is gone", errors)

    def test_worn_out(self):
        self.make("--endurance", "3", size="2M")
        self.csd("format", "rack/csd.0", "--namespace", "kept", "--size", "64K", "--public")
        before = self.json("format", "rack/csd.0", "--list")["namespaces"]
        self.fail_with_one_line(1, "csd", "bench", "rack/csd.0", "--seconds", "30", "--json", says="worn out")
        for again in (False, True):
            if again:
                self.csd("stop", "rack")
                self.csd("start", "rack")
            self.assertTrue(self.json("stat", "rack/csd.0")["read_only"])
            self.assertIn("WORN OUT", self.csd("ls", "rack").stdout)
            self.assertEqual(self.json("format", "rack/csd.0", "--list")["namespaces"], before)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        self.addCleanup(self.run_program, "csd", "stop", "disk/rack")
        self.csd("create", "disk/rack", "--profile", "tiny", "--size", "16M", "--ecc", "crc")
        self.csd("start", "disk/rack")
        self.fail_with_one_line(1, "csd", "bench", "disk/rack/csd.0", "--seconds", "0.01",
                                says="the disk under the device is full")
        self.assertEqual(self.json("ls", "disk/rack")["devices"][0]["state"], "on")


def nbd_uri(socket):
    return f"nbd+unix:///?socket={socket}"


class ExportTest(RackTest):
    @contextlib.contextmanager
    def export(self, namespace, *options):
        socket = self.folder / "s"
        if socket.exists():
            socket.unlink()
        server = subprocess.Popen([os.path.abspath(program.STANNIS), "csd", "nbd", f"rack/csd.0:{namespace}",
                                   "--socket", socket, *options], cwd=self.folder, env=self.environment(),
                                  stderr=subprocess.PIPE, text=True)
        try:
            self.wait_until(lambda: server.poll() is not None or socket.exists(), "the NBD socket")
            self.assertIsNone(server.poll())
            yield nbd_uri(socket)
        finally:
            server.terminate()
            server.communicate()

    def tool(self, *command, code=0):
        result = subprocess.run(list(map(str, command)), cwd=self.folder, env=self.environment(), capture_output=True,
                                text=True, timeout=program.TIMEOUT, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def fio(self, uri, *options):
        return self.tool("fio", "--name=x", "--ioengine=nbd", f"--uri={uri}", "--verify_state_save=0",
                         "--verify_fatal=1", *options)

    def start_with(self, *options, size="8M"):
        self.make()
        self.csd("format", "rack/csd.0", "--namespace", "n", "--size", size, *(options or ["--public"]))


@unittest.skipUnless(has("nbdkit", "nbdcopy", "nbdinfo", "fio"), "no nbdkit, libnbd-bin or fio")
class NbdTest(ExportTest):
    def test_fio_verifies(self):
        self.start_with()
        with self.export("n") as uri:
            about = json.loads(self.tool("nbdinfo", "--json", uri).stdout)["exports"][0]
            self.assertEqual((about["export-size"], about["can_trim"], about["can_fua"]), (8 << 20, True, True))
            self.fio(uri, "--rw=write", "--bs=64k", "--size=4M", "--iodepth=8", "--verify=crc32c")
            self.fio(uri, "--rw=randwrite", "--bs=4k", "--size=4M", "--iodepth=16", "--verify=crc32c", "--fsync=64")
            self.fio(uri, "--rw=randwrite", "--bsrange=512-16k", "--bs_unaligned=1", "--size=1M", "--offset=4M",
                     "--iodepth=1", "--verify=crc32c")
            self.fio(uri, "--rw=randtrimwrite", "--bs=4k", "--size=2M", "--offset=4M", "--iodepth=1")

    def test_what_was_flushed_survives_power_cuts(self):
        self.start_with()
        data = os.urandom(4 << 20)
        (self.folder / "in").write_bytes(data)
        with self.export("n") as uri:
            self.tool("nbdcopy", "--flush", "in", uri)
            self.fio(uri, "--rw=randwrite", "--bs=4k", "--size=2M", "--offset=4M", "--iodepth=8", "--end_fsync=1",
                     "--verify=crc32c", "--do_verify=0", "--randseed=7")
            self.kill()
            self.tool("nbdinfo", "--size", uri, code=1)  # says so, and does not hang
        self.csd("start", "rack")
        with self.export("n", "--read-only") as uri:
            self.tool("nbdcopy", uri, "out")
            self.assertEqual((self.folder / "out").read_bytes()[:len(data)], data)
            self.fio(uri, "--rw=randread", "--bs=4k", "--size=2M", "--offset=4M", "--iodepth=8", "--verify=crc32c",
                     "--verify_only", "--randseed=7")
        self.assertEqual(self.json("stat", "rack/csd.0")["power"]["cuts"], 1)

    def test_trim_reads_as_zeros_also_after_a_cut(self):
        self.start_with()
        (self.folder / "in").write_bytes(b"\xa5" * (1 << 20))
        with self.export("n") as uri:
            self.tool("nbdcopy", "--flush", "in", uri)
            (self.folder / "zeros").write_bytes(bytes(1 << 19))
            self.tool("nbdcopy", "--allocated", "--flush", "zeros", uri)
            used = self.json("stat", "rack/csd.0")["units_used"]
            self.kill()
        self.csd("start", "rack")
        self.assertEqual(self.json("stat", "rack/csd.0")["units_used"], used)
        with self.export("n") as uri:
            self.tool("nbdcopy", uri, "out")
            self.assertEqual((self.folder / "out").read_bytes()[:1 << 20], bytes(1 << 19) + b"\xa5" * (1 << 19))

    def test_private_is_refused(self):
        self.start_with("--private")
        self.fail_with_one_line(2, "csd", "nbd", "rack/csd.0:n", "--socket", "s", says="private")
        self.fail_with_one_line(2, "csd", "nbd", "rack/csd.0:m", "--socket", "s", says="no namespace m")
        self.fail_with_one_line(2, "csd", "nbd", "rack/csd.0", "--socket", "s", says="which namespace")
        self.fail_with_one_line(2, "csd", "nbd", "rack/csd.0:n", says="--socket is missing")

    def test_media_hold_no_plain_byte(self):
        self.start_with()
        canary = b"a canary that is easy to find in"
        (self.folder / "in").write_bytes(canary * (1 << 15))
        with self.export("n") as uri:
            self.tool("nbdcopy", "--flush", "in", uri)
        self.csd("stop", "rack")
        self.assertNotIn(canary[:16], (self.folder / "rack/csd.0/media").read_bytes())
        self.assertIn(canary[:16], (self.folder / "in").read_bytes())  # the search can find it


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/dev/fuse") and os.path.exists("/dev/loop-control")
                     and has("nbdkit", "nbdfuse", "losetup", "mkfs.ext4", "mkfs.xfs", "xfs_repair", "fusermount3"),
                     "file systems need root, FUSE and loop devices")
class FileSystemTest(ExportTest):
    """A file system made on a device, filled, the device killed under it, checked, and its files compared."""

    @contextlib.contextmanager
    def block_device(self, namespace):
        mount = self.folder / "fuse"
        mount.mkdir(exist_ok=True)
        with self.export(namespace) as uri:
            fuse = subprocess.Popen(["nbdfuse", mount, uri], env=self.environment(), stderr=subprocess.DEVNULL)
            loop = None
            try:
                self.wait_until(lambda: (mount / "nbd").exists(), "nbdfuse")
                loop = self.tool("losetup", "--find", "--show", "--sector-size", "4096", mount / "nbd").stdout.strip()
                yield loop
            finally:
                if loop:
                    self.tool("losetup", "--detach", loop)
                subprocess.run(["fusermount3", "-u", "-z", mount], check=False, capture_output=True)
                fuse.wait(timeout=60)

    def mounted(self, loop):
        place = self.folder / "mnt"
        place.mkdir(exist_ok=True)
        self.tool("mount", loop, place)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False, capture_output=True)
        return place

    @staticmethod
    def sums(place):
        return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(place.rglob("*")) if path.is_file()}

    def life(self, size, make, check):
        self.make("--ecc", "crc", size=size)
        self.csd("format", "rack/csd.0", "--namespace", "n", "--public")
        with self.block_device("n") as loop:
            self.tool(*make, loop)
            place = self.mounted(loop)
            for i in range(40):
                (place / f"d{i % 4}").mkdir(exist_ok=True)
                (place / f"d{i % 4}" / f"f{i}").write_bytes(os.urandom(20000 + 3000 * i))
            os.sync()
            before = self.sums(place)
            for i in range(20):  # not synced: may be there or not, but must not harm the rest
                (place / f"late{i}").write_bytes(os.urandom(50000))
            self.kill()
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)
        self.csd("start", "rack")
        with self.block_device("n") as loop:
            place = self.mounted(loop)  # replays the journal
            after = self.sums(place)
            self.tool("umount", place)
            self.tool(*check, loop)
        self.assertEqual({name: after.get(name) for name in before}, before)
        self.assertGreaterEqual(self.json("stat", "rack/csd.0")["power"]["cuts"], 1)

    def test_ext4(self):
        self.life("24M", ("mkfs.ext4", "-q", "-b", "4096", "-J", "size=4"), ("e2fsck", "-f", "-n"))

    @unittest.skipIf(os.environ.get("STANNIS_SHORT"), "300 MB are not for sanitizers")
    def test_xfs(self):
        self.life("320M", ("mkfs.xfs", "-q", "-f", "-s", "size=4096"), ("xfs_repair", "-n"))


if __name__ == "__main__":
    unittest.main()
