# SPDX-License-Identifier: Apache-2.0
"""models, bench, eval and predict."""
import json

import program


class VerbsTest(program.ProgramTest):
    def test_models_table(self):
        out = self.succeed("models").stdout
        for name, parameters in (("mobilenet_v2", "3,504,872"), ("squeezenet1_0", "1,248,424"),
                                 ("squeezenet1_1", "1,235,496"), ("lenet", "")):
            self.assertRegex(out, rf"(?m)^{name} +{parameters}")
        self.assertIn("Below 64 pixels", out)

    def test_models_json(self):
        rows = json.loads(self.succeed("models", "--json", "--image-size", "32", "--classes", "7").stdout)
        for row in rows:
            self.assertEqual(row["image_size"], 32)
            self.assertEqual(row["classes"], 7)
            self.assertGreater(row["macs"], 0)
            self.assertGreater(row["activation_bytes"], 0)
        self.assertLess({r["name"]: r for r in rows}["mobilenet_v2"]["parameters"], 3504872)

    def test_bench_json(self):
        result = self.succeed("bench", "--net", "lenet", "--channels", 1, "--classes", 10, "--steps", 2,
                              "--micro-batch", 4, "--batch", 8, "--threads", 1, "--json")
        row = json.loads(result.stdout)
        self.assertGreater(row["images_per_second"], 0)
        self.assertGreater(row["peak_gflops"], 0)
        self.assertGreater(row["peak_memory"], 0)
        self.assertEqual((row["batch"], row["micro_batch"], row["threads"], row["steps"]), (8, 4, 1, 2))

    def test_bench_for_people(self):
        out = self.succeed("bench", "--net", "lenet", "--channels", 1, "--classes", 10, "--steps", 1).stdout
        self.assertIn("img/s", out)
        self.assertIn("of the FMA peak", out)

    def test_bench_profile(self):
        out = self.succeed("bench", "--net", "mobilenet_v2", "--image-size", 32, "--classes", 4, "--steps", 1,
                           "--warmup-steps", 0, "--micro-batch", 2, "--batch", 2, "--profile", "--trace",
                           "trace.json").stdout
        self.assertIn("depthwise", out)
        self.assertIn("features.18.0", out)
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        phases = {event["cat"] for event in events}
        self.assertLessEqual({"forward", "backward", "backward gather"}, phases)
        self.assertTrue(all(event["dur"] >= 0 for event in events))

    def test_memory_that_does_not_suffice(self):
        self.fail_with_one_line(1, "bench", "--net", "mobilenet_v2", "--memory", "300M", "--steps", 1,
                                says=("and there are 300", "--micro-batch 4 would fit"))
        self.fail_with_one_line(1, "train", "--net", "mobilenet_v2", "--data", "synthetic:100", "--memory", "10M",
                                says="even one image at a time would not fit")

    def test_eval(self):
        self.train("--epochs", 1)
        row = json.loads(self.succeed("eval", "--checkpoint", "run/last.safetensors", "--json").stdout)
        self.assertGreater(row["images"], 0)
        self.assertTrue(0 <= row["accuracy"] <= 1)
        whole = json.loads(self.succeed("eval", "--checkpoint", "run/last.safetensors", "--split", "train",
                                        "--json").stdout)
        self.assertEqual(whole["images"], 96)
        report = json.loads((self.folder / "run/report.json").read_text())
        self.assertAlmostEqual(row["accuracy"], report["accuracy"], places=6)
        self.assertIn("accuracy", self.succeed("eval", "--checkpoint", "run/last.safetensors").stdout)

    def test_predict(self):
        data = self.make_folder_data()
        self.succeed("train", "--net", "lenet", "--data", f"folder:{data}", "--image-size", 28, "--epochs", 12, "--lr",
                     0.02, "--batch", 8, "--progress", "none")
        (self.folder / "red.jpg").write_bytes(program.JPEG)
        (self.folder / "blue.png").write_bytes(program.png((10, 20, 210)))
        out = self.succeed("predict", "--checkpoint", "run/last.safetensors", "red.jpg", "blue.png").stdout
        rows = out.splitlines()
        self.assertRegex(rows[0], r"^red\.jpg +red \d+\.\d %")
        self.assertRegex(rows[1], r"^blue\.png +blue \d+\.\d %")
        self.assertEqual(len(rows), 2)

    def test_predict_goes_on_after_a_bad_image(self):
        self.train("--epochs", 1)
        (self.folder / "bad.png").write_bytes(program.png((1, 2, 3))[:60])
        (self.folder / "good.png").write_bytes(program.png((1, 2, 3)))
        result = self.run_program("predict", "--checkpoint", "run/last.safetensors", "--json", "--top", 9,
                                  "bad.png", "none.png", "good.png")
        self.assertEqual(result.returncode, 2)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([row["image"] for row in rows], ["bad.png", "none.png", "good.png"])
        self.assertIn("error", rows[0])
        self.assertEqual(len(rows[2]["predictions"]), 4)
        self.assertAlmostEqual(sum(p["probability"] for p in rows[2]["predictions"]), 1, places=3)
        self.assertIn("bad.png", result.stderr)
        self.assertIn("none.png", result.stderr)


if __name__ == "__main__":
    program.main()
