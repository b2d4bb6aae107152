#!/usr/bin/env python3
"""Results on published data sets against those of reference learners."""

import math
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import ClusterTest, call, data_folder  # noqa: E402

# Online, one example a step, in the order of the file: progressive log loss;
# test accuracy, log loss and AUC after the first pass and after the fifth;
# non-zero weights and the sum of their absolute values after the fifth.
ONLINE = {
    ("a9a", "sgd"): (0.37205, (0.8353, 0.35576, 0.89027),
                     (0.8361, 0.35577, 0.89049), 124, 66.284),
    ("a9a", "adagrad"): (0.33268, (0.8505, 0.32431, 0.90211),
                         (0.8499, 0.32431, 0.90202), 124, 53.397),
    ("a9a", "ftrl"): (0.33529, (0.8513, 0.32426, 0.90228),
                      (0.8504, 0.32399, 0.90226), 120, 42.101),
    ("agaricus", "sgd"): (0.03008, (0.9578, 0.11166, 0.99214),
                          (0.9590, 0.09659, 0.99910), 118, 89.890),
    ("agaricus", "adagrad"): (0.04377, (0.9435, 0.11113, 0.99483),
                              (0.9981, 0.02182, 1.00000), 118, 91.503),
    ("agaricus", "ftrl"): (0.06915, (0.9534, 0.12320, 0.99327),
                           (0.9932, 0.03436, 0.99996), 117, 65.960),
    ("frappe", "adagrad"): (0.44372, (0.8457, 0.39002, 0.91896),
                            (0.8758, 0.32224, 0.92759), 5293, 3219.0),
}
OPTIMIZERS = {
    "sgd": {"kind": "sgd", "learning_rate": 0.1},
    "adagrad": {"kind": "adagrad", "learning_rate": 0.1, "epsilon": 1e-8},
    "ftrl": {"kind": "ftrl", "alpha": 0.1, "beta": 1, "l1": 1, "l2": 1},
}


