# SPDX-License-Identifier: Apache-2.0
"""What the program says about itself, and to people who mistype."""
import program

VERBS = ("train", "eval", "predict", "tune", "bench", "models", "emulate", "plan", "sim", "csd")


class HelpTest(program.ProgramTest):
    def test_help_names_every_verb(self):
        for word in ("--help", "-h", "help"):
            out = self.succeed(word).stdout
            for verb in VERBS:
                self.assertRegex(out, rf"(?m)^  {verb} ")

    def test_every_verb_has_help_with_examples(self):
        for verb in VERBS:
            result = self.succeed(verb, "--help")
            self.assertIn(f"Usage: stannis {verb}", result.stdout)
            self.assertIn("Examples", result.stdout)
            self.assertEqual(result.stderr, "")
            for line in result.stdout.splitlines():
                self.assertLessEqual(len(line), 100)

    def test_train_help_is_complete(self):
        out = self.succeed("train", "--help").stdout
        for flag in ("net data classes image-size epochs steps batch micro-batch threads loader-threads backend lr "
                     "momentum nesterov weight-decay warmup-epochs schedule lr-step-epochs lr-gamma label-smoothing "
                     "augment seed skip-bad out resume overwrite checkpoint-steps progress report events").split():
            self.assertRegex(out, rf"(?m)^  --(no-)?{flag}\b")

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^stannis \d+\.\d+\.\d+\n$")
        self.assertRegex(self.succeed("--version", "--protocol").stdout,
                         r"^stannis \d+\.\d+\.\d+\nprotocol \d+ [0-9a-f]{16}\n$")

    def test_no_verb(self):
        self.fail_with_one_line(2, says="see stannis --help")

    def test_unknown_verb(self):
        self.fail_with_one_line(2, "trian", says="did you mean train?")
        self.fail_with_one_line(2, "deploy", says="unknown verb deploy")
        self.fail_with_one_line(2, "--frobnicate", says="unknown option --frobnicate")

    def test_unknown_flag(self):
        self.fail_with_one_line(2, "train", "--epoch", "3", says="did you mean --epochs?")
        self.fail_with_one_line(2, "bench", "--frobnicate", says="see stannis bench --help")

    def test_bad_values(self):
        self.fail_with_one_line(2, "train", "--batch", "0", says="must be between 1 and")
        self.fail_with_one_line(2, "train", "--lr", "fast", says="not a number")
        self.fail_with_one_line(2, "train", "--schedule", "linear", says="constant, step, cosine")
        self.fail_with_one_line(2, "train", "--image-size", "8", says="between 28 and 299")
        self.fail_with_one_line(2, "train", "--net", says="needs a value")
        self.fail_with_one_line(2, "models", "lenet", says="unexpected argument lenet")

    def test_missing_options(self):
        self.fail_with_one_line(2, "train", says="--net is missing")
        self.fail_with_one_line(2, "train", "--net", "lenet", says="--data is missing")
        self.fail_with_one_line(2, "eval", says="--checkpoint is missing")
        self.fail_with_one_line(2, "predict", "x.png", says="--checkpoint is missing")
        self.fail_with_one_line(2, "predict", "--checkpoint", "x", says="no image given")
        self.fail_with_one_line(2, "bench", says="--net is missing")

    def test_unknown_net(self):
        for verb in (("train", "--data", "synthetic"), ("bench",)):
            self.fail_with_one_line(2, *verb, "--net", "lenett", says=("lenett", "did you mean lenet?"))
            self.fail_with_one_line(2, *verb, "--net", "resnet9000", says=("resnet9000", "mobilenet_v2"))

    def test_unknown_data_and_backend(self):
        base = ("train", "--net", "lenet", "--progress", "none")
        self.fail_with_one_line(2, *base, "--data", "imagenet", says="imagenet")
        self.fail_with_one_line(2, *base, "--data", "synthetic", "--backend", "cuda", says=("cuda", "reference"))

    def test_full_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            import subprocess
            result = subprocess.run([program.STANNIS, "--help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=program.TIMEOUT, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write to standard output", result.stderr)

    def spin_count(self, **settings):
        """What libgomp, which tells it when it is loaded, ends up with."""
        env = {k: v for k, v in self.environment(OMP_DISPLAY_ENV="verbose").items() if k != "OMP_WAIT_POLICY"}
        lines = self.succeed("bench", "--help", env=env | settings).stderr.splitlines()
        return [line.split("'")[1] for line in lines if "GOMP_SPINCOUNT" in line][-1]

    def test_threads_wait_shortly_unless_told_otherwise(self):
        self.assertEqual(self.spin_count(), "1000")
        self.assertEqual(self.spin_count(GOMP_SPINCOUNT="77"), "77")
        self.assertNotEqual(self.spin_count(OMP_WAIT_POLICY="active"), "1000")


if __name__ == "__main__":
    program.main()
