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


def folders():
    """Each module's folder in src/, by the module's name: csd_flash is csd/flash."""
    paths = [path.parent.relative_to(ROOT / "src") for path in sorted((ROOT / "src").rglob("CMakeLists.txt"))]
    return {str(path).replace("/", "_"): str(path) for path in paths}


def modules():
    """What each module's USES says, by name."""
    found = {}
    for name, folder in folders().items():
        text = re.sub(r"#.*", "", (ROOT / "src" / folder / "CMakeLists.txt").read_text(encoding="utf-8"))
        call = re.search(r"stn_module\((\w+)([^)]*)\)", text)
        uses = re.search(r"\bUSES\s+([\w\s]*?)\s*(?:\b(?:SOURCES|LIBRARIES)\b|$)", call.group(2))
        assert call.group(1) == name, f"src/{folder} makes the module {call.group(1)}"
        found[name] = uses.group(1).split() if uses else []
    return found


def module_of(path):
    """The module that holds a header, by the longest folder that is one; the first part if none is."""
    parts = path.split("/")
    names = ["_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    return next((name for name in names if name in folders()), parts[0])


def included(module):
    """The modules whose headers a module's own files include; status and log are base's."""
    names = set()
    for path in (ROOT / "src" / folders()[module]).rglob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        names.update(module_of(header) for header in re.findall(r'^#include "(\w+/[\w/]+\.h)"', text, re.MULTILINE))
        if re.search(r'^#include "stannis/(status|log)\.h"', text, re.MULTILINE):
            names.add("base")
    return names - {module, "stannis"}


class ModulesTest(unittest.TestCase):
    def test_every_folder_is_a_module(self):
        homes = {folder.split("/")[0] for folder in folders().values()}
        self.assertEqual(sorted(homes), sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()))

    def test_uses_is_what_is_included(self):
        self.assertEqual({name: sorted(uses) for name, uses in modules().items()},
                         {name: sorted(included(name)) for name in modules()})

    def test_modules_use_lower_ones_only(self):
        lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        order = re.search(r"foreach\(module ([\w\s/]+)\)", lists).group(1).replace("/", "_").split()
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

    def test_yaml_stays_in_conf(self):
        self.assertEqual(offenders(r"#include\s*[<\"]yaml|\byaml_\w+_[st]\b", "src/conf/"), [])

    def test_jansson_stays_with_files_that_are_json(self):
        self.assertEqual(offenders(r"#include\s*[<\"]jansson", ("src/checkpoint/", "src/planfile/", "src/report/",
                                                               "src/sim/trace.c", "tools/stannis/")), [])

    def test_libraries_do_not_print_or_exit(self):
        # A child between fork and exec, or without exec, has nowhere to return to.
        children = ("src/launch/child.c", "src/rig/program.c", "src/rig/starter.c")
        self.assertEqual(offenders(r"\b(printf|puts|putchar|exit|_exit|abort)\s*\(",
                                   ("tools/", "include/", *children)), [])

    def test_few_files_make_processes(self):
        # Launcher and starter, what meters energy, and the power switch of devices.
        makers = ("src/launch/child.c", "src/rig/starter.c", "src/energy/meter_cmd.c", "src/csd/device/power.c")
        self.assertEqual(offenders(r"\b(v?fork|popen|system|posix_spawnp?|daemon)\s*\(", makers), [])

    def test_messages_of_the_library_name_settings_without_dashes(self):
        """The dashes are the command line's: base/setting_mark.h. What other programs are given is theirs."""
        others = ("src/launch/line.c", "src/launch/hosts.c", "src/data/idx.c")
        found = []
        for path in (ROOT / "src").rglob("*.[ch]"):
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            if str(path.relative_to(ROOT)) not in others:
                found += [f"{path.relative_to(ROOT)}: {words}" for words in re.findall(r'"[^"\n]*--[a-z][^"\n]*"', text)]
        self.assertEqual(found, [])

    def test_every_file_names_its_licence(self):
        self.assertEqual([str(path.relative_to(ROOT)) for path in SOURCES
                          if not path.read_text(encoding="utf-8").startswith("// SPDX-License-Identifier: Apache-2.0")],
                         [])


if __name__ == "__main__":
    unittest.main()
