# SPDX-License-Identifier: Apache-2.0
"""stannis power, and plans for energy: stannis size and stannis sim with an objective."""
import json

import program

SIZE = ["size", "--host", "xeon-4108", "--csd", "newport", "--net", "mobilenet_v2"]
DEVICES = """devices:
  - name: hungry
    power: {idle: 20, busy: 220}
    link: {bytes_per_s: 1e9}
    networks: [{net: lenet, each_s: 0.001}]
  - name: board
    power: {idle: 2, busy: 6}
    link: {bytes_per_s: 1e9}
    networks: [{net: lenet, each_s: 0.004}]
  - name: furnace
    power: {idle: 1, busy: 1e5}
    link: {bytes_per_s: 1e9}
    networks: [{net: lenet, each_s: 0.001}]
  - name: dark
    link: {bytes_per_s: 1e9}
    networks: [{net: lenet, each_s: 0.004}]
"""
CLUSTER = "nodes: [{name: host, device: hungry}, {name: b, device: board, count: 2}]\n"


class PowerTest(program.ProgramTest):
    def test_what_there_is(self):
        out = self.succeed("power", "--watch", "0.2").stdout
        for meter in ("powercap", "hwmon", "ipmi"):
            self.assertRegex(out, rf"(?m)^{meter} +\S")
        found = json.loads(self.succeed("power", "--watch", "0.2", "--json").stdout)
        self.assertEqual([row["meter"] for row in found["meters"]], ["powercap", "hwmon", "ipmi"])
        for row in found["meters"]:
            self.assertTrue(row["reads"] if row["readable"] else row["why"])

    def test_a_program(self):
        out = self.succeed("power", "--power", "cmd:echo 45.5", "--watch", "0.7").stdout
        self.assertIn("echo 45.5, scope wall; 45.5 W", out)

    def test_mistakes(self):
        self.fail_with_one_line(2, "power", "--power", "powercat", says="did you mean powercap?")
        self.fail_with_one_line(2, "power", "--power", "csv", says="csv:FILE")
        self.fail_with_one_line(2, "power", "--power", "csv:/nowhere", says="No such file")
        self.fail_with_one_line(2, "power", "--power", "cmd:/nowhere", says="No such file")
        self.fail_with_one_line(2, "power", "--power", "none", says="is no meter")
        for spec, why in ("cmd:echo five", "no number of watts"), ("csv:/etc/passwd", "/etc/passwd:1: expected"):
            result = self.fail_with_one_line(2, "power", "--power", spec, "--watch", "0.7", says="cannot be read")
            self.assertIn(why, result.stderr)


class ObjectiveTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "devices.yaml").write_text(DEVICES)
        (self.folder / "rack.yaml").write_text(CLUSTER)

    def sim(self, *options):
        return json.loads(self.succeed("sim", "--cluster", "rack.yaml", "--devices", "devices.yaml", "--net", "lenet",
                                       "--batch", "96", "--micro-batch", "4", "--steps", "20", "--json", *options).stdout)

    def test_simulated(self):
        fast, frugal = self.sim(), self.sim("--objective", "energy")
        speed = 0.5 * (fast["images_per_second"] + frugal["images_per_second"])
        between = self.sim("--objective", "energy", "--min-speed", str(speed))
        joules = [row["energy_modelled"]["joules_per_image"] for row in (frugal, between, fast)]
        self.assertEqual(joules, sorted(joules))
        self.assertLess(joules[0], joules[2])
        self.assertGreaterEqual(between["images_per_second"], speed * (1 - 1e-9))
        for objective in ("edp", "0.5", "0", "1"):
            self.sim("--objective", objective)
        self.assertEqual(self.sim("--objective", "time"), fast)

    def test_sized_and_drawn(self):
        rows = {}
        for objective in ("time", "energy"):
            out = json.loads(self.succeed(*SIZE, "--count", "4..8", "--objective", objective, "--json").stdout)
            rows[objective] = [row["joules_per_image"] for row in out["rows"]]
        self.assertTrue(all(less <= more * (1 + 1e-9) for less, more in zip(rows["energy"], rows["time"])))
        self.succeed(*SIZE, "--count", "0..4", "--pareto", "front.svg")
        self.assertIn("joules an image", (self.folder / "front.svg").read_text())

    def test_mistakes(self):
        size = [*SIZE, "--count", "4"]
        self.fail_with_one_line(2, *size, "--objective", "speed", says="time, energy, edp")
        self.fail_with_one_line(2, *size, "--objective", "1.5", says="from 0 (time) to 1 (energy)")
        self.fail_with_one_line(2, *size, "--min-speed", "5", says="--objective energy")
        self.fail_with_one_line(2, *size, "--objective", "energy", "--policy", "uniform", says="balanced or static")
        self.fail_with_one_line(2, *size, "--objective", "energy", "--min-speed", "1e6", says="these nodes reach")
        self.fail_with_one_line(2, "sim", "--emulate", "a=1,b=1", "--device", "dark", "--devices", "devices.yaml",
                                "--net", "lenet", "--objective", "energy", says="those of a are not known")


