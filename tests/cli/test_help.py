# SPDX-License-Identifier: Apache-2.0
"""What the program says about itself, and to people who mistype. Every option of every verb is tried: `stannis help
--json` says which there are."""
import json
import subprocess

import program


class HelpTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.verbs = json.loads(subprocess.run([program.STANNIS, "help", "--json"], capture_output=True, check=True,
                                              timeout=program.TIMEOUT).stdout)

    def options(self):
        """All (verb, option) there are."""
        return [(verb["verb"], option) for verb in self.verbs for option in verb["options"]]

    def test_there_are_verbs_and_options(self):
        self.assertGreaterEqual(len(self.verbs), 9)
        self.assertGreater(len(self.options()), 150)

    def test_help_names_every_verb(self):
        for word in ("--help", "-h", "help"):
            out = self.succeed(word).stdout
            for verb in self.verbs:
                if " " not in verb["verb"]:
                    self.assertRegex(out, rf"(?m)^  {verb['verb']} ")

    def test_every_verb_has_help_on_one_screen(self):
        for verb in (verb["verb"] for verb in self.verbs):
            result = self.succeed(*verb.split(), "--help")
            self.assertIn(f"Usage: stannis {verb}", result.stdout)
            self.assertIn("Examples", result.stdout)
            self.assertIn(f"stannis {verb} --help=all", result.stdout)
            self.assertEqual(result.stderr, "")
            self.assertLessEqual(len(result.stdout.splitlines()), 40)
            self.assertEqual(result.stdout, self.succeed("help", *verb.split()).stdout)

    def test_no_line_is_wider_than_a_terminal(self):
        for words in [("--help",)] + [(*verb["verb"].split(), way) for verb in self.verbs for way in ("--help", "--help=all")]:
            for line in self.succeed(*words).stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_whole_help_shows_every_option_and_its_default(self):
        for verb in self.verbs:
            out = self.succeed(*verb["verb"].split(), "--help=all").stdout
            self.assertEqual(out, self.succeed("help", *verb["verb"].split(), "all").stdout)
            words = " ".join(out.split())
            for option in verb["options"]:
                on = option["kind"] == "flag" and option["default"] == "on"
                self.assertRegex(out, rf"(?m)^  --{'.no-.' if on else ''}{option['name']}\b")
                if option["default"] not in (None, "off") and "default" not in option["help"]:
                    self.assertIn(f"(default {option['default']})", words)
                for word in option["help"].replace("`", "").split()[:3]:
                    self.assertIn(word, words)

    def test_every_usual_option_is_in_the_short_help(self):
        for verb in self.verbs:
            out = self.succeed(*verb["verb"].split(), "--help").stdout
            for option in verb["options"]:
                self.assertEqual(option["usual"], f"  --{option['name']} " in out + " " or
                                 f"  --{option['name']}\n" in out, option["name"])

    def good_value(self, option):
        if option["kind"] == "choice":
            return option["choices"][-1]
        if option["default"] is not None:
            return option["default"]
        return {"text": "x", "bytes": "1G"}.get(option["kind"]) or f"{option['min'] or 0:g}"

    def test_every_option_is_accepted(self):
        """All of a verb's at once: a mistake after them is what is complained of."""
        for verb in self.verbs:
            words = []
            for option in verb["options"]:
                name = option["name"]
                words += [f"--{name}", f"--no-{name}"] if option["kind"] == "flag" else [f"--{name}",
                                                                                         self.good_value(option)]
            if verb["verb"] != "csd":
                self.fail_with_one_line(2, *verb["verb"].split(), *words, "--frobnicate", says="unknown option --frobnicate")

    def bad_values(self, option):
        """(value, what is said of it), for each kind of mistake that there is."""
        if option["kind"] in ("int", "auto", "int64", "real"):
            yield "x", "not a"
        if option["kind"] == "seed":
            yield "-1", "between 0 and"
        if option["kind"] == "bytes":
            yield "12Q", "not a size"
        if option["kind"] == "choice":
            yield "frobnicate", "must be one of " + ", ".join(option["choices"])
        if option["kind"] == "text":
            yield "", "must not be empty"
        if option["min"] is not None and option["kind"] != "flag":
            yield f"{option['min'] - 1:.0f}", "must be"
        if option["max"] is not None:
            yield f"{option['max'] + 1:.0f}", "must be"
        if option["max"] is not None and option["below_max"]:
            yield f"{option['max']:g}", "below"

    def test_every_option_refuses_what_it_cannot_be(self):
        """Rows that say the same of several verbs are tried with one of them."""
        tried = set()
        for verb, option in self.options():
            if json.dumps(option) in tried:
                continue
            tried.add(json.dumps(option))
            for value, says in self.bad_values(option):
                line = self.fail_with_one_line(2, *verb.split(), f"--{option['name']}={value}", says=says)
                self.assertIn(f"--{option['name']}", line if isinstance(line, str) else line.stderr)

    def test_version(self):
        for word in ("--version", "-V"):
            self.assertRegex(self.succeed(word).stdout, r"^stannis \d+\.\d+\.\d+\n$")
        self.assertRegex(self.succeed("--version", "--protocol").stdout,
                         r"^stannis \d+\.\d+\.\d+\nprotocol \d+ [0-9a-f]{16}\n$")

    def test_the_old_word_for_size(self):
        result = self.succeed("plan", "--host", "xeon-4108", "--csd", "newport", "--count", "1", "--net", "mobilenet_v2",
                              "--json")
        self.assertEqual(result.stderr, "stannis: warning: stannis plan is called stannis size now\n")
        self.assertEqual(len(json.loads(result.stdout)["rows"]), 1)

    def test_no_verb(self):
        self.fail_with_one_line(2, says="see stannis --help")

    def test_unknown_verb(self):
        self.fail_with_one_line(2, "trian", says="did you mean train?")
        self.fail_with_one_line(2, "help", "trian", says="did you mean train?")
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
