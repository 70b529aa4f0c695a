# SPDX-License-Identifier: Apache-2.0
"""What `make install` gives: programs of others are built with pkg-config in an empty folder, and run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLERS = pathlib.Path(__file__).parent / "callers"
BUILD, SANITIZE = os.environ["STANNIS_BUILD"], os.environ.get("STANNIS_SANITIZE", "")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2"]
SIGNS = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "Assertion")

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from program import png  # noqa: E402


def install(prefix, **env):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", str(prefix)], check=True, capture_output=True, text=True,
                   env=os.environ | env)


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if not path.is_dir())


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = pathlib.Path(tempfile.mkdtemp(prefix="stannis-prefix-"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        install(cls.prefix)
        cls.pc = next(cls.prefix.rglob("stannis.pc"))
        cls.libdir = cls.pc.parent.parent

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stannis-caller-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = os.environ | {"PKG_CONFIG_PATH": str(self.pc.parent), "LD_LIBRARY_PATH": str(self.libdir),
                                 "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": "detect_leaks=0"}

    def pkg_config(self, *arguments):
        result = subprocess.run(["pkg-config", *arguments, "stannis"], env=self.env, capture_output=True, text=True,
                                check=True)
        return result.stdout.split()

    def build(self, source, libraries=None, compiler=("cc",), extra=()):
        program = self.folder / pathlib.Path(source).stem
        flags = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
        command = [*compiler, "-Wall", "-Wextra", "-Werror", *flags, str(source), "-o", str(program), *extra,
                   *self.pkg_config("--cflags"), *(libraries or self.pkg_config("--libs"))]
        result = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return str(program)

    def run_it(self, *command, code=0, leaks=False):
        env = self.env | ({"ASAN_OPTIONS": "detect_leaks=1"} if leaks else {})
        result = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=200,
                                check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual([sign for sign in SIGNS if sign in result.stderr], [], result.stderr)
        return result

    # ---- what is there -------------------------------------------------------------------------

    def test_files(self):
        found = files_of(self.prefix)
        library = str(self.libdir.relative_to(self.prefix))
        headers = [f"include/stannis/{path.name}" for path in (ROOT / "include/stannis").glob("*.h")]
        for name in ["bin/stannis", f"{library}/libstannis.so", f"{library}/libstannis.so.0", f"{library}/libstannis.a",
                     f"{library}/pkgconfig/stannis.pc", "share/man/man1/stannis.1", "share/man/man1/stannis-train.1",
                     "share/man/man3/stn_train_run.3", "share/man/man3/libstannis.3", "share/zsh/site-functions/_stannis",
                     "share/bash-completion/completions/stannis", "share/fish/vendor_completions.d/stannis.fish",
                     "share/doc/stannis/examples/train.c", "share/doc/stannis/examples/predict.c", *headers]:
            self.assertIn(name, found)
        self.assertEqual(sorted(name for name in found if name.startswith("include/")), sorted(headers))

    def test_uninstall_removes_what_was_installed_and_no_more(self):
        stage = self.folder / "stage"
        foreign = stage / "opt/x/include/stannis/other.h"
        foreign.parent.mkdir(parents=True)
        foreign.write_text("")
        install("/opt/x", DESTDIR=str(stage))
        self.assertGreater(len(files_of(stage)), 50)
        subprocess.run([ROOT / "scripts/uninstall.sh", BUILD, "/opt/x"], check=True, env=os.environ |
                       {"DESTDIR": str(stage)})
        self.assertEqual(files_of(stage), ["opt/x/include/stannis/other.h"])
        self.assertFalse((stage / "opt/x/share/stannis").exists())
        self.assertTrue((stage / "opt/x/lib").exists())

    def test_installed_program_runs(self):
        result = self.run_it(str(self.prefix / "bin/stannis"), "--version")
        self.assertIn(self.pkg_config("--modversion")[0], result.stdout)

    # ---- programs of others --------------------------------------------------------------------

    def assert_trained(self, output, epochs=2):
        self.assertEqual(len(re.findall(r"^epoch \d: loss [\d.]+, accuracy [\d.]+ %", output, re.MULTILINE)), epochs)

    def test_examples(self):
        shutil.copytree(self.prefix / "share/doc/stannis/examples", self.folder / "examples")
        train, predict = (self.build(self.folder / "examples" / name) for name in ("train.c", "predict.c"))
        self.assert_trained(self.run_it(train, "synthetic:200", leaks=True).stdout)
        (self.folder / "red.png").write_bytes(png((200, 20, 20)))
        result = self.run_it(predict, "run/best.safetensors", "red.png", leaks=True)
        self.assertEqual(len(result.stdout.splitlines()), 3)
        self.assertTrue(all(line.startswith("red.png: ") for line in result.stdout.splitlines()))
        result = self.run_it(predict, "missing.safetensors", "red.png", code=2)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_examples_are_short(self):
        for path in (ROOT / "examples").glob("*.c"):
            self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), 60)
            self.assertIn("$(pkg-config --cflags --libs stannis)", path.read_text(encoding="utf-8"))

    def test_example_on_two_nodes(self):
        train = self.build(ROOT / "examples/train.c")
        self.assert_trained(self.run_it(*MPIRUN, train, "synthetic:200").stdout)

    def test_static_library(self):
        libraries = ["-l:libstannis.a" if word == "-lstannis" else word for word in self.pkg_config("--static", "--libs")]
        train = self.build(ROOT / "examples/train.c", libraries)
        needed = subprocess.run(["readelf", "-d", train], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libstannis", needed)
        self.assert_trained(self.run_it(train, "synthetic:100").stdout)

    def test_cxx(self):
        source = self.folder / "models.cc"
        source.write_text("#include <stannis/stannis.h>\n#include <cstdio>\n"
                          "int main() { std::puts(stn_model_find(\"lenet\")->name); }\n")
        self.assertEqual(self.run_it(self.build(source, compiler=("c++",))).stdout, "lenet\n")

    def test_again_and_again(self):
        again = self.build(CALLERS / "again.c")
        self.assertEqual(self.run_it(again, leaks=True).stdout.split("\n"), ["1 nodes", "1 nodes", "done", ""])
        self.assertEqual(sorted(self.run_it(*MPIRUN, again).stdout.split("\n")), ["", "2 nodes", "2 nodes", "done",
                                                                                  "done"])

    def test_callers_own_mpi(self):
        mpi = subprocess.run(["pkg-config", "--cflags", "--libs", "ompi-c"], capture_output=True, text=True, check=True)
        own = self.build(CALLERS / "own_mpi.c", [*self.pkg_config("--libs"), *mpi.stdout.split()],
                         extra=["-isystem", "/usr/lib/x86_64-linux-gnu/openmpi/include"])
        self.assertEqual(self.run_it(*MPIRUN, own).stdout, "done\n")
        result = self.run_it(*MPIRUN, own, "single", code=2)
        self.assertIn("MPI_THREAD_SERIALIZED", result.stderr)


if __name__ == "__main__":
    unittest.main()
