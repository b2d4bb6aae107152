#!/usr/bin/env python3
"""What ./quickstart does and says works, on a small index.

Runs the training of both examples and every command of the "what to try next"
lists, as written there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/deploy")
import daemons  # noqa: E402

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"

# Libraries say "library" most of the time, others hardly ever.
LIBRARY = ("Package: p{0}\nSource: s{0}\nSection: libs\nInstalled-Size: {1}\n"
           "Size: {2}\nDepends: libc6\nDescription: {3} library of number{4}\n")
PROGRAM = ("Package: p{0}\nSource: s{0}\nSection: utils\nInstalled-Size: {1}\n"
           "Size: {2}\nDescription: {3} program for number{4}\n")


def make_index(count):
    return "\n".join(
        (LIBRARY if i % 3 == 0 else PROGRAM).format(
            i, 100 + i, 40000 + i, ("fast", "small", "shared")[i % 7 % 3],
            i % 11)
        for i in range(count))


def commands_of(path):
    """The commands of a list of next steps; comments and blanks are dropped."""
    with open(path, encoding="utf-8") as lines:
        return [line.strip() for line in lines
                if line.strip() and not line.startswith("#")]


class QuickstartTest(unittest.TestCase):

    def setUp(self):
        # A tree like that of a clone after a build.
        self.tree = tempfile.mkdtemp(prefix="seraph-quickstart-")
        self.addCleanup(shutil.rmtree, self.tree)
        for path in daemons.BINARIES.values():
            link = os.path.join(self.tree, "bazel-bin", path)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.realpath(path), link)
        shutil.copytree("deploy", os.path.join(self.tree, "deploy"))
        os.makedirs(os.path.join(self.tree, ".quickstart"))

    def run_in_tree(self, command):
        result = subprocess.run(
            ["bash", "-c", command], check=False, cwd=self.tree,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0,
                         "%s\n%s" % (command, result.stdout))
        return result.stdout

    def train(self, name, *options):
        return self.run_in_tree(" ".join(
            ("bazel-bin/client/seraphctl run deploy/jobs/%s.yaml" % name,)
            + options))

    def test_packages(self):
        index = os.path.join(self.tree, "index")
        with open(index, "w", encoding="utf-8") as file:
            file.write(make_index(900))
        self.run_in_tree("deploy/quickstart/make_package_data.py "
                         ".quickstart/packages --index " + index)
        self.train("package-libraries", "--servers 2", "--workers 2")
        digests = set()
        for command in commands_of("deploy/quickstart/next-packages.txt"):
            if command.startswith("./quickstart"):
                continue
            output = self.run_in_tree(command)
            if "digest" in command or "package-libraries.yaml" in command:
                digests.update(re.findall("sha256:[0-9a-f]{64}", output))
        self.assertEqual(len(digests), 1, digests)
        scores = os.path.join(self.tree, ".quickstart/scores.txt")
        validation = os.path.join(self.tree,
                                  ".quickstart/packages/validation.libsvm")
        with open(scores, encoding="utf-8") as a, open(
                validation, encoding="utf-8") as b:
            self.assertEqual(len(a.readlines()), len(b.readlines()))

        # What the model learned is shown, and is right.
        learned = self.run_in_tree(
            "deploy/quickstart/explain_weights.py .quickstart/weights.tsv "
            ".quickstart/packages/words.tsv").splitlines()
        self.assertRegex(learned[1], r"^  a library .* library \(\+")
        self.assertRegex(learned[2], r"^  not a library .* program \(-")

        # The other jobs on the same data train, too.
        for name in ("package-libraries-asp", "package-libraries-svm",
                     "package-size"):
            self.train(name)
            self.assertTrue(os.path.exists(os.path.join(
                self.tree, ".quickstart/out", name, "model")))

    @unittest.skipUnless(os.path.isdir(FASHION_MNIST),
                         "dataset-fashion-mnist is not installed")
    def test_fashion_mnist(self):
        self.train("fashion-mnist", "--set train.epochs=1")
        for command in commands_of("deploy/quickstart/next-fashion-mnist.txt"):
            output = self.run_in_tree(command)
            if " predict " in command:
                accuracy = re.search(r"accuracy\D+(0\.\d+)", output)
                self.assertGreater(float(accuracy[1]), 0.75, output)


class ScriptsTest(unittest.TestCase):
    """Wrong usage of the scripts: said at once, before anything is done."""

    def check(self, command, code, text):
        result = subprocess.run(["bash"] + command, check=False,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, code, result.stdout)
        self.assertIn(text, result.stdout)

    def test_unknown_names(self):
        self.check(["quickstart", "mnist"], 2, "unknown example 'mnist'")
        self.check(["deploy/install-dependencies", "all"], 2,
                   "unknown group 'all'")

    def test_help(self):
        self.check(["quickstart", "--help"], 0, "usage: ./quickstart")
        self.check(["deploy/install-dependencies", "--help"], 0, "usage: ")


if __name__ == "__main__":
    unittest.main()