class ReferenceTest(ClusterTest):

    def setUp(self):
        self.data = data_folder()
        super().setUp()

    def files(self, name):
        train, test = {
            "a9a": ("a9a", "a9a.t"),
            "agaricus": ("agaricus.txt.train", "agaricus.txt.test"),
            "frappe": ("frappe.validation.libfm", "frappe.test.libfm"),
        }[name]
        folder = os.path.join(self.data, name)
        found = {file: os.path.join(folder, file)
                 for file in os.listdir(folder)}
        data = {"format": "libsvm", "train": [found[train]],
                "validation": [found[test]]}
        if name == "frappe":
            data["options"] = {"index_base": 0}
        return data

    def weights(self, model):
        path = os.path.join(self.folder, "model.txt")
        result = call("export", model, "--format", "text", path)
        self.assertEqual(result.code, 0, result.stderr)
        with open(path, encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("\t") for line in file)

    def check_metrics(self, found, expected):
        accuracy, log_loss, auc = expected
        self.assertAlmostEqual(found["accuracy"], accuracy, delta=1e-4)
        self.assertAlmostEqual(found["log_loss"], log_loss, delta=1e-4)
        self.assertAlmostEqual(found["auc"], auc, delta=1e-4)

    def check_online(self, name, kind, epochs):
        progressive, first, fifth, nonzero, total = ONLINE[name, kind]
        result = self.train({
            "model": {"kind": "logistic_regression", "bias": "regularized"},
            "data": self.files(name),
            "train": {"epochs": epochs, "batch_size": 1, "shuffle": False,
                      "optimizer": OPTIMIZERS[kind]},
        }, timeout=900)
        epochs_found = result.json["epochs"]
        self.assertAlmostEqual(epochs_found[0]["train"]["log_loss"],
                               progressive, delta=1e-4)
        self.check_metrics(epochs_found[0]["validation"], first)
        if epochs < 5:
            return
        self.check_metrics(epochs_found[4]["validation"], fifth)
        weights = [float(w) for w in
                   self.weights(result.json["model"]["path"]).values()]
        self.assertEqual(sum(w != 0 for w in weights), nonzero)
        self.assertAlmostEqual(sum(map(abs, weights)), total,
                               delta=1e-4 * total)

    def test_online_agaricus_sgd(self):
        self.check_online("agaricus", "sgd", 5)

    def test_online_agaricus_adagrad(self):
        self.check_online("agaricus", "adagrad", 5)

    def test_online_agaricus_ftrl(self):
        self.check_online("agaricus", "ftrl", 5)

    def test_online_a9a_ftrl(self):
        self.check_online("a9a", "ftrl", int(os.environ.get(
            "SERAPH_ONLINE_EPOCHS", "1")))

    def test_online_a9a_sgd(self):
        self.check_online("a9a", "sgd", int(os.environ.get(
            "SERAPH_ONLINE_EPOCHS", "1")))

    def test_online_a9a_adagrad(self):
        self.check_online("a9a", "adagrad", int(os.environ.get(
            "SERAPH_ONLINE_EPOCHS", "1")))

    def test_online_frappe_adagrad(self):
        self.check_online("frappe", "adagrad", int(os.environ.get(
            "SERAPH_ONLINE_EPOCHS", "1")))

    def batch_job(self, **more):
        return {
            "ranks": 4,
            "model": {"kind": "logistic_regression", "keys": 123},
            "data": self.files("a9a"),
            "train": {"epochs": 40, "batch_size": 256,
                      "optimizer": {"kind": "adagrad", "learning_rate": 0.5,
                                    "l2": 1 / 32561},
                      "schedule": {"kind": "cosine"}},
            **more}

    def test_batch_training_reaches_the_reference(self):
        found = self.train(self.batch_job(), servers=2,
                           workers=2).last("validation")
        self.assertGreaterEqual(found["accuracy"], 0.849)
        self.assertGreaterEqual(found["auc"], 0.902)
        self.assertLessEqual(found["log_loss"], 0.3245)

    def test_ssp_and_asp_reach_the_quality_of_bsp(self):
        for sync in ({"mode": "ssp", "staleness": 3}, {"mode": "asp"}):
            with self.subTest(sync=sync):
                found = self.train(self.batch_job(sync=sync), servers=2,
                                   workers=2).last("validation")
                self.assertGreaterEqual(found["accuracy"], 0.849 * 0.995)
                self.assertGreaterEqual(found["auc"], 0.902 * 0.995)
                self.assertLessEqual(found["log_loss"], 0.3245 * 1.005)

    def objective(self, weights, l2, l1):
        """With C = 1, over the training rows of a9a, in double."""
        rows = os.path.join(self.data, "a9a", "a9a")
        bias = float(weights["bias"])
        # Dense tables: the key of index i is i - 1.
        by_index = {int(k) + 1: float(w) for k, w in weights.items()
                    if k != "bias"}
        everything = [*by_index.values(), bias]
        total = (l2 * sum(w * w for w in everything) / 2 +
                 l1 * sum(map(abs, everything)))
        with open(rows, encoding="utf-8") as file:
            for line in file:
                label, *features = line.split()
                score = bias + sum(
                    by_index.get(int(f.split(":")[0]), 0.0) *
                    float(f.split(":")[1]) for f in features)
                margin = score if float(label) > 0 else -score
                total += (math.log1p(math.exp(-margin)) if margin > 0
                          else -margin + math.log1p(math.exp(margin)))
        return total

    def test_the_objective_comes_to_its_minimum(self):
        rows = 32561
        for kind, best in (("l2", 10529.311), ("l1", 10559.167)):
            with self.subTest(kind=kind):
                job = self.batch_job()
                job["model"]["bias"] = "regularized"
                job["train"] = {
                    "epochs": 200, "batch_size": 512,
                    "optimizer": {"kind": "adagrad", "learning_rate": 1.0,
                                  kind: 1 / rows},
                    "schedule": {"kind": "cosine"}}
                result = self.train(job)
                found = self.objective(
                    self.weights(result.json["model"]["path"]),
                    l2=float(kind == "l2"), l1=float(kind == "l1"))
                self.assertLess(found, best * 1.001)
                self.assertGreater(found, best * 0.999)

    def test_linear_regression(self):
        # Every fifth row tests, as in the reference (ridge, alpha 1).
        cases = {"boston": ("housing_scale", 4.802),
                 "abalone": ("abalone", 2.209)}
        for name, (stem, rmse) in cases.items():
            folder = os.path.join(self.data, name)
            source = next(os.path.join(folder, f)
                          for f in sorted(os.listdir(folder))
                          if f.startswith(stem))
            with self.subTest(name=name), open(source,
                                               encoding="utf-8") as file:
                rows = [line for line in file.read().split("\n")
                        if line.strip()]
                test = [r for i, r in enumerate(rows) if i % 5 == 4]
                train = [r for i, r in enumerate(rows) if i % 5 != 4]
                job = {
                    "model": {"kind": "linear_regression"},
                    "data": {"format": "libsvm",
                             "train": [self.write("train",
                                                  "\n".join(train) + "\n")],
                             "validation": [self.write(
                                 "test", "\n".join(test) + "\n")]},
                    "train": {"epochs": 400, "batch_size": 64,
                              "optimizer": {"kind": "sgd",
                                            "learning_rate": 0.3,
                                            "l2": 1 / len(train)},
                              "schedule": {"kind": "cosine"}},
                }
                found = self.train(job).last("validation")
                self.assertAlmostEqual(found["rmse"], rmse, delta=rmse / 100)

    def test_softmax_on_images(self):
        folder = "/usr/share/datasets/fashion-mnist"
        if not os.path.isdir(folder):
            self.skipTest("the package dataset-fashion-mnist is not installed")
        found = self.train({
            "ranks": 2,
            "model": {"kind": "softmax", "keys": 784, "classes": 10},
            "data": {"format": "idx",
                     "train": [f"{folder}/train-images-idx3-ubyte.gz"],
                     "validation": [f"{folder}/t10k-images-idx3-ubyte.gz"]},
            "train": {"epochs": 15, "batch_size": 128,
                      "optimizer": {"kind": "adagrad", "learning_rate": 0.05},
                      "schedule": {"kind": "cosine"}},
        }, workers=2, servers=2).last("validation")
        self.assertGreaterEqual(found["accuracy"], 0.84)

    def test_svm(self):
        # Linear SVMs and logistic regression reach the same accuracy here.
        for loss in ("hinge", "squared_hinge"):
            with self.subTest(loss=loss):
                job = self.batch_job(model={"kind": "svm", "keys": 123,
                                            "loss": loss})
                job["train"]["optimizer"] = {
                    "kind": "adagrad", "learning_rate": 0.1,
                    "l2": 1 / 32561}
                found = self.train(job).last("validation")
                self.assertGreaterEqual(found["accuracy"], 0.85 * 0.99)


if __name__ == "__main__":
    unittest.main(verbosity=2)