NODES = """nodes:
  - {name: host, cpus: 0.4, power: "model:furnace"}
  - {name: b, cpus: 0.2, count: 2, power: "model:board"}
"""


class TrainingTest(program.NodesTest):
    def setUp(self):
        super().setUp()
        (self.folder / "devices.yaml").write_text(DEVICES)
        (self.folder / "nodes.yaml").write_text(NODES)

    def energy(self, *options):
        self.train("--micro-batch", "4", "--out", "run", "--overwrite", *options)
        return json.loads((self.folder / "run/report.json").read_text())

    def test_one_node_with_a_model(self):
        report = self.energy("--power", "model:laguna", "--epochs", "2")
        energy = report["energy"]
        node, = energy["nodes"]
        self.assertEqual((node["source"], energy["modelled"], energy["at_least"]), ("modelled", 1, False))
        self.assertGreater(energy["joules"], 0)
        self.assertLessEqual(energy["joules"], 2.7 * node["known_seconds"] * (1 + 1e-6))  # busy all the time
        self.assertAlmostEqual(energy["joules_per_image"] * energy["images"], energy["joules"],
                               delta=1e-6 * energy["joules"])
        epochs = [epoch["energy"]["joules"] for epoch in report["epochs"]]
        self.assertEqual(len(epochs), 2)
        self.assertLessEqual(sum(epochs), energy["joules"] * (1 + 1e-6))

    def test_a_program_and_one_that_fails(self):
        energy = self.energy("--power", "cmd:/bin/sh meter.sh")["energy"]
        self.assertEqual(energy["joules"], None)
        self.assertIn("unknown", energy["text"])
        (self.folder / "meter.sh").write_text("while echo 40; do sleep 0.05; done")
        energy = self.energy("--power", "cmd:/bin/sh meter.sh")["energy"]
        node, = energy["nodes"]
        self.assertEqual((node["source"], node["scope"]), ("measured", "wall"))
        self.assertAlmostEqual(node["joules"], 40 * node["known_seconds"], places=3)
        self.assertAlmostEqual(node["idle_watts"], 40, places=6)

    def test_nothing_is_said_where_nothing_is_known(self):
        report = self.energy("--power", "none")
        self.assertIsNone(report["energy"]["joules"])

    def test_objective_of_emulated_nodes(self):
        cluster = ["--cluster", "nodes.yaml", "--devices", "devices.yaml", "--tune-seconds", "0.2"]
        report = self.energy(*cluster, "--objective", "energy")
        energy = report["energy"]
        self.assertEqual([node["source"] for node in energy["nodes"]], ["modelled"] * 3)
        self.assertAlmostEqual(sum(node["joules"] for node in energy["nodes"]), energy["joules"],
                               delta=1e-6 * energy["joules"])
        self.assertGreater(energy["promised_joules_per_image"], 0)
        self.assertEqual(report["nodes"][0]["images"], 0)  # whatever the speeds are

    def test_mistakes(self):
        start = ["train", *program.SMALL, "--progress", "none"]
        self.fail_with_one_line(2, *start, "--power", "sun", says="unknown meter")
        self.fail_with_one_line(2, *start, "--power", "model:sun", says="unknown device")
        self.fail_with_one_line(2, *start, "--objective", "much", says="time, energy, edp")
        self.fail_with_one_line(2, *start, "--min-speed", "5", says="--objective energy")
        self.fail_with_one_line(2, *start, "--objective", "energy", "--no-tune", says="no-tune leaves out")
        self.fail_with_one_line(2, *start, "--objective", "energy", "--policy", "uniform", says="balanced and static")
        (self.folder / "two.yaml").write_text("nodes: [{name: a, cpus: 0.3, power: none}, {name: b, cpus: 0.3}]\n")
        result = self.run_program(*start, "--cluster", "two.yaml", "--objective", "energy", "--tune-seconds", "0.1")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("needs the watts of every node, and those of a are not known", result.stderr)


if __name__ == "__main__":
    program.main()
