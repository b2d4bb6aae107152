#!/usr/bin/env python3
"""Values that travel as something smaller than float32."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import ClusterTest, data_folder, sparse_rows  # noqa: E402

SMALL = ("float16", "bfloat16", "int8")
MODES = ({"mode": "bsp"}, {"mode": "asp"})


class SameBytesTest(ClusterTest):

    def job(self, transport, partitions=1, **more):
        self.write("train.txt", sparse_rows(322, keys=150, seed=5))
        return {
            "seed": 9, "ranks": 5,
            "model": {"kind": "logistic_regression"},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": 2, "batch_size": 16,
                      "optimizer": {"kind": "adam", "learning_rate": 0.02}},
            "tables": {"partitions": partitions, "transport": transport},
            **more}

    def test_shapes_do_not_change_the_bytes(self):
        digests = set()
        for transport in ("float32",) + SMALL:
            with self.subTest(transport=transport):
                first = self.train(self.job(transport))
                other = self.train(self.job(transport, partitions=7),
                                   servers=3, workers=2)
                self.assertEqual(other.digest, first.digest)
                digests.add(first.digest)
        self.assertEqual(len(digests), 4, "nothing was rounded")


class QualityTest(ClusterTest):
    """No more than 0.2 % worse than with float32."""

    def check(self, job, metrics):
        def train(transport, sync):
            return self.train(
                dict(job, tables={"transport": transport}, sync=sync),
                servers=2, workers=2, timeout=300).last("validation")

        exact = [train("float32", sync) for sync in MODES]
        for sync in MODES:
            for transport in SMALL:
                with self.subTest(transport=transport, sync=sync):
                    found = train(transport, sync)
                    for name in metrics:
                        # Two runs of asp differ by chance.
                        values = [one[name] for one in exact]
                        print(job["model"]["kind"], sync["mode"], transport,
                              name, found[name], "float32:", *values)
                        if name == "log_loss":
                            self.assertLessEqual(found[name],
                                                 max(values) * 1.002)
                        else:
                            self.assertGreaterEqual(found[name],
                                                    min(values) * 0.998)

    def test_logistic_regression(self):
        folder = os.path.join(data_folder(), "a9a")
        self.check({
            "ranks": 4,
            "model": {"kind": "logistic_regression"},
            "data": {"format": "libsvm",
                     "train": [os.path.join(folder, "a9a")],
                     "validation": [os.path.join(folder, "a9a.t")]},
            "train": {"epochs": 8, "batch_size": 128,
                      "optimizer": {"kind": "adagrad", "learning_rate": 0.1}},
        }, ("accuracy", "auc", "log_loss"))

    def test_softmax(self):
        folder = "/usr/share/datasets/fashion-mnist"
        if not os.path.isdir(folder):
            self.skipTest("the package dataset-fashion-mnist is not installed")
        self.check({
            "ranks": 2,
            "model": {"kind": "softmax", "keys": 784, "classes": 10},
            "data": {"format": "idx",
                     "train": [f"{folder}/train-images-idx3-ubyte.gz"],
                     "validation": [f"{folder}/t10k-images-idx3-ubyte.gz"]},
            "train": {"epochs": 10, "batch_size": 128,
                      "optimizer": {"kind": "adagrad", "learning_rate": 0.05},
                      "schedule": {"kind": "cosine"}},
        }, ("accuracy",))


if __name__ == "__main__":
    unittest.main(verbosity=2)
