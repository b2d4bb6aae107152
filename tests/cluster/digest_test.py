#!/usr/bin/env python3
"""A bsp job gives the same bytes on every shape of a cluster of processes."""

import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import ClusterTest, call, sparse_rows  # noqa: E402

OPTIMIZERS = {
    "sgd": {"kind": "sgd", "learning_rate": 0.2, "l1": 0.0005, "l2": 0.001},
    "adam": {"kind": "adam", "learning_rate": 0.02},
    "ftrl": {"kind": "ftrl", "alpha": 0.2, "l1": 0.05, "l2": 0.1},
}
# servers, workers, partitions, scramble
SHAPES = [(3, 4, 7, False), (2, 2, 64, True)]


class DigestTest(ClusterTest):

    def job(self, optimizer, partitions=1, scramble=False, **more):
        # 322 records on 5 ranks: some have 4 batches of 16, some 5.
        self.write("train.txt", sparse_rows(322, keys=150, seed=5))
        return {
            "seed": 9, "ranks": 5,
            "model": {"kind": "logistic_regression"},
            "data": {"format": "libsvm", "train": ["train.txt"],
                     "validation_fraction": 0.1},
            "train": {"epochs": 3, "batch_size": 16, "optimizer": optimizer},
            "tables": {"partitions": partitions, "scramble": scramble},
            **more}

    def test_shapes_do_not_change_the_bytes(self):
        digests = set()
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                first = self.train(self.job(optimizer))
                digests.add(first.digest)
                for servers, workers, partitions, scramble in SHAPES:
                    other = self.train(
                        self.job(optimizer, partitions, scramble),
                        servers=servers, workers=workers)
                    self.assertEqual(other.digest, first.digest)
                    self.assertEqual(
                        [epoch["validation"] for epoch in other.json["epochs"]],
                        [epoch["validation"] for epoch in first.json["epochs"]])
        self.assertEqual(len(digests), len(OPTIMIZERS))

    def test_the_seed_changes_the_bytes(self):
        optimizer = OPTIMIZERS["adam"]
        one = self.train(self.job(optimizer))
        two = self.train(self.job(optimizer, ) | {"seed": 10})
        self.assertNotEqual(one.digest, two.digest)

    def test_the_digest_is_that_of_the_file(self):
        result = self.train(self.job(OPTIMIZERS["ftrl"]))
        path = result.json["model"]["path"]
        again = call("digest", path)
        self.assertEqual(again.code, 0, again.stderr)
        self.assertIn(result.digest, again.stdout)

    def test_a_second_start_goes_on_from_the_model(self):
        optimizer = OPTIMIZERS["sgd"]
        first = self.train(self.job(optimizer))
        second = self.train(self.job(
            optimizer, init={"model": first.json["model"]["path"]},
            output={"directory": "out2"}))
        self.assertLess(second.json["epochs"][0]["train"]["log_loss"],
                        first.json["epochs"][0]["train"]["log_loss"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
