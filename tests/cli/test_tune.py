# SPDX-License-Identifier: Apache-2.0
"""Measuring nodes, keeping the plan, training with it; plans that do not fit."""
import json

from program import NodesTest, main

NET = ["--net", "lenet", "--data", "synthetic:640", "--classes", "4", "--image-size", "28", "--micro-batch", "8",
       "--augment", "none", "--tune-seconds", "0.3"]
NODES = ["--emulate", "host=0.5,csd=0.25"]
TRAIN = ["train", *NET, "--steps", "2", "--epochs", "1"]


class TuneTest(NodesTest):
    def read_plan(self, name="plan.json"):
        return json.loads((self.folder / name).read_text())

    def check_plan(self, plan):
        self.assertEqual(plan["stannis_plan"], 2)
        self.assertEqual((plan["net"], plan["image_size"], plan["classes"]), ("lenet", 28, 4))
        self.assertEqual((plan["batch"], plan["micro_batch"]), (64, 8))
        self.assertEqual([node["name"] for node in plan["nodes"]], ["host", "csd"])
        self.assertEqual(sum(node["micro_batches"] for node in plan["nodes"]), 8)
        self.assertGreater(plan["images_per_second"], 0)
        self.assertLessEqual(plan["hidden_seconds"], plan["reduction_seconds"])
        for node in plan["nodes"]:
            self.assertGreater(node["each_seconds"], 0)
            self.assertGreaterEqual(node["samples"], 3)
            self.assertGreater(node["memory_limit"], node["memory_needed"])

    def train_with_plan(self, plan):
        # Whatever the machine does meanwhile, work stays where it was planned.
        self.succeed(*TRAIN, *NODES, "--plan", "plan.json", "--move-cost", "1000000", "--no-trade", "--out", "planned")
        report = json.loads((self.folder / "planned/report.json").read_text())
        self.assertEqual(report["batch"], 64)
        self.assertEqual([node["micro_batches"] for node in report["nodes"]],
                         [node["micro_batches"] for node in plan["nodes"]])
        # Its speeds serve for another batch and policy, too.
        self.succeed(*TRAIN, *NODES, "--plan", "plan.json", "--policy", "uniform", "--batch", "128", "--out", "other")
        report = json.loads((self.folder / "other/report.json").read_text())
        self.assertEqual([node["micro_batches"] for node in report["nodes"]], [8, 8])

    def refuse_what_does_not_fit(self):
        def refuse(*arguments, says, net=TRAIN):
            self.fail_with_one_line(2, *net, *arguments, "--out", "refused", says=says)

        refuse("--emulate", "host=0.5,csx=0.25", "--plan", "plan.json", says=("plan.json", "csd", "csx"))
        refuse("--emulate", "host=0.5,csd=0.5", "--plan", "plan.json", says=("csd had 0.25 CPUs", "0.5"))
        refuse("--emulate", "host=0.5", "--plan", "plan.json", says=("2 nodes", "there are 1"))
        refuse(*NODES, "--plan", "plan.json", "--micro-batch", "16", says=("micro-batch is 8", "16"))
        refuse(*NODES, "--plan", "plan.json", "--image-size", "32", says=("image size is 28", "32"))
        refuse(*NODES, "--plan", "nowhere.json", says="nowhere.json")
        refuse(*NODES, "--plan", "plan.json", "--split", "4,4", says=("--plan", "--split"))
        (self.folder / "cut.json").write_text((self.folder / "plan.json").read_text()[:200])
        refuse(*NODES, "--plan", "cut.json", says=("cut.json", "not a plan"))

    def test_a_plan_is_made_kept_and_used(self):
        tune = ["tune", *NET, *NODES, "--batch", "64", "--out", "plan.json"]
        done = self.succeed(*tune, "--plot", "curves.svg")
        for word in ("host", "csd", "per 8", "share", "busy", "memory", "cluster:", "of the sum of nodes", "uniform",
                     "at the same time"):
            self.assertIn(word, done.stdout)
        self.assertEqual(done.stderr.count("measured  "), 2)  # a line a node
        self.assertTrue((self.folder / "curves.svg").read_text().lstrip().startswith("<"))
        plan = self.read_plan()
        self.check_plan(plan)
        self.train_with_plan(plan)
        self.refuse_what_does_not_fit()
        # What was measured is not measured again; another batch is planned from it.
        done = self.succeed("tune", *NET, *NODES, "--batch", "128", "--out", "plan.json", "--cache", "--json")
        again = json.loads(done.stdout)
        self.assertNotIn("measured", done.stderr)
        self.assertEqual(again["batch"], 128)
        self.assertEqual([node["each_seconds"] for node in again["nodes"]],
                         [node["each_seconds"] for node in plan["nodes"]])

    def test_a_training_tunes_itself(self):
        done = self.succeed(*TRAIN, *NODES, "--batch", "auto", "--out", "out")
        for word in ("measured  host", "measured  csd", "cluster:", "a batch of"):
            self.assertIn(word, done.stderr)
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual(sum(node["micro_batches"] for node in report["nodes"]) * 8, report["batch"])

    def test_memory_is_never_exceeded(self):
        (self.folder / "nodes.yaml").write_text("nodes:\n  - {name: a, cpus: 0.5}\n"
                                                "  - {name: b, cpus: 0.25, memory: 8M}\n")
        self.fail_with_one_line(1, "tune", *NET, "--cluster", "nodes.yaml", says=("b", "MiB"))

    def test_mistakes(self):
        self.fail_with_one_line(2, "tune", "--cache", "--net", "lenet", says=("--cache", "--out"))
        self.fail_with_one_line(2, "tune", says="--net")
        self.fail_with_one_line(2, *TRAIN, "--batch", "auto", "--no-tune", says=("--batch auto", "--no-tune"))
        self.fail_with_one_line(2, *TRAIN, *NODES, "--batch", "auto", "--split", "1,1", says=("--batch auto", "--split"))


if __name__ == "__main__":
    main()
