# SPDX-License-Identifier: Apache-2.0
"""What libstannis shows and what it needs: names, headers, and none of the calls that a library leaves to programs."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include" / "stannis").glob("*.h"))
SHARED, STATIC, WHOLE = (os.environ[name] for name in ("STANNIS_SHARED", "STANNIS_STATIC", "STANNIS_WHOLE"))
SANITIZERS = ("__asan", "__ubsan", "__tsan", "__odr_asan", "__lsan")

# Calls that print, end the process or change what is the program's own, and the reason of those that there are.
FORBIDDEN = """abort _Exit quick_exit exit _exit raise on_exit err errx verr warn perror psignal
    printf vprintf puts putchar stdout stdin __printf_chk __vprintf_chk
    signal sigaction sigprocmask setlocale chdir fchdir umask setsid daemon system popen
    srand rand MPI_Init MPI_Abort""".split()
EXPLAINED = {
    "_exit": "a child between fork and exec has nowhere to return to",
    "signal": "the same child gives signals their usual meaning before it becomes another program",
}


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def declared():
    """The functions of the public headers, with the lines that declare them."""
    found = {}
    for header in HEADERS:
        text = re.sub(r"//.*|^\s*#.*?(?<!\\)$", "", header.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for match in re.finditer(r"^([A-Z_a-z][^;{}#]*?)\b(stn_\w+)\([^;{}]*;", text, re.MULTILINE):
            if not match.group(1).lstrip().startswith("typedef"):
                found[match.group(2)] = match.group(1)
    return found


class NamesTest(unittest.TestCase):
    def setUp(self):
        text = (pathlib.Path(__file__).parent / "abi.list").read_text(encoding="utf-8")
        self.listed = [line for line in text.splitlines() if line and not line.startswith("#")]

    def shown(self, *command):
        names = [line.split()[-1].split("@")[0] for line in lines("nm", "--defined-only", *command) if " A " not in line
                 and len(line.split()) == 3]
        return sorted(name for name in names if not name.startswith(SANITIZERS))

    def test_shared_library_shows_what_the_list_says(self):
        self.assertEqual(self.shown("-D", SHARED), self.listed)

    def test_static_library_shows_the_same(self):
        self.assertEqual(self.shown("-g", STATIC), self.listed)

    def test_every_public_declaration_is_exported_and_no_other(self):
        self.assertEqual(sorted(declared()), self.listed)
        self.assertEqual([name for name, before in declared().items() if "STN_EXPORT" not in before], [])

    def test_soname(self):
        self.assertTrue(any("SONAME" in line and "[libstannis.so.0]" in line for line in lines("readelf", "-d", SHARED)))


class NeedsTest(unittest.TestCase):
    def test_nothing_is_called_that_is_the_programs(self):
        needed = {line.split()[-1].split("@")[0] for line in lines("nm", "-u", WHOLE) if line.split()}
        self.assertGreater(len(needed), 100)
        self.assertEqual(sorted(needed & set(FORBIDDEN)), sorted(EXPLAINED))


class HeadersTest(unittest.TestCase):
    def compile(self, compiler, name, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / name
            source.write_text(text, encoding="utf-8")
            return subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                                   str(ROOT / "include"), str(source)], capture_output=True, text=True, check=False)

    def test_each_alone_as_c(self):
        for header in HEADERS:
            result = self.compile(["cc", "-std=c17"], "alone.c", f'#include "stannis/{header.name}"\nint unused;\n')
            self.assertEqual((result.returncode, result.stderr), (0, ""), header.name)

    def test_each_alone_as_cxx(self):
        for header in HEADERS:
            result = self.compile(["c++", "-std=c++17"], "alone.cc", f'#include "stannis/{header.name}"\n')
            self.assertEqual((result.returncode, result.stderr), (0, ""), header.name)

    def test_no_private_type(self):
        """A struct or enum without our prefix is nobody's business outside."""
        for header in HEADERS:
            text = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
            self.assertEqual([name for name in re.findall(r"\b(?:struct|enum|union)\s+(\w+)", text)
                              if not name.startswith("stn_")], [], header.name)

    def test_stannis_h_includes_all(self):
        text = (ROOT / "include/stannis/stannis.h").read_text(encoding="utf-8")
        self.assertEqual(sorted(re.findall(r'#include "stannis/(\w+\.h)"', text)),
                         [header.name for header in HEADERS if header.name not in ("stannis.h", "export.h")])

    def test_version_is_the_build_systems(self):
        version = re.search(r"project\(stannis VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
        text = (ROOT / "include/stannis/stannis.h").read_text(encoding="utf-8")
        self.assertIn(f'#define STN_VERSION "{version.group(1)}"', text)


if __name__ == "__main__":
    unittest.main()
