# SPDX-License-Identifier: Apache-2.0
"""Foreign libraries stay in the folder that wraps them; libraries neither print nor exit."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("include", "src", "tools") for path in (ROOT / folder).rglob("*.[ch]")]


def offenders(pattern, allowed):
    return [str(path.relative_to(ROOT)) for path in SOURCES
            if not str(path.relative_to(ROOT)).startswith(allowed)
            and re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)]


def modules():
    """What each module's USES says, by name."""
    found = {}
    for path in sorted((ROOT / "src").glob("*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
        call = re.search(r"stn_module\((\w+)([^)]*)\)", text)
        uses = re.search(r"\bUSES\s+([\w\s]*?)\s*(?:\b(?:SOURCES|LIBRARIES)\b|$)", call.group(2))
        found[call.group(1)] = uses.group(1).split() if uses else []
    return found


def included(module):
    """The modules whose headers a module's own files include; status and log are base's."""
    names = set()
    for path in (ROOT / "src" / module).rglob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r'^#include "(\w+)/', text, re.MULTILINE))
        if re.search(r'^#include "stannis/(status|log)\.h"', text, re.MULTILINE):
            names.add("base")
    return names - {module, "stannis"}


class ModulesTest(unittest.TestCase):
    def test_every_folder_is_a_module(self):
        self.assertEqual(sorted(modules()), sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()))

    def test_uses_is_what_is_included(self):
        self.assertEqual({name: sorted(uses) for name, uses in modules().items()},
                         {name: sorted(included(name)) for name in modules()})

    def test_modules_use_lower_ones_only(self):
        lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        order = re.search(r"foreach\(module ([\w\s]+)\)", lists).group(1).split()
        self.assertEqual(sorted(order), sorted(modules()))
        self.assertEqual([(name, used) for name, uses in modules().items() for used in uses
                          if order.index(used) >= order.index(name)], [])


class LayersTest(unittest.TestCase):
    def test_there_are_sources(self):
        self.assertGreater(len(SOURCES), 50)

    def test_onednn_stays_in_its_backend(self):
        self.assertEqual(offenders(r"#include\s*[<\"].*dnnl", "src/kernel/onednn/"), [])

    def test_mpi_stays_in_comm(self):
        self.assertEqual(offenders(r"#include\s*[<\"]mpi", "src/comm/"), [])

    def test_yaml_stays_in_conf_and_cluster(self):
        self.assertEqual(offenders(r"#include\s*[<\"]yaml", ("src/conf/", "src/cluster/yaml_write.c")), [])

    def test_libraries_do_not_print_or_exit(self):
        # A child between fork and exec, or without exec, has nowhere to return to.
        children = ("src/launch/child.c", "src/emulate/program.c")
        self.assertEqual(offenders(r"\b(printf|puts|putchar|exit|_exit|abort)\s*\(",
                                   ("tools/", "include/", *children)), [])

    def test_every_file_names_its_licence(self):
        self.assertEqual([str(path.relative_to(ROOT)) for path in SOURCES
                          if not path.read_text(encoding="utf-8").startswith("// SPDX-License-Identifier: Apache-2.0")],
                         [])

    def test_files_are_of_a_size_to_read(self):
        lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
        self.assertEqual({path: length for path, length in lengths.items() if length > 550}, {})


if __name__ == "__main__":
    unittest.main()
