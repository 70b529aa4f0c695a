# SPDX-License-Identifier: Apache-2.0
"""How the house is kept: functions and files of a size to read, comments that a reader understands, modules that lean
on few others, libraries that end nobody's process, and a table of mutants that fits the sources."""
import json
import pathlib
import re
import statistics
import unittest

from test_layers import modules

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("include", "src", "tools", "tests", "examples")


# What C is made of, as far as it matters here. A raw newline ends a comment line and splices are part of directives.
TOKEN = re.compile(r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n/]|/(?![/*]))*)
  | (?P<word>\w+)
  | (?P<other>\S)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif$", re.DOTALL | re.MULTILINE)


def tokens(source):
    """(kind, text, line) of all but white space; what only C++ sees is left out, its lines are counted."""
    source = CPLUSPLUS.sub(lambda found: "\n" * found.group().count("\n"), source)
    line, at = 1, 0
    for found in TOKEN.finditer(source):
        line += source.count("\n", at, found.start())
        at = found.start()
        yield found.lastgroup, found.group(), line


def functions(source):
    """(name, lines) of every function: from the line with its name to its closing brace."""
    depth = parentheses = 0
    word = name = body = None  # the last word outside of parentheses; what parameters follow; what braces follow
    for kind, text, line in tokens(source):
        if kind in ("comment", "directive"):
            continue
        if text == "{":
            body = name if depth == 0 else body
            depth += 1
        elif text == "}":
            depth -= 1
            if depth == 0 and body:
                yield body[0], line - body[1] + 1
        elif depth > 0:
            continue
        elif text == "(":
            if parentheses == 0 and word and word[0] != "__attribute__":
                name = word
            parentheses += 1
        elif text == ")":
            parentheses -= 1
        elif parentheses == 0:
            word = (text, line) if kind == "word" else None
        if depth == 0 and parentheses == 0 and text in "};=":
            word = name = body = None


def sentences(source):
    """(line, text) of every sentence of the comments; lines of // alone that follow each other are one comment."""
    blocks, last = [], -1
    lines = source.splitlines()
    for kind, found, line in tokens(source):
        if kind != "comment" or "SPDX-License-Identifier" in found:
            continue
        alone = lines[line - 1].lstrip().startswith("//")
        text = re.sub(r"^//\s?|^/\*\s?|\s*\*/$", "", found)
        if alone and line == last + 1:
            blocks[-1][1].append(text)
        else:
            blocks.append((line, [text]))
        last = line if alone else -1
    for line, block in blocks:
        for sentence in re.split(r"(?<=[.:;])\s+(?=[A-Z])|\n\s*\n", "\n".join(block)):
            yield line, sentence.strip()


class TreeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
                     for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))}

    def test_functions_fit_a_screen(self):
        lengths = {(path, name): lines for path, text in self.files.items() for name, lines in functions(text)}
        self.assertGreater(len(lengths), 2000)
        self.assertEqual({where: lines for where, lines in lengths.items() if lines > 60}, {})
        ours = [lines for (path, _), lines in lengths.items() if not path.startswith("tests/")]
        self.assertLessEqual(statistics.median(ours), 12)

    def test_files_are_of_a_size_to_read(self):
        lengths = {path: text.count("\n") for path, text in self.files.items()}
        self.assertEqual({path: lines for path, lines in lengths.items() if lines > 550}, {})

    def test_lines_fit_100_columns(self):
        self.assertEqual([f"{path}:{number}" for path, text in self.files.items()
                          for number, line in enumerate(text.splitlines(), 1) if len(line) > 100], [])

    def test_comments_have_a_subject_that_the_reader_knows(self):
        self.assertEqual([f"{path}:{line}: {text[:60]}" for path, source in self.files.items()
                          for line, text in sentences(source) if re.match(r"who(ever)?\b", text, re.IGNORECASE)], [])

    def test_messages_name_settings_not_flags(self):
        # A caller of the library knows no flags (base/setting_mark.h); what src/launch starts has flags of its own.
        self.assertEqual([f"{path}:{line}: {text}" for path, source in self.files.items()
                          if path.startswith("src/") and not path.startswith("src/launch/")
                          for kind, text, line in tokens(source)
                          if kind == "text" and re.search(r"--[a-z]", text) and "apt-get" not in text], [])

    def test_libraries_end_nobodys_process(self):
        # A child between fork and exec, or without exec, has nowhere to return to.
        calls = [f"{path}:{line}: {words[i]}" for path, source in self.files.items()
                 if path.startswith(("src/", "include/"))
                 for found in [[token for token in tokens(source) if token[0] not in ("comment", "directive")]]
                 for words in [[text for _, text, _ in found]]
                 for i, (_, _, line) in enumerate(found[:-1])
                 if words[i] in ("system", "exit", "abort", "quick_exit") and words[i + 1] == "("]
        self.assertEqual(calls, [])


class ModulesTest(unittest.TestCase):
    def test_a_module_leans_on_eight_others_at_most(self):
        self.assertEqual({name: len(uses) for name, uses in modules().items()
                          if len(uses) > 8}, {})


class MutantsTest(unittest.TestCase):
    def test_each_text_stands_once_in_its_file(self):
        rows = json.loads((ROOT / "tests/mutants.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(rows), 19)
        self.assertEqual([f"{row['file']}: {row['text']}" for row in rows if row["text"] == row["becomes"]
                          or (ROOT / row["file"]).read_text(encoding="utf-8").count(row["text"]) != 1], [])


class TokenizerTest(unittest.TestCase):
    """What the checks above stand on."""

    def test_functions_are_found_and_measured(self):
        source = ('#define LONG(x) {   \\\n    x }\n'
                  'static const int table[] = {1, 2};\n'
                  'struct pair {\n    int a;\n};\n'
                  'int (*pointer)(int) = NULL;\n'
                  'static int one(int a)\n{\n    // }\n    return a == \'}\' ? f("{") : 0;\n}\n'
                  '__attribute__((noreturn)) void\ntwo(void (*call)(void),\n    int b)\n{\n    if (b) {\n    }\n}\n')
        self.assertEqual(list(functions(source)), [("one", 5), ("two", 6)])

    def test_sentences_are_found(self):
        source = ('// Who is\n// there. Nobody.\nint a; // whoever\nint b; // no: Who\n'
                  'char *c = "// no";\n/* block */\n')
        self.assertEqual([text for _, text in sentences(source)],
                         ["Who is\nthere.", "Nobody.", "whoever", "no:", "Who", "block"])


if __name__ == "__main__":
    unittest.main()
