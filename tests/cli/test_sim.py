# SPDX-License-Identifier: Apache-2.0
"""stannis sim: files, reports and plots as a user gets them."""
import json
import pathlib
import unittest
import xml.etree.ElementTree

import program

RACK = """nodes:
  - name: host
    device: xeon-4108
  - name: csd
    device: newport
    count: 24
    private: 100
    noise: 0.02
"""


class SimTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("rack.yaml", RACK)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def sim(self, *arguments):
        return self.succeed("sim", "--cluster", "rack.yaml", "--net", "mobilenet_v2", *arguments)

    def test_a_run_for_people(self):
        out = self.sim("--policy", "balanced", "--epochs", 1, "--report", "sim.json", "--plot",
                       "sim.svg", "--interfere", "host@10-20:75%").stdout
        self.assertRegex(out, r"(?m)^csd × 24 ")
        self.assertRegex(out, r"(?m)^10 to 20 +[\d.]+ ")
        self.assertIn("modelled", out)
        report = json.loads((self.folder / "sim.json").read_text())
        self.assertEqual(report["images"], 60000 + 2400)
        self.assertEqual(len(report["nodes"]), 25)
        self.assertEqual([p["first_step"] for p in report["phases"]], [1, 10, 21])
        self.assertTrue(all(n["private_images"] == 100 for n in report["nodes"][1:]))
        self.assertLess(report["images_per_second"], report["ceiling_images_per_second"])
        plot = xml.etree.ElementTree.parse(self.folder / "sim.svg")
        texts = [e.text for e in plot.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("host: 4× slower", texts)

    def test_one_file_for_sim_and_train(self):
        self.write("ours.yaml", "nodes:\n  - {name: server, host: server1, threads: 8}\n"
                   "  - {name: csd, count: 3, host: shelf, memory: 4G, private_samples: 50}\n")
        out = self.succeed("sim", "--cluster", "ours.yaml", "--device", "newport", "--net", "mobilenet_v2",
                           "--epochs", 1, "--json").stdout
        self.assertEqual([node["name"] for node in json.loads(out)["nodes"]], ["server", "csd.0", "csd.1", "csd.2"])
        # And a virtual rack to train: whose nodes are all on this machine then.
        train = ("train", "--net", "lenet", "--data", "synthetic:100", "--out", "m.safetensors", "--dry-run")
        self.assertIn("mpirun", self.succeed(*train, "--cluster", "ours.yaml").stdout)
        self.assertIn("localhost:25 ", self.succeed(*train, "--cluster", "rack.yaml").stdout)
        self.write("wrong.yaml", RACK + "    nosie: 0.1\n")
        for command in train, ("sim", "--net", "mobilenet_v2"):
            self.fail_with_one_line(2, *command, "--cluster", "wrong.yaml",
                                    says="wrong.yaml:9: 'nosie': unknown key; did you mean noise?")

    def test_same_seed_same_bytes(self):
        for name in "ab":
            self.sim("--seed", 7, "--report", f"{name}.json", "--plot", f"{name}.svg")
        self.sim("--seed", 8, "--report", "c.json")
        read = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        self.assertEqual(read["a.json"], read["b.json"])
        self.assertEqual(read["a.svg"], read["b.svg"])
        self.assertNotEqual(read["a.json"].replace(b'"seed": 7', b'"seed": 8'), read["c.json"])

    def test_policies_differ_under_load(self):
        speeds = {policy: json.loads(self.sim("--policy", policy, "--batch", 1600, "--interfere",
                                              "csd.3@5-:4x", "--json").stdout)["images_per_second"]
                  for policy in ("balanced", "static", "uniform")}
        self.assertGreater(speeds["balanced"], 1.3 * speeds["static"])
        self.assertGreater(speeds["static"], speeds["uniform"])

    def test_shares_of_a_device(self):
        out = self.succeed("sim", "--emulate", "host=1,csd*3=0.25", "--device", "xeon-4108", "--net",
                           "mobilenet_v2", "--samples", 5000, "--json").stdout
        self.assertEqual([n["name"] for n in json.loads(out)["nodes"]],
                         ["host", "csd.0", "csd.1", "csd.2"])

    def test_a_node_that_fails(self):
        self.write("rack.yaml", RACK + "    fails_at: 12\n")
        self.assertIn("the run ended there", self.sim().stdout)
        out = self.sim("--on-failure", "resume", "--checkpoint-steps", 5).stdout
        self.assertIn("went on from the last checkpoint", out)
        self.assertIn("private samples with their nodes", out)

    def test_traces(self):
        self.write("trace.csv", "step,node,slowdown\n3,csd.0,2\n20,csd.0,2\n")
        out = self.sim("--trace", "trace.csv", "--phases", "3,21", "--policy", "static", "--json").stdout
        before, slow, after = (p["images_per_second"] for p in json.loads(out)["phases"])
        self.assertLess(slow, 0.6 * before)
        self.assertGreater(after, 0.9 * before)
        self.write("bad.csv", "step,node,slowdown\n3,nobody,2\n")
        self.fail_with_one_line(2, "sim", "--cluster", "rack.yaml", "--net", "mobilenet_v2", "--trace",
                                "bad.csv", says=("bad.csv:2", "nobody"))

    def test_the_examples(self):
        examples = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.yaml"))
        self.assertGreaterEqual(len(examples), 2)
        for path in examples:
            out = self.succeed("sim", "--cluster", path, "--net", "mobilenet_v2", "--batch", 1600000,
                               "--samples", 100000000, "--steps", 2, "--json").stdout
            self.assertEqual(json.loads(out)["steps"], 2)

    def test_bad_files(self):
        for text, says in ((RACK.replace("newport", "newprt"), ("bad.yaml:5", "newprt")),
                           (RACK.replace("count: 24", "count: many"), ("bad.yaml:6", "whole number")),
                           (RACK + "    colour: red\n", ("bad.yaml:9", "unknown key")),
                           ("nodes: [", "bad.yaml:")):
            self.write("bad.yaml", text)
            self.fail_with_one_line(2, "sim", "--cluster", "bad.yaml", "--net", "mobilenet_v2", says=says)
        self.fail_with_one_line(2, "sim", "--cluster", "none.yaml", "--net", "lenet", says="none.yaml")
        self.fail_with_one_line(2, "sim", "--cluster", "rack.yaml", "--net", "vgg16", says="vgg16")

    def test_bad_options(self):
        base = ("sim", "--cluster", "rack.yaml", "--net", "mobilenet_v2")
        self.fail_with_one_line(2, "sim", says="one of them")
        self.fail_with_one_line(2, "sim", "--cluster", "rack.yaml", says="--net is missing")
        self.fail_with_one_line(2, *base, "--emulate", "a=1", says="one of them")
        self.fail_with_one_line(2, "sim", "--emulate", "a=1", "--net", "mobilenet_v2", says="go together")
        self.fail_with_one_line(2, "sim", "--paper", "hypertune", "--device", "newport", says="--emulate or --cluster")
        self.fail_with_one_line(2, *base, "--batch", "100", says="whole micro-batches of 16")
        self.fail_with_one_line(2, *base, "--interfere", "csd@1-2:50%", says="no node 'csd'")
        self.fail_with_one_line(2, *base, "--phases", "5,3", says="rising steps")
        self.fail_with_one_line(2, *base, "--samples", "0", "--batch", "16", says="private data")
        self.fail_with_one_line(2, "sim", "--paper", "goyal", says="stannis or hypertune")
        self.run_program(*base, "--plot", "no/such/folder.svg")


if __name__ == "__main__":
    unittest.main()
