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
