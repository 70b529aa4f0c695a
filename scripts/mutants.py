#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py [WORD]: proves that tests hold what they should.

Each row of tests/mutants.json changes one text in one source file and names the tests that must fail then. The changes
are made one at a time in a copy of the tree (build/mutants), never here. Prints a line a mutant; ends with 1 if one
survived or did not build. With WORD, only rows whose file or reason contain it. About ten seconds a row.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/mutants"
TREE, BUILD = WORK / "tree", WORK / "build"
ROWS = ROOT / "tests/mutants.json"
# A mutant may leave names without use, which is no reason to refuse it.
UNUSED = "-Wno-error=unused-variable -Wno-error=unused-function -Wno-error=unused-parameter"


def rows():
    return json.loads(ROWS.read_text(encoding="utf-8"))


def copy_tree():
    """Writes only what differs, so that a second run builds little."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for name in wanted:
        text, to = (ROOT / name).read_bytes(), TREE / name
        if not to.exists() or to.read_bytes() != text:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(text)
            to.chmod((ROOT / name).stat().st_mode)
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def configure():
    subprocess.run(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DSTANNIS_TESTS=ON", f"-DCMAKE_C_FLAGS={UNUSED}"], check=True, stdout=subprocess.DEVNULL)


def build(tests):
    return subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", *tests], check=False,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def tests_pass(tests):
    """A test that hangs has seen the change too: 60 s are many times what these take."""
    names = "|".join(re.escape(name) for name in tests)
    run = subprocess.run(["ctest", "--test-dir", BUILD, "--timeout", "60", "--no-tests=error", "-R", f"^({names})$"],
                         check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "No tests were found" in run.stdout:
        sys.exit(f"mutants: there is no test {' or '.join(tests)}")
    return run.returncode == 0


def try_row(row):
    """What is wrong with the row's tests; empty if they caught it."""
    path = TREE / row["file"]
    original = path.read_text(encoding="utf-8")
    if original.count(row["text"]) != 1:
        return f"the text stands {original.count(row['text'])} times in the file, expected once"
    path.write_text(original.replace(row["text"], row["becomes"]), encoding="utf-8")
    try:
        built = build(row["tests"])
        if built.returncode != 0:
            errors = [line for line in built.stdout.splitlines() if "error" in line]
            return f"does not build: {errors[0] if errors else built.stdout[-300:]}"
        return "SURVIVES" if tests_pass(row["tests"]) else ""
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [row for row in rows() if word in row["file"] or word in row["why"]]
    if not chosen:
        sys.exit(f"mutants: no row of {ROWS.relative_to(ROOT)} contains {word!r}")
    copy_tree()
    configure()
    tests = sorted({test for row in chosen for test in row["tests"]})
    built = build(tests)
    if built.returncode != 0 or not tests_pass(tests):
        sys.exit(f"mutants: build and tests must pass without a change\n{built.stdout[-2000:]}")
    wrong = 0
    for row in chosen:
        finding = try_row(row)
        wrong += bool(finding)
        print(f"{finding or 'caught'}: {row['file']}: {row['why']}", flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} mutants caught")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
