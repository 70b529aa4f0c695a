# SPDX-License-Identifier: Apache-2.0
"""A run that is stopped and resumed gives the weights of one that was not. Signals are sent after an event was read, so
that no test waits for time to pass."""
import json
import signal

import program


class InterruptionTest(program.ProgramTest):
    EPOCHS = ("--epochs", 2)
    whole = None  # the weights of an uninterrupted run: the same for all tests

    def setUp(self):
        super().setUp()
        if not InterruptionTest.whole:
            self.train(*self.EPOCHS, "--out", "whole")
            InterruptionTest.whole = program.tensors(self.folder / "whole/last.safetensors")

    def resume(self):
        self.train(*self.EPOCHS, "--resume", "last")
        self.assertEqual(program.tensors(self.folder / "run/last.safetensors"), self.whole)

    def interrupt(self, number, *arguments):
        process = self.start(*self.EPOCHS, *arguments)
        self.wait_for(process, lambda event: event["event"] == "step" and event["step"] == 3)
        process.send_signal(number)
        _, errors = process.communicate(timeout=program.TIMEOUT)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("stopping", errors)

    def test_sigint(self):
        self.interrupt(signal.SIGINT)
        self.assertEqual(json.loads((self.folder / "run/report.json").read_text())["status"], "interrupted")
        self.resume()

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)
        self.resume()

    def test_twice(self):
        self.interrupt(signal.SIGINT)
        self.interrupt(signal.SIGINT, "--overwrite")
        self.resume()

    def test_sigkill_leaves_the_last_checkpoint(self):
        process = self.start(*self.EPOCHS, "--checkpoint-steps", 4)
        self.wait_for(process, lambda event: event["event"] == "saved")
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=program.TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.resume()

    def test_a_reader_that_goes_away_does_not_end_the_training(self):
        process = self.start(*self.EPOCHS)
        self.wait_for(process, lambda event: event["event"] == "step")
        process.stdout.close()
        errors = process.stderr.read()
        self.assertEqual(process.wait(program.TIMEOUT), 0, errors)
        self.assertEqual(errors.count("cannot write events"), 1)
        self.assertEqual(program.tensors(self.folder / "run/last.safetensors"), self.whole)


class ResumeTest(program.ProgramTest):
    def test_a_checkpoint_knows_what_to_train_and_where(self):
        self.train("--epochs", 2, "--steps", 5, "--out", "there")
        self.succeed("train", "--resume", "there/last.safetensors", "--progress", "none")
        report = json.loads((self.folder / "there/report.json").read_text())
        self.assertEqual((report["net"], report["first_step"], report["steps"]), ("lenet", 5, 7))
        self.assertEqual((report["config"]["data"], report["config"]["epochs"]), ("synthetic:96", 2))
        self.assertFalse((self.folder / "run").exists())
        self.train("--epochs", 2, "--out", "whole")
        self.assertEqual(program.tensors(self.folder / "there/last.safetensors"),
                         program.tensors(self.folder / "whole/last.safetensors"))

    def test_another_training_is_not_overwritten(self):
        self.train("--epochs", 1, "--out", "a")
        self.train("--epochs", 1, "--seed", 2)
        self.fail_with_one_line(2, "train", "--resume", "a/last.safetensors", "--epochs", 2, "--out", "run",
                                says=("run already holds a training", "--overwrite"))
        self.succeed("train", "--resume", "last", "--epochs", 2, "--progress", "none")


if __name__ == "__main__":
    program.main()
