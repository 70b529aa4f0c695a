# SPDX-License-Identifier: Apache-2.0
"""What a cluster would do before it is there: stannis size, and the papers beside what they report."""
import json
import math
import xml.etree.ElementTree

import program

PLAN = ["size", "--host", "xeon-4108", "--csd", "newport", "--net", "mobilenet_v2"]
OWN = """devices:
  - name: box
    power: {base: 10, idle: 5, busy: 30}
    link: {bytes_per_s: 1e9}
    networks: [{net: lenet, fixed_s: 0.001, each_s: 0.0005}]
"""


class PlanTest(program.ProgramTest):
    def test_table(self):
        out = self.succeed(*PLAN, "--count", "0..3").stdout
        self.assertIn("modelled", out)
        self.assertEqual([line.split()[0] for line in out.splitlines()[3:7]], ["0", "1", "2", "3"])
        self.assertIn("knee: none", out)

    def test_knee(self):
        out = self.succeed(*PLAN, "--count", "0..36", "--knee", "3", "--json").stdout
        result = json.loads(out)
        self.assertTrue(0 < result["knee"] < 36)
        speeds = [row["images_per_second"] for row in result["rows"]]
        self.assertEqual(len(speeds), 37)
        for fewer, more, row in zip(speeds, speeds[1:], result["rows"][1:]):
            self.assertLess(fewer, more)
            self.assertLessEqual(more, row["ceiling"])
            self.assertTrue(math.isclose(row["added"], more / fewer - 1, rel_tol=1e-6))

    def test_plots(self):
        self.succeed(*PLAN, "--count", "0..4", "--plot", "speed.svg", "--plot-energy", "energy.svg")
        for name in ("speed.svg", "energy.svg"):
            xml.etree.ElementTree.parse(self.folder / name)

    def test_own_devices(self):
        (self.folder / "own.yaml").write_text(OWN)
        out = self.succeed("size", "--host", "box", "--csd", "box", "--count", "1", "--net", "lenet", "--devices",
                           "own.yaml", "--json").stdout
        self.assertTrue(1.8 < json.loads(out)["rows"][0]["speedup"] <= 2)

    def test_devices_without_power(self):
        (self.folder / "own.yaml").write_text("".join(line for line in OWN.splitlines(True) if "power" not in line))
        arguments = ["size", "--host", "box", "--csd", "box", "--count", "1..2", "--net", "lenet", "--devices", "own.yaml"]
        self.assertNotIn("nan", self.succeed(*arguments).stdout)
        row = json.loads(self.succeed(*arguments, "--json").stdout)["rows"][0]
        self.assertIsNone(row["watts"])
        self.assertIsNone(row["energy_saved"])
        self.fail_with_one_line(2, *arguments, "--plot-energy", "e.svg", says="device box has no power in its profile")

    def test_mistakes(self):
        self.fail_with_one_line(2, "size", says="--host is missing")
        self.fail_with_one_line(2, *PLAN, says="--count is missing")
        for count in ("3..0", "-1", "0..", "..3", "x", "1..2..3", "0..99999999999"):
            self.fail_with_one_line(2, *PLAN, f"--count={count}", says="expected a number or a range as 0..36")
        self.fail_with_one_line(2, *PLAN[:3], "--csd", "newpot", "--count", "1", "--net", "mobilenet_v2",
                                says="did you mean newport?")
        self.fail_with_one_line(2, *PLAN[:5], "--count", "1", "--net", "vgg16", says="unknown network to device xeon-4108")
        self.fail_with_one_line(2, *PLAN, "--count", "1", "--policy", "balance", says="did you mean balanced?")
        self.fail_with_one_line(2, *PLAN, "--count", "1", "--batch", "17", says="must be a multiple of the micro-batch")
        (self.folder / "bad.yaml").write_text(OWN.replace("busy: 30", "busy: 3"))
        self.fail_with_one_line(2, *PLAN, "--count", "1", "--devices", "bad.yaml", says="bad.yaml:3: power: busy")


class PapersTest(program.ProgramTest):
    def test_tables(self):
        for paper, row in (("stannis", "Table II"), ("hypertune", "V-B")):
            out = self.succeed("sim", "--paper", paper).stdout
            self.assertIn(row, out)
            self.assertIn("Predicted, by the paper's own method", out)

    def test_report_and_figure(self):
        out = self.succeed("sim", "--paper", "hypertune", "--json", "--report", "r.json", "--plot", "f.svg").stdout
        result = json.loads(out)
        self.assertEqual(result, json.loads((self.folder / "r.json").read_text()))
        xml.etree.ElementTree.parse(self.folder / "f.svg")
        for row in result["rows"]:
            if row["kind"] == "predicted" and row["error"] is not None and abs(row["error"]) > 0.05:
                self.assertTrue(row["why"])

    def test_same_bytes(self):
        first = self.succeed("sim", "--paper", "stannis", "--json").stdout
        self.assertEqual(first, self.succeed("sim", "--paper", "stannis", "--json").stdout)

    def test_mistakes(self):
        self.fail_with_one_line(2, "sim", "--paper", "third", says="must be stannis or hypertune")


if __name__ == "__main__":
    program.main()
