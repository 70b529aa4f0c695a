# SPDX-License-Identifier: Apache-2.0
"""The manual says what the program and the headers say, and its pages and completions are well formed."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL, STANNIS = pathlib.Path(os.environ["STANNIS_MANUAL"]), os.environ["STANNIS"]


def table():
    result = subprocess.run([STANNIS, "help", "--json"], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def text_of(page):
    """The page as a person reads it, on a wide screen."""
    env = os.environ | {"MANWIDTH": "500", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    result = subprocess.run(["man", "-l", "--warnings", "--no-hyphenation", str(page)], capture_output=True, text=True,
                            env=env, check=True)
    return result.stdout, result.stderr


class PagesTest(unittest.TestCase):
    def test_mandoc_has_nothing_to_say(self):
        pages = sorted(MANUAL.glob("man?/*"))
        self.assertGreater(len(pages), 40)
        result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_man_shows_them(self):
        for name in ("man1/stannis.1", "man1/stannis-train.1", "man3/libstannis.3", "man3/stn_train_run.3"):
            text, errors = text_of(MANUAL / name)
            self.assertEqual(errors, "")
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                self.assertIn(f"\n{section}\n", text, name)

    @staticmethod
    def page_of(verb):
        return f"stannis-{verb['verb'].replace(' ', '-')}.1"

    def test_a_page_for_each_verb_with_each_setting(self):
        verbs = table()
        self.assertEqual(sorted(path.name for path in (MANUAL / "man1").iterdir()),
                         sorted(["stannis.1", *(self.page_of(verb) for verb in verbs)]))
        for verb in verbs:
            text = (MANUAL / "man1" / self.page_of(verb)).read_text(encoding="utf-8").replace("\\-", "-")
            for row in verb["options"]:
                self.assertRegex(text, rf"\\fB--(no-)?{row['name']}\\fP")

    def test_a_page_for_each_function(self):
        listed = (ROOT / "tests/library/abi.list").read_text(encoding="utf-8").splitlines()
        functions = [line for line in listed if line and not line.startswith("#")]
        self.assertEqual(sorted(path.stem for path in (MANUAL / "man3").iterdir()), sorted([*functions, "libstannis"]))
        for name in functions:
            text = (MANUAL / f"man3/{name}.3").read_text(encoding="utf-8")
            self.assertRegex(text, rf"(?m)^{name} \\- \S")
            self.assertIn(name + "(", text)


class CompletionsTest(unittest.TestCase):
    def complete(self, *words):
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stannis; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, MANUAL / "completions/stannis", *words], capture_output=True,
                                text=True, check=True, cwd=self.folder)
        return result.stdout.split()

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name

    def test_shells_can_read_them(self):
        for shell, name in (("bash", "stannis"), ("zsh", "_stannis"), ("fish", "stannis.fish")):
            result = subprocess.run([shell, "-n", MANUAL / "completions" / name], capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""), shell)

    def test_bash_completes(self):
        self.assertEqual(self.complete("stannis", "tra"), ["train"])
        self.assertEqual(self.complete("stannis", "train", "--schedu"), ["--schedule"])
        self.assertEqual(self.complete("stannis", "csd", "cre"), ["create"])
        self.assertEqual(self.complete("stannis", "csd", "create", "--coun"), ["--count"])
        self.assertEqual(self.complete("stannis", "train", "--schedule", "co"), ["constant", "cosine"])
        self.assertEqual(self.complete("stannis", "train", "--net", "mobile"), ["mobilenet_v2"])
        pathlib.Path(self.folder, "plan.json").touch()
        self.assertEqual(self.complete("stannis", "train", "--plan", "pl"), ["plan.json"])

    def test_fish_completes(self):
        script = f"source {MANUAL}/completions/stannis.fish; complete -C 'stannis train --schedule '"
        env = os.environ | {"HOME": self.folder, "XDG_DATA_HOME": self.folder, "XDG_CONFIG_HOME": self.folder}
        result = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, env=env)
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()], ["constant", "cosine", "step"])

    def test_every_option_is_in_each(self):
        for name in ("stannis", "_stannis", "stannis.fish"):
            text = (MANUAL / "completions" / name).read_text(encoding="utf-8")
            for verb in table():
                for row in verb["options"]:
                    self.assertIn(("-l " if name == "stannis.fish" else "--") + row["name"], text)


if __name__ == "__main__":
    unittest.main()
