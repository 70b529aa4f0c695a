#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lint.py: formatting, clang-tidy (.clang-tidy) and cppcheck over the whole tree. Silent and 0 when all is well.

A file that clang-tidy has passed is not looked at again until the file, a header of ours that it includes, its compiler
flags, .clang-tidy or clang-tidy itself change: a whole look takes about two minutes on two cores, the next one seconds.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/lint"
ONCE = BUILD / "once"  # a compile database in which each file stands once
PASSED = BUILD / "passed.json"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def configure():
    """Each file of ours once: vector kernels are compiled for every instruction set, test helpers for every test."""
    subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    once = {entry["file"]: entry for entry in entries if not pathlib.Path(entry["file"]).is_relative_to(BUILD)}
    ONCE.mkdir(parents=True, exist_ok=True)
    (ONCE / "compile_commands.json").write_text(json.dumps(list(once.values())), encoding="utf-8")
    return list(once.values())


class Prints:
    """What a finding can depend on, as one hash a file."""

    def __init__(self):
        version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
        self.rules = hashlib.sha256(version + (ROOT / ".clang-tidy").read_bytes()).digest()
        self.files = {}  # path → its hash and the names that it includes

    def content(self, path):
        if path not in self.files:
            text = path.read_bytes()
            self.files[path] = hashlib.sha256(text).digest(), [name.decode() for name in INCLUDE.findall(text)]
        return self.files[path]

    def of(self, entry):
        words = shlex.split(entry["command"])
        folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
        whole = hashlib.sha256(self.rules + entry["command"].encode())
        waiting, known = [pathlib.Path(entry["file"])], set()
        while waiting:
            path = waiting.pop().resolve()
            if path in known:
                continue
            known.add(path)
            digest, names = self.content(path)
            whole.update(digest)
            for name in names:
                waiting += [at / name for at in [path.parent, *folders] if (at / name).is_file()][:1]
        return whole.hexdigest()


def tidy(entry):
    run = subprocess.run(["clang-tidy", "--quiet", "-p", str(ONCE), entry["file"]], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if run.returncode != 0:
        print(run.stdout or f"{entry['file']}: clang-tidy ends with {run.returncode}", end="", flush=True)
    return run.returncode == 0


def tidy_all(entries):
    prints = Prints()
    keys = [prints.of(entry) for entry in entries]
    passed = set(json.loads(PASSED.read_text(encoding="utf-8"))) if PASSED.exists() else set()
    todo = [(key, entry) for key, entry in zip(keys, entries) if key not in passed]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        fine = list(pool.map(lambda row: tidy(row[1]), todo))
    passed = (passed & set(keys)) | {key for (key, _), good in zip(todo, fine) if good}
    PASSED.write_text(json.dumps(sorted(passed)), encoding="utf-8")
    return all(fine)


def cppcheck():
    memory = BUILD / "cppcheck"
    memory.mkdir(exist_ok=True)
    return subprocess.run(
        ["cppcheck", "--quiet", f"--project={ONCE / 'compile_commands.json'}", f"--cppcheck-build-dir={memory}",
         "--enable=warning,performance,portability", "--inline-suppr", "--suppress=missingIncludeSystem",
         # Across files it takes an array that a callee fills for one that it reads.
         "--suppress=ctuuninitvar",
         "--error-exitcode=1", "-j", str(os.cpu_count())], check=False).returncode == 0


def main():
    formatted = subprocess.run([ROOT / "scripts/format.sh", "--check"], check=False).returncode == 0
    tidied = tidy_all(configure())
    checked = cppcheck()
    return 0 if formatted and tidied and checked else 1


if __name__ == "__main__":
    sys.exit(main())
