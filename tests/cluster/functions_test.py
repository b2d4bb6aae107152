#!/usr/bin/env python3
"""Functions are called on a job while it trains."""

import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import Cluster, ClusterTest, sparse_rows  # noqa: E402

LIBRARY = os.path.abspath(
    "server/functions/example/libexample_functions.so")


class FunctionsTest(ClusterTest):

    def train_on(self, cluster):
        """Submits a job that trains for long, and waits until it has begun."""
        self.write("train.txt", sparse_rows(2000, keys=60, seed=3))
        path = self.job_file({
            "ranks": 2,
            "model": {"kind": "logistic_regression", "keys": 60},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": 100000, "batch_size": 16,
                      "optimizer": {"kind": "adagrad"}},
            "tables": {"partitions": 4},
        })
        result = cluster.call("submit", path, "-o", "json")
        self.assertEqual(result.code, 0, result.stderr)
        deadline = time.monotonic() + 60
        while True:
            status = cluster.call("job", "test", "-o", "json").json
            if status["epochs"]:
                return
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.1)

    def value(self, cluster, function, *arguments):
        result = cluster.call("call", "test", function, *arguments, "--table",
                              "weights", "-o", "json")
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(result.json["table"], "weights")
        self.assertEqual(result.json["function"]["name"], function)
        return result.json.get("value", result.json.get("rows"))

    def refused(self, cluster, code, text, *arguments):
        result = cluster.call("call", *arguments)
        self.assertEqual(result.code, code, result.stderr)
        self.assertIn(text, result.stderr)

    def test_functions_of_a_job_that_trains(self):
        with Cluster(self.folder, servers=2, workers=1,
                     sets=(f"server.functions=[{LIBRARY}]",)) as cluster:
            self.train_on(cluster)
            # Keys of libsvm files count from 1, those of the table from 0.
            self.assertGreaterEqual(self.value(cluster, "count"), 60)
            self.assertGreater(self.value(cluster, "nnz"), 50)
            self.assertGreater(self.value(cluster, "norm"), 0)
            self.assertGreater(self.value(cluster, "dot", 0), 0)
            self.assertGreater(self.value(cluster, "power_sum", 1.5), 0)
            rows = self.value(cluster, "top_k", 5)
            values = [row["value"] for row in rows]
            self.assertEqual(len(values), 5)
            self.assertEqual(values, sorted(values, reverse=True))
            # What training does shows.
            seen = set()
            deadline = time.monotonic() + 60
            while len(seen) < 3:
                seen.add(self.value(cluster, "sum"))
                self.assertLess(time.monotonic(), deadline)
            # For people.
            result = cluster.call("call", "test", "top_k", 2, "--table",
                                  "weights")
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(len(result.stdout.splitlines()), 3)
            self.assertEqual(result.stdout.split()[:2], ["KEY", "VALUE"])

            table = ("--table", "weights")
            self.refused(cluster, 2, "no function 'no_such'", "test", "no_such",
                         *table)
            self.refused(cluster, 2, "top_k(k: int)", "test", "top_k", *table)
            self.refused(cluster, 2, "bias, weights", "test", "norm")
            self.refused(cluster, 2, "writes", "test", "scale", 0.5, *table)
            self.refused(cluster, 1, "p has to be greater than 0", "test",
                         "power_sum", -1, *table)
            self.assertEqual(
                cluster.call("job", "test", "-o", "json").json["job"]["state"],
                "RUNNING")
            self.assertEqual(cluster.call("cancel", "test").code, 0)
            self.refused(cluster, 1, "CANCELLED", "test", "norm", *table)

    def test_a_library_that_is_not_there_keeps_a_server_from_starting(self):
        with Cluster(self.folder, servers=0, workers=0) as cluster:
            with self.assertRaisesRegex(AssertionError,
                                        "server.functions.*libno.so"):
                cluster.start("server-0", "server", "server.listen",
                              ("server.functions=[/nowhere/libno.so]",))
            self.assertNotEqual(cluster.daemons.pop("server-0").wait(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
