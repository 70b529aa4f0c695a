# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind: one clear line, a non-zero exit, and nothing overwritten."""
import json
import os
import resource
import shutil
import signal

import program


def limit_file_size():
    """A disk that is full after 4 KiB: writing beyond fails as it does on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


class DataTest(program.ProgramTest):
    def refuse(self, spec, *says, code=2):
        self.fail_with_one_line(code, "train", "--net", "lenet", "--data", spec, "--image-size", 28, "--batch", 4,
                                "--epochs", 1, "--progress", "none", says=says)
        self.assertFalse((self.folder / "run/last.safetensors").exists())

    def test_missing(self):
        self.refuse("folder:nowhere", "nowhere")
        self.refuse("idx:nowhere", "nowhere")
        self.refuse("cifar10:nowhere", "nowhere")

    def test_empty(self):
        (self.folder / "empty").mkdir()
        self.refuse("folder:empty", "empty")
        self.refuse("idx:empty", "empty")
        (self.folder / "empty/train/a").mkdir(parents=True)
        (self.folder / "empty/val/a").mkdir(parents=True)
        self.refuse("folder:empty", "empty")
        (self.folder / "none").mkdir()
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                     "t10k-labels-idx1-ubyte"):
            (self.folder / "none" / name).write_bytes(b"")
        self.refuse("idx:none", "idx3-ubyte")

    def test_class_only_in_val(self):
        data = self.make_folder_data()
        shutil.copytree(data / "val/red", data / "val/violet")
        self.refuse("folder:photos", "violet")

    def test_truncated_image(self):
        data = self.make_folder_data()
        bad = data / "train/red/0.png"
        bad.write_bytes(bad.read_bytes()[:70])
        self.refuse("folder:photos", "red/0.png")

    def test_corrupt_image(self):
        data = self.make_folder_data()
        (data / "train/blue/1.png").write_bytes(b"not a picture")
        self.refuse("folder:photos", "blue/1.png")
        (data / "train/blue/1.png").unlink()
        (data / "train/blue/1.jpg").write_bytes(program.JPEG[:150])
        self.refuse("folder:photos", "blue/1.jpg")

    def test_image_that_cannot_be_read(self):
        data = self.make_folder_data()
        (data / "train/blue/1.png").unlink()
        (data / "train/blue/1.png").symlink_to("nowhere")
        self.refuse("folder:photos", "blue/1.png")

    def test_skip_bad(self):
        data = self.make_folder_data()
        (data / "train/blue/1.png").write_bytes(b"not a picture")
        self.succeed("train", "--net", "lenet", "--data", "folder:photos", "--image-size", 28, "--batch", 4,
                     "--epochs", 1, "--skip-bad", "--progress", "none", "--report", "r.json")
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["skipped"], 1)


class CheckpointTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("--epochs", 1)
        self.last = self.folder / "run/last.safetensors"
        self.good = self.last.read_bytes()

    def refuse(self, content):
        (self.folder / "bad.safetensors").write_bytes(content)
        (self.folder / "a.png").write_bytes(program.png((1, 2, 3)))
        for arguments in (("eval", "--checkpoint", "bad.safetensors"),
                          ("predict", "--checkpoint", "bad.safetensors", "a.png"),
                          ("train", *program.SMALL, "--epochs", 2, "--resume", "bad.safetensors", "--progress",
                           "none")):
            self.fail_with_one_line(2, *arguments, says="bad.safetensors")
        self.assertEqual(self.last.read_bytes(), self.good)

    def test_truncated(self):
        for size in (0, 5, 200, len(self.good) // 2, len(self.good) - 1):
            self.refuse(self.good[:size])

    def test_flipped_bit(self):
        for at in (0, 7, 30, len(self.good) // 2, len(self.good) - 1):
            content = bytearray(self.good)
            content[at] ^= 4
            self.refuse(bytes(content))

    def test_foreign(self):
        self.refuse(program.png((1, 2, 3)))
        self.refuse(b"\x02\0\0\0\0\0\0\0{}")
        self.refuse(os.urandom(4096))

    def test_missing(self):
        self.fail_with_one_line(2, "eval", "--checkpoint", "none.safetensors", says="none.safetensors")
        self.fail_with_one_line(2, "train", *program.SMALL, "--resume", "none.safetensors", says="none.safetensors")

    def test_other_net(self):
        other = [word if word != "lenet" else "squeezenet1_1" for word in program.SMALL]
        self.fail_with_one_line(2, "train", *other, "--resume", "last", "--progress", "none",
                                says="last.safetensors")

    def test_full_disk(self):
        self.fail_with_one_line(1, "train", *program.SMALL, "--epochs", 2, "--resume", "last", "--progress", "none",
                                says=("run", "no space"), preexec_fn=limit_file_size)
        self.assertEqual(self.last.read_bytes(), self.good)
        self.assertEqual(sorted(os.listdir(self.folder / "run")),
                         ["best.safetensors", "last.safetensors", "report.json"])

    def test_nan(self):
        self.fail_with_one_line(1, "train", *program.SMALL, "--epochs", 4, "--resume", "last", "--lr", 1000,
                                "--schedule", "constant", "--progress", "none", says="loss")
        self.assertEqual(self.last.read_bytes(), self.good)


if __name__ == "__main__":
    program.main()
