# SPDX-License-Identifier: Apache-2.0
"""Work moves away from a node that other programs slow down, and back. How fast is for bench/hypertune to say; here
it must happen at all, and be told."""
import json
import statistics

import program

# 40 steps of 16 micro-batches; programs take three quarters of a node's share in the middle.
RUN = ["--net", "lenet", "--data", "synthetic:2560", "--image-size", "28", "--classes", "4", "--batch", "64",
       "--micro-batch", "4", "--augment", "none", "--epochs", 1, "--tune-seconds", 0.5, "--progress", "none", "--out", "run"]
LOAD = ["--emulate", "n*2=0.2", "--interfere", "n.1@10-26:busy*3"]


class HypertuneTest(program.NodesTest):
    def test_work_moves_and_every_sample_is_trained(self):
        if self.run_program("emulate", "probe=0.1", "true").returncode != 0:
            self.skipTest("no control groups")
        self.succeed("train", *RUN, *LOAD, "--events", "events")
        lines = [json.loads(line) for line in (self.folder / "events").read_text(encoding="utf-8").splitlines()]
        steps = [e for e in lines if e["event"] == "step"]
        changes = [e for e in lines if e["event"] == "change"]
        self.assertEqual(sum(e["images"] for e in steps), 2560)
        for e in steps:
            self.assertEqual(sum(e["split"]), 16)  # the global batch stays
        slowed = [e for e in changes if e["kind"] == "slowed" and e["node"] == "n.1" and 10 <= e["step"] <= 28]
        self.assertTrue(slowed, changes)
        self.assertTrue([e for e in changes if e["kind"] == "split"], changes)
        before, during = (statistics.mean(e["split"][1] for e in steps if first <= e["step"] <= last)
                          for first, last in ((1, 9), (20, 26)))
        self.assertLess(during, before, changes)

    def test_mistakes(self):
        for flag, value in (("--evidence", 0), ("--noise", 0), ("--rebatch", "other"), ("--decline-steps", 0),
                            ("--batch-range", 1)):
            self.fail_with_one_line(2, "train", *program.SMALL, flag, value, says=flag)


if __name__ == "__main__":
    program.main()
